/* fuse_epilogues_test.c - products, and activations, gradients or additions behind them, become one node. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "same_numbers.h"
#include "toy_model.h"

#include <stdio.h>

enum { MAX_VALUES = 256 };

/* x (4, 3), w (3, 5), v (5, 2), bias (5); what is kept of the graph, and what it is in the other. */
typedef struct rig {
    graph *from, *to;
    tutti_graph *b;
    tutti_value x, w, v, bias;
    tutti_value kept[8];
    uint32_t nkept;
    tutti_value map[MAX_VALUES];
    tutti_status (*how)(const graph *from, const bool *wanted, graph *to, tutti_value *ret_map,
                        tutti_error *err);
} rig;

static void rig_begin(rig *r)
{
    const tutti_desc x = toy_desc(TUTTI_F32, 2, 4, 3, 0, 0);
    const tutti_desc w = toy_desc(TUTTI_F32, 2, 3, 5, 0, 0);
    const tutti_desc v = toy_desc(TUTTI_F32, 2, 5, 2, 0, 0);
    const tutti_desc bias = toy_desc(TUTTI_F32, 1, 5, 0, 0, 0);
    *r = (rig){.from = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL),
               .to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL),
               .how = fuse_epilogues};
    r->b = graph_builder(r->from);
    r->x = graph_input(r->from, &x);
    r->w = graph_weight(r->from, 7, &w, true);
    r->v = graph_weight(r->from, 8, &v, true);
    r->bias = graph_weight(r->from, 9, &bias, true);
}

/* Fuses, and finds as many nodes, and each of `words` (NULL behind the last) in the dump. */
static void rig_fuse(rig *r, uint32_t nodes, const char *const *words)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool wanted[MAX_VALUES] = {false};
    char *text = NULL;
    size_t size = 0;
    ck_assert_ok(graph_error(r->from, &err), err);
    ck_assert_uint_lt(graph_nvalues(r->from), MAX_VALUES);
    for (uint32_t k = 0; k < r->nkept; k++)
        wanted[r->kept[k]] = true;
    ck_assert_ok(r->how(r->from, wanted, r->to, r->map, &err), err);
    FILE *file = open_memstream(&text, &size);
    graph_dump(r->to, file);
    (void)fclose(file);
    ck_assert_msg(graph_nnodes(r->to) == nodes, "%u nodes:\n%s", graph_nnodes(r->to), text);
    for (; *words; words++)
        ck_assert_msg(strstr(text, *words) != NULL, "no %s in:\n%s", *words, text);
    free(text);
    same_numbers(r->from, r->to, r->kept, r->nkept, r->map, 1e-12);
    graph_destroy(r->from);
    graph_destroy(r->to);
}

/* 0: ReLU, 1: GELU, 2: its tanh form. */
static tutti_value act(const rig *r, int kind, tutti_value z)
{
    const tutti_attr form = tutti_attr_i("approximate", kind == 2);
    return kind == 0 ? tutti_relu(r->b, z) : r->b->emit(r->b, "gelu", &z, 1, &form, 1, NULL, 0);
}

static void keep(rig *r, tutti_value v)
{
    r->kept[r->nkept++] = v;
}

START_TEST(without_a_gradient_the_sums_are_not_kept)
{
    static const char *const want[][2] = {{" act=1"}, {" act=2"}, {" act=3"}};
    rig r;
    rig_begin(&r);
    keep(&r, act(&r, _i, tutti_matmul(r.b, r.x, r.w, r.bias, 0, 0)));
    rig_fuse(&r, 1, want[_i]);
}
END_TEST

/* Two layers with their gradients for x and all weights; the last row: ReLU with a mask. */
START_TEST(a_training_step_has_both_ways_in_one_node_each)
{
    static const char *const relu[] = {"= matmul(", " act=1", "= matmul_act_grad(", NULL};
    static const char *const gelu[] = {"= matmul_act(", "= matmul_act_grad(", NULL};
    static const char *const mask[] = {"U8 (4, 16) = matmul_relu(", "= matmul_relu_grad(",
                                       NULL};
    static const char *const *const want[] = {relu, gelu, gelu, mask};
    rig r;
    rig_begin(&r);
    if (_i == 3)
        r.how = fuse_epilogues_masked;
    const tutti_value z = tutti_matmul(r.b, r.x, r.w, r.bias, 0, 0);
    const tutti_value y = tutti_matmul(r.b, act(&r, _i % 3, z), r.v, 0, 0, 0);
    const tutti_desc d = *r.b->desc(r.b, y);
    graph_set_segment(r.from, 1);
    const tutti_value dy = graph_input(r.from, &d), wrt[4] = {r.x, r.w, r.v, r.bias};
    tutti_value grads[4];
    ck_assert_int_eq(graph_gradient(r.from, &y, &dy, 1, wrt, 4, grads), TUTTI_OK);
    const uint32_t nodes = graph_nnodes(r.from);
    keep(&r, y);
    for (int k = 0; k < 4; k++)
        keep(&r, grads[k]);
    rig_fuse(&r, nodes - 2, want[_i]);
}
END_TEST

START_TEST(sums_that_are_read_come_along)
{
    static const char *const want[] = {"= matmul_act(", " act=2", NULL};
    rig r;
    rig_begin(&r);
    const tutti_value z = tutti_matmul(r.b, r.x, r.w, 0, 0, 0), y = act(&r, 1, z);
    if (_i)
        keep(&r, z);
    keep(&r, _i ? y : tutti_mul(r.b, y, z));
    rig_fuse(&r, _i ? 1 : 2, want);
}
END_TEST

START_TEST(what_does_not_belong_together_stays)
{
    static const char *const want[] = {"= matmul(", "gelu", NULL};
    rig r;
    rig_begin(&r);
    tutti_value z = tutti_matmul(r.b, r.x, r.w, 0, 0, 0);
    const tutti_attr form = tutti_attr_i("approximate", 0);
    tutti_value in[2] = {z, 0};
    uint32_t nodes = 3;
    switch (_i) {
    case 0: /* the activation of something else */
        keep(&r, act(&r, 1, tutti_op1(r.b, "tanh", z)));
        break;
    case 1: { /* of another shape */
        const int64_t shape[1] = {20};
        keep(&r, act(&r, 1, tutti_reshape(r.b, z, shape, 1)));
        break;
    }
    case 2: /* a gradient whose product is read elsewhere */
        in[1] = tutti_op1(r.b, "tanh", z);
        keep(&r, r.b->emit(r.b, "gelu_grad", in, 2, &form, 1, NULL, 0));
        break;
    default: /* a product with a bias before a gradient */
        in[0] = tutti_matmul(r.b, r.x, r.w, r.bias, 0, 0);
        in[1] = tutti_op1(r.b, "tanh", z);
        keep(&r, r.b->emit(r.b, "gelu_grad", in, 2, &form, 1, NULL, 0));
        nodes = 4;
    }
    rig_fuse(&r, nodes, want);
}
END_TEST

/* 16 bits stay where they were, also where a rule would give something else. */
START_TEST(dtypes_stay)
{
    static const char *const want[] = {"= matmul_act(", "BF16 (4, 5), ", NULL};
    const graph_autocast low = {TUTTI_BF16, false};
    rig r;
    rig_begin(&r);
    graph_set_autocast(r.from, &low);
    const tutti_value z = tutti_matmul(r.b, r.x, r.w, r.bias, 0, 0), y = act(&r, 1, z);
    const tutti_value u = tutti_matmul(r.b, y, r.v, 0, 0, 0);
    graph_set_dtype(r.from, u, TUTTI_F32);
    keep(&r, z);
    keep(&r, y);
    keep(&r, u);
    rig_fuse(&r, 2, want);
}
END_TEST

/* With a bias and without; from either side. */
START_TEST(a_product_goes_into_the_addition_that_alone_reads_it)
{
    static const char *const want[] = {"= matmul_add(", NULL};
    rig r;
    rig_begin(&r);
    r.how = fuse_accumulate;
    const tutti_value y = tutti_matmul(r.b, r.x, r.w, _i & 1 ? r.bias : 0, 0, 0);
    const tutti_value c = tutti_op1(r.b, "tanh", tutti_matmul(r.b, r.x, r.w, 0, 0, 0));
    keep(&r, _i & 2 ? tutti_add(r.b, c, y) : tutti_add(r.b, y, c));
    if (_i & 1)
        rig_fuse(&r, 3, want);
    else { /* the same product twice is one, and is read by tanh too */
        static const char *const none[] = {"= add(", NULL};
        rig_fuse(&r, 3, none);
    }
}
END_TEST

START_TEST(of_two_products_one_is_added_to_the_other)
{
    static const char *const want[] = {"= matmul(", "= matmul_add(", NULL};
    rig r;
    rig_begin(&r);
    r.how = fuse_accumulate;
    const tutti_value u = tutti_op1(r.b, "tanh", r.x);
    keep(&r, tutti_add(r.b, tutti_matmul(r.b, r.x, r.w, 0, 0, 0),
                       tutti_matmul(r.b, u, r.w, 0, 0, 0)));
    rig_fuse(&r, 3, want);
}
END_TEST

/* As a microbatch's gradient and what earlier ones left. */
START_TEST(the_gradient_of_a_filter_goes_into_the_addition_that_alone_reads_it)
{
    static const char *const want[] = {"= conv2d_grad_weight_add(", NULL};
    const tutti_desc x = toy_desc(TUTTI_F32, 4, 2, 4, 4, 3);
    const tutti_desc dy = toy_desc(TUTTI_F32, 4, 2, 2, 2, 5);
    const tutti_desc w = toy_desc(TUTTI_F32, 4, 5, 3, 3, 3);
    const int64_t size[2] = {3, 3};
    const tutti_attr kernel = tutti_attr_list("kernel", size, 2);
    rig r;
    rig_begin(&r);
    r.how = fuse_accumulate;
    const tutti_value in[2] = {graph_input(r.from, &x), graph_input(r.from, &dy)};
    const tutti_value there = graph_input(r.from, &w);
    keep(&r, tutti_add(r.b, there,
                       r.b->emit(r.b, "conv2d_grad_weight", in, 2, &kernel, 1, NULL, 0)));
    rig_fuse(&r, 1, want);
}
END_TEST

/* What is kept or broadcast, or has an activation, stays by itself. */
START_TEST(additions_that_need_the_product_elsewhere_stay)
{
    static const char *const want[] = {"= matmul(", "= add(", NULL};
    rig r;
    rig_begin(&r);
    r.how = fuse_accumulate;
    const tutti_value y = tutti_matmul(r.b, r.x, r.w, 0, 0, 0);
    if (_i == 0)
        keep(&r, y);
    keep(&r,
         tutti_add(r.b, y, _i == 1 ? r.bias : tutti_op1(r.b, "tanh", _i == 2 ? y : r.bias)));
    rig_fuse(&r, _i == 1 ? 2 : 3, want);
}
END_TEST

/* A residual's gradient from either side; what reads dx or gamma's sums too keeps them apart. */
START_TEST(a_layer_norms_gradient_takes_in_the_addition_behind_it)
{
    static const char *const joined[] = {"= layer_norm_grad(", NULL};
    static const char *const apart[] = {"= layer_norm_grad(", "= add(", NULL};
    const tutti_desc x = toy_desc(TUTTI_F32, 2, 4, 3, 0, 0);
    const tutti_desc gamma = toy_desc(TUTTI_F32, 1, 3, 0, 0, 0);
    const tutti_desc rows = toy_desc(TUTTI_F32, 1, 4, 0, 0, 0);
    rig r;
    rig_begin(&r);
    r.how = fuse_norm_grads;
    const tutti_value more = graph_input(r.from, &x);
    const tutti_value in[5] = {r.x, graph_input(r.from, &x), graph_input(r.from, &gamma),
                               graph_input(r.from, &rows), graph_input(r.from, &rows)};
    tutti_value d[3];
    (void)r.b->emit(r.b, "layer_norm_grad", in, 5, NULL, 0, d, 3);
    const tutti_value c = _i == 3 ? tutti_mul(r.b, more, d[1]) : more;
    keep(&r, _i ? tutti_add(r.b, d[0], c) : tutti_add(r.b, c, d[0]));
    keep(&r, d[1]);
    keep(&r, d[2]);
    if (_i == 2)
        keep(&r, d[0]);
    rig_fuse(&r, _i < 2 ? 1 : _i, _i < 2 ? joined : apart);
}
END_TEST

/* Row: how the weight lies, (in, out) or (out, in), with what earlier microbatches left, and for how many
 * dimensions of rows. */
START_TEST(a_weights_gradient_takes_the_biass_in)
{
    static const char *const want[][3] = {{"= matmul_bias_grad(", " of=1", NULL},
                                          {"= matmul_bias_grad(", "transpose_a=1", NULL}};
    const bool transposed = _i & 1, added = _i & 2, deep = _i & 4;
    const tutti_desc rows = toy_desc(TUTTI_F32, 3, 2, 2, 5, 0),
                     d = toy_desc(TUTTI_F32, 2, 4, 5, 0, 0);
    const int64_t flat[2] = {4, 5}, bias[1] = {5};
    const tutti_attr shape = tutti_attr_list("shape", bias, 1);
    const tutti_desc w =
        transposed ? toy_desc(TUTTI_F32, 2, 5, 3, 0, 0) : toy_desc(TUTTI_F32, 2, 3, 5, 0, 0);
    rig r;
    rig_begin(&r);
    const tutti_value dy = tutti_op1(r.b, "tanh", graph_input(r.from, deep ? &rows : &d));
    const tutti_value two = deep ? tutti_reshape(r.b, dy, flat, 2) : dy;
    const tutti_value there = graph_input(r.from, &w);
    const tutti_value in[3] = {transposed ? two : r.x, transposed ? r.x : two, there};
    const tutti_attr ta = tutti_attr_i("transpose_a", 1);
    if (added) /* nobody reads that one */
        (void)r.b->emit(r.b, "matmul", in, 2, &ta, 1, NULL, 0);
    tutti_value sums = added ? r.b->emit(r.b, "sum_to", &dy, 1, &shape, 1, NULL, 0) : 0;
    keep(&r,
         r.b->emit(r.b, added ? "matmul_add" : "matmul", in, added ? 3 : 2, &ta, 1, NULL, 0));
    sums = sums ? sums : r.b->emit(r.b, "sum_to", &dy, 1, &shape, 1, NULL, 0);
    keep(&r, tutti_op1(r.b, "tanh", sums));
    r.how = fuse_bias_grads;
    rig_fuse(&r, 3 + deep + added, want[transposed]);
}
END_TEST

/* Row: the sums are read before the product is there; other rows; another axis; an activation behind. */
START_TEST(sums_that_are_of_something_else_stay)
{
    static const char *const want[] = {"= matmul(", "= sum_to(", NULL};
    const tutti_desc d = toy_desc(TUTTI_F32, 2, 4, 5, 0, 0);
    const int64_t bias[1] = {5}, column[2] = {4, 1};
    const tutti_attr shape =
        _i == 2 ? tutti_attr_list("shape", column, 2) : tutti_attr_list("shape", bias, 1);
    rig r;
    rig_begin(&r);
    const tutti_value dy = graph_input(r.from, &d), other = graph_input(r.from, &d);
    const tutti_value sums =
        r.b->emit(r.b, "sum_to", _i == 1 ? &other : &dy, 1, &shape, 1, NULL, 0);
    const tutti_value read = _i == 0 ? tutti_op1(r.b, "tanh", sums) : 0;
    const tutti_value in[2] = {r.x, dy};
    const tutti_attr attr[2] = {tutti_attr_i("transpose_a", 1), tutti_attr_i("act", _i == 3)};
    keep(&r, r.b->emit(r.b, "matmul", in, 2, attr, 2, NULL, 0));
    keep(&r, read ? read : sums);
    r.how = fuse_bias_grads;
    rig_fuse(&r, read ? 3 : 2, want);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fuse_products");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, without_a_gradient_the_sums_are_not_kept, 0, 3);
    tcase_add_loop_test(all, a_training_step_has_both_ways_in_one_node_each, 0, 4);
    tcase_add_loop_test(all, sums_that_are_read_come_along, 0, 2);
    tcase_add_loop_test(all, what_does_not_belong_together_stays, 0, 4);
    tcase_add_test(all, dtypes_stay);
    tcase_add_loop_test(all, a_product_goes_into_the_addition_that_alone_reads_it, 0, 4);
    tcase_add_test(all, of_two_products_one_is_added_to_the_other);
    tcase_add_test(all, the_gradient_of_a_filter_goes_into_the_addition_that_alone_reads_it);
    tcase_add_loop_test(all, additions_that_need_the_product_elsewhere_stay, 0, 3);
    tcase_add_loop_test(all, a_layer_norms_gradient_takes_in_the_addition_behind_it, 0, 4);
    tcase_add_loop_test(all, a_weights_gradient_takes_the_biass_in, 0, 8);
    tcase_add_loop_test(all, sums_that_are_of_something_else_stay, 0, 4);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
