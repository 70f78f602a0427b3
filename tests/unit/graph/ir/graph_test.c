/* graph_test.c - the builder: errors that stick, equal nodes, attributes, gradients, the dump. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/graph.h"
#include "graph/ir/interpreter.h"
#include "graph/passes/autodiff.h"
#include "op_table.h"
#include "tutti/ops.h"
#include "tutti_check.h"

#include <stdio.h>

static graph *g;
static tutti_graph *b;

static void make(void)
{
    g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    ck_assert_ptr_nonnull(g);
    b = graph_builder(g);
}

static void drop(void)
{
    graph_destroy(g);
}

static tutti_value input(int32_t dtype, int32_t rank, int64_t rows, int64_t columns)
{
    const tutti_desc d = {{rows, columns}, rank, dtype};
    return graph_input(g, &d);
}

static void expect(tutti_status status, const char *text)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(graph_error(g, &err), status);
    ck_assert_error(err, status, text);
}

START_TEST(equal_nodes_are_one)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0), y = input(TUTTI_F32, 1, 4, 0);
    ck_assert_uint_eq(tutti_mul(b, x, y), tutti_mul(b, x, y));
    ck_assert_uint_eq(tutti_mul(b, x, y), tutti_mul(b, y, x));
    ck_assert_uint_ne(tutti_sub(b, x, y), tutti_sub(b, y, x));
    ck_assert_uint_ne(tutti_affine(b, x, 2.0, 0.0), tutti_affine(b, x, 2.0, 1.0));
    ck_assert_uint_eq(graph_nnodes(g), 5);
}
END_TEST

START_TEST(equal_nodes_are_one_in_large_graphs_too)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0);
    for (int k = 0; k < 1000; k++)
        (void)tutti_affine(b, x, 1.0, k);
    for (int k = 0; k < 1000; k++)
        (void)tutti_affine(b, x, 1.0, k);
    ck_assert_uint_eq(graph_nnodes(g), 1000);
}
END_TEST

START_TEST(random_nodes_are_never_merged)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0);
    const tutti_attr p = tutti_attr_f("p", 0.5);
    ck_assert_uint_ne(b->emit(b, "dropout", &x, 1, &p, 1, NULL, 0),
                      b->emit(b, "dropout", &x, 1, &p, 1, NULL, 0));
}
END_TEST

START_TEST(the_first_error_sticks_and_names_the_module)
{
    const tutti_value x = input(TUTTI_F32, 2, 4, 3), y = input(TUTTI_F32, 2, 4, 5);
    (void)graph_set_scope(g, "stage1.fc");
    ck_assert_uint_eq(b->emit(b, "mul_", &x, 1, NULL, 0, NULL, 0), 0);
    tutti_value out[2] = {7, 7};
    const tutti_value in[2] = {x, y};
    ck_assert_uint_eq(b->emit(b, "add", in, 2, NULL, 0, out, 1), 0);
    ck_assert_uint_eq(out[0], 0);
    ck_assert_uint_eq(graph_nnodes(g), 0);
    expect(TUTTI_E_NOTFOUND, "stage1.fc: there is no operation \"mul_\"");
}
END_TEST

START_TEST(unknown_attributes_are_refused)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0);
    const tutti_attr a = tutti_attr_f("slope", 0.5);
    (void)b->emit(b, "affine", &x, 1, &a, 1, NULL, 0);
    expect(TUTTI_E_ARG,
           "affine: there is no attribute \"slope\"; its attributes: scale (number), "
           "shift (number)");
}
END_TEST

START_TEST(attributes_of_the_wrong_type_are_refused)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0);
    const tutti_attr a = tutti_attr_i("scale", 2);
    (void)b->emit(b, "affine", &x, 1, &a, 1, NULL, 0);
    expect(TUTTI_E_ARG,
           "affine: attribute \"scale\" is given as integer; its attributes: scale "
           "(number), shift (number)");
}
END_TEST

START_TEST(missing_inputs_are_refused)
{
    const tutti_value in[2] = {input(TUTTI_F32, 1, 4, 0), 0};
    (void)b->emit(b, "add", in, 2, NULL, 0, NULL, 0);
    expect(TUTTI_E_ARG, "add: input 1 is no value");
}
END_TEST

START_TEST(wrong_numbers_of_inputs_are_refused)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0);
    (void)b->emit(b, "add", &x, 1, NULL, 0, NULL, 0);
    expect(TUTTI_E_ARG, "add: 1 inputs, want 2 to 2");
}
END_TEST

START_TEST(a_graph_without_a_tree_has_no_weights)
{
    ck_assert_uint_eq(b->weight(b, 1, "weight"), 0);
    expect(TUTTI_E_STATE, "this graph has no module tree");
}
END_TEST

START_TEST(equal_constants_are_one)
{
    const float a[2] = {1, 2}, c[2] = {1, 3};
    tutti_tensor t = {(void *)(uintptr_t)a, {{2}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value first = b->constant(b, &t);
    ck_assert_uint_eq(b->constant(b, &t), first);
    t.data = (void *)(uintptr_t)c;
    ck_assert_uint_ne(b->constant(b, &t), first);
}
END_TEST

START_TEST(a_constant_of_an_unknown_dtype_is_refused)
{
    const float a[2] = {1, 2};
    const tutti_tensor t = {(void *)(uintptr_t)a, {{2}, 1, 77}, TUTTI_DEVICE_CPU, 0};
    ck_assert_uint_eq(b->constant(b, &t), 0);
    expect(TUTTI_E_ARG, "a constant: dtype 77 is none of this ABI");
}
END_TEST

static tutti_desc odd_result;

static tutti_status odd_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = odd_result;
    return TUTTI_OK;
}

static const struct {
    tutti_desc result;
    tutti_status status;
    const char *sentence;
} odd[] = {
    {{{2}, 1, 77}, TUTTI_E_ARG, "odd: result 0: dtype 77 is none of this ABI"},
    {{{2}, 1, TUTTI_DTYPE_NONE}, TUTTI_E_ARG, "odd: result 0: dtype 0 is none of this ABI"},
    {{{2}, 7, TUTTI_F32}, TUTTI_E_ARG, "odd: result 0: rank 7, want 0 to 6"},
    {{{-2}, 1, TUTTI_F32}, TUTTI_E_SHAPE, "odd: result 0: dimension 0 is -2, want at least 0"},
    {{{1LL << 40, 1LL << 40}, 2, TUTTI_F32},
     TUTTI_E_RANGE,
     "odd: result 0: more than 2^63 bytes"},
};

START_TEST(a_result_that_no_memory_can_hold_is_refused)
{
    static const tutti_op op = {.struct_size = sizeof op,
                                .name = "odd",
                                .nin_min = 1,
                                .nin_max = 1,
                                .nout = 1,
                                .infer = odd_infer};
    static const tutti_op *const ops[] = {&op, NULL};
    graph_destroy(g);
    g = graph_create(ops, TUTTI_MODE_TRAIN, NULL);
    b = graph_builder(g);
    odd_result = odd[_i].result;
    ck_assert_uint_eq(tutti_op1(b, "odd", input(TUTTI_F32, 1, 2, 0)), 0);
    expect(odd[_i].status, odd[_i].sentence);
}
END_TEST

START_TEST(only_what_is_wanted_is_live)
{
    const tutti_value x = input(TUTTI_F32, 1, 4, 0);
    const tutti_value wanted = tutti_affine(b, tutti_relu(b, x), 2.0, 0.0);
    (void)tutti_affine(b, x, 3.0, 0.0);
    bool live[3];
    graph_mark_live(g, &wanted, 1, live);
    ck_assert(live[0] && live[1] && !live[2]);
}
END_TEST

/* y = x * x + 3 x twice used; dy/dx = 2 x + 3, d2y/dx2 = 2 */
START_TEST(gradients_of_gradients_are_another_call)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_value x = input(TUTTI_F32, 1, 2, 0);
    const tutti_value y = tutti_add(b, tutti_mul(b, x, x), tutti_affine(b, x, 3.0, 0.0));
    const tutti_value dy = input(TUTTI_F32, 1, 2, 0);
    tutti_value dx = 0, ddx = 0;
    ck_assert_int_eq(graph_gradient(g, &y, &dy, 1, &x, 1, &dx), TUTTI_OK);
    ck_assert_int_eq(graph_gradient(g, &dx, &dy, 1, &x, 1, &ddx), TUTTI_OK);
    interpreter *it;
    ck_assert_ok(interpreter_create(g, &it, &err), err);
    for (int k = 0; k < 2; k++) {
        interpreter_value(it, x)[k] = 0.5 + k;
        interpreter_value(it, dy)[k] = 1.0;
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(g), NULL, &err), err);
    for (int k = 0; k < 2; k++) {
        ck_assert_close(interpreter_value(it, dx)[k], 2.0 * (0.5 + k) + 3.0, 1e-12);
        ck_assert_close(interpreter_value(it, ddx)[k], 2.0, 1e-12);
    }
    interpreter_destroy(it);
}
END_TEST

/* y = table[index], z = 2 table: rows 0, 1, 1 of dy go to their places on top of 2 dz. */
START_TEST(a_look_ups_gradient_is_added_onto_the_others)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_value table = input(TUTTI_F32, 2, 3, 2), index = input(TUTTI_I32, 1, 3, 0);
    const tutti_value in[2] = {table, index};
    const tutti_attr axis = tutti_attr_i("axis", 0);
    const tutti_value out[2] = {b->emit(b, "gather", in, 2, &axis, 1, NULL, 0),
                                tutti_affine(b, table, 2.0, 0.0)};
    const tutti_value dout[2] = {input(TUTTI_F32, 2, 3, 2), input(TUTTI_F32, 2, 3, 2)};
    static const double want[6] = {3, 4, 10, 12, 2, 2}, rows[3] = {0, 1, 1};
    tutti_value d = 0;
    ck_assert_int_eq(graph_gradient(g, out, dout, 2, &table, 1, &d), TUTTI_OK);
    ck_assert_str_eq(graph_node_at(g, graph_value_at(g, d)->index)->op->name, "scatter_add");
    interpreter *it;
    ck_assert_ok(interpreter_create(g, &it, &err), err);
    for (int k = 0; k < 6; k++) {
        interpreter_value(it, dout[0])[k] = 1.0 + k;
        interpreter_value(it, dout[1])[k] = 1.0;
        interpreter_value(it, index)[k / 2] = rows[k / 2];
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(g), NULL, &err), err);
    for (int k = 0; k < 6; k++)
        ck_assert_close(interpreter_value(it, d)[k], want[k], 1e-12);
    interpreter_destroy(it);
}
END_TEST

START_TEST(no_gradient_flows_where_nothing_depends)
{
    const tutti_value x = input(TUTTI_F32, 1, 2, 0), z = input(TUTTI_F32, 1, 2, 0);
    const tutti_value y = tutti_relu(b, x), dy = input(TUTTI_F32, 1, 2, 0);
    const tutti_value wrt[2] = {x, z};
    tutti_value d[2] = {9, 9};
    ck_assert_int_eq(graph_gradient(g, &y, &dy, 1, wrt, 2, d), TUTTI_OK);
    ck_assert_uint_ne(d[0], 0);
    ck_assert_uint_eq(d[1], 0);
}
END_TEST

START_TEST(the_dump_reads_like_a_program)
{
    char *text = NULL;
    size_t size = 0;
    const tutti_value x = input(TUTTI_F32, 2, 4, 3);
    (void)graph_set_scope(g, "fc");
    (void)tutti_affine(b, tutti_relu(b, x), 2.0, 0.0);
    FILE *file = open_memstream(&text, &size);
    graph_dump(g, file);
    (void)fclose(file);
    ck_assert_str_eq(text, "%1 F32 (4, 3) = input 0\n"
                           "%2 F32 (4, 3) = relu(%1)  # fc\n"
                           "%3 F32 (4, 3) = affine(%2) scale=2  # fc\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make, drop);
    tcase_add_test(all, equal_nodes_are_one);
    tcase_add_test(all, equal_nodes_are_one_in_large_graphs_too);
    tcase_add_test(all, random_nodes_are_never_merged);
    tcase_add_test(all, the_first_error_sticks_and_names_the_module);
    tcase_add_test(all, unknown_attributes_are_refused);
    tcase_add_test(all, attributes_of_the_wrong_type_are_refused);
    tcase_add_test(all, missing_inputs_are_refused);
    tcase_add_test(all, wrong_numbers_of_inputs_are_refused);
    tcase_add_test(all, a_graph_without_a_tree_has_no_weights);
    tcase_add_test(all, equal_constants_are_one);
    tcase_add_test(all, a_constant_of_an_unknown_dtype_is_refused);
    tcase_add_loop_test(all, a_result_that_no_memory_can_hold_is_refused, 0,
                        sizeof odd / sizeof *odd);
    tcase_add_test(all, only_what_is_wanted_is_live);
    tcase_add_test(all, gradients_of_gradients_are_another_call);
    tcase_add_test(all, a_look_ups_gradient_is_added_onto_the_others);
    tcase_add_test(all, no_gradient_flows_where_nothing_depends);
    tcase_add_test(all, a_look_ups_gradient_is_added_onto_the_others);
    tcase_add_test(all, the_dump_reads_like_a_program);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
