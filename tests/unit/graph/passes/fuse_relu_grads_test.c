/* fuse_relu_grads_test.c - ReLU's gradient, and an addition before it, go into the norm's gradient that reads it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "same_numbers.h"
#include "toy_model.h"

enum { C = 3, MAX_VALUES = 64 };

/* Images, three of C, and what is kept of the graph. */
typedef struct rig {
    graph *from, *to;
    tutti_graph *b;
    tutti_value x, dy, more, y, channel[3];
    tutti_value kept[8];
    uint32_t nkept;
    tutti_value map[MAX_VALUES];
} rig;

static void rig_begin(rig *r)
{
    const tutti_desc image = toy_desc(TUTTI_F32, 3, 4, 5, C, 0);
    const tutti_desc line = toy_desc(TUTTI_F32, 1, C, 0, 0, 0);
    *r = (rig){.from = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL),
               .to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL)};
    r->b = graph_builder(r->from);
    r->x = graph_input(r->from, &image);
    r->dy = graph_input(r->from, &image);
    r->more = graph_input(r->from, &image);
    r->y = graph_input(r->from, &image);
    for (uint32_t k = 0; k < 3; k++)
        r->channel[k] = graph_weight(r->from, k, &line, true);
}

static tutti_value keep(rig *r, tutti_value v)
{
    return r->kept[r->nkept++] = v;
}

static tutti_value relu_grad(const rig *r, tutti_value dy)
{
    return tutti_op2(r->b, "relu_grad", dy, r->y);
}

/* batch_norm_grad of `x`, its three results kept; of `dy` masked by x where `act`. */
static void norm_grad(rig *r, tutti_value x, tutti_value dy, int64_t act)
{
    const tutti_value in[6] = {
        x, dy, r->channel[0], r->channel[1], r->channel[2], r->channel[0]};
    const tutti_attr attr = tutti_attr_i("act", act);
    tutti_value out[3];
    (void)r->b->emit(r->b, "batch_norm_grad", in, act ? 6 : 5, &attr, 1, out, 3);
    for (int k = 0; k < 3; k++)
        (void)keep(r, out[k]);
}

/* Fuses, and finds that many nodes, of which `fused` are joined and have so many operands, and the same numbers. */
static void rig_fuse(rig *r, uint32_t nodes, uint32_t fused, uint32_t nin)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool wanted[MAX_VALUES] = {false};
    uint32_t found = 0;
    ck_assert_ok(graph_error(r->from, &err), err);
    ck_assert_uint_lt(graph_nvalues(r->from), MAX_VALUES);
    for (uint32_t k = 0; k < r->nkept; k++)
        wanted[r->kept[k]] = true;
    ck_assert_ok(fuse_relu_grads(r->from, wanted, r->to, r->map, &err), err);
    for (uint32_t k = 0; k < graph_nnodes(r->to); k++) {
        const graph_node *n = graph_node_at(r->to, k);
        const bool joined = strcmp(n->op->name, "batch_norm_relu_grad") == 0;
        ck_assert(!joined || n->nin == nin);
        found += joined;
    }
    ck_assert_uint_eq(found, fused);
    ck_assert_uint_eq(graph_nnodes(r->to), nodes);
    same_numbers(r->from, r->to, r->kept, r->nkept, r->map, 1e-12);
    graph_destroy(r->from);
    graph_destroy(r->to);
}

START_TEST(a_relu_and_the_addition_before_it_go_in)
{
    rig r;
    rig_begin(&r);
    norm_grad(&r, r.x, keep(&r, relu_grad(&r, tutti_add(r.b, r.dy, r.more))), 0);
    rig_fuse(&r, 1, 1, 7);
}
END_TEST

START_TEST(a_relu_alone_goes_in)
{
    rig r;
    rig_begin(&r);
    norm_grad(&r, r.x, relu_grad(&r, r.dy), 0);
    rig_fuse(&r, 1, 1, 6);
}
END_TEST

START_TEST(a_sum_that_others_read_stays)
{
    rig r;
    rig_begin(&r);
    norm_grad(&r, r.x, relu_grad(&r, keep(&r, tutti_add(r.b, r.dy, r.more))), 0);
    rig_fuse(&r, 2, 1, 6);
}
END_TEST

START_TEST(a_sum_of_other_shapes_stays)
{
    rig r;
    rig_begin(&r);
    norm_grad(&r, r.x, relu_grad(&r, tutti_add(r.b, r.dy, r.channel[1])), 0);
    rig_fuse(&r, 2, 1, 6);
}
END_TEST

START_TEST(of_two_norms_the_first_one_takes_it)
{
    rig r;
    rig_begin(&r);
    const tutti_value du = relu_grad(&r, tutti_add(r.b, r.dy, r.more));
    norm_grad(&r, r.x, du, 0);
    norm_grad(&r, r.y, du, 0);
    rig_fuse(&r, 2, 1, 7);
}
END_TEST

START_TEST(what_is_not_there_yet_is_waited_for)
{
    rig r;
    rig_begin(&r);
    const tutti_value du = relu_grad(&r, tutti_add(r.b, r.dy, r.more));
    norm_grad(&r, tutti_mul(r.b, r.x, r.x), du, 0);
    rig_fuse(&r, 4, 0, 0);
    rig_begin(&r);
    const tutti_desc image = toy_desc(TUTTI_F32, 3, 4, 5, C, 0);
    const tutti_value before = relu_grad(&r, r.dy), late = graph_input(r.from, &image);
    norm_grad(&r, late, before, 0);
    rig_fuse(&r, 2, 0, 0);
    rig_begin(&r);
    const tutti_value both = relu_grad(&r, r.dy); /* x itself */
    norm_grad(&r, both, both, 0);
    rig_fuse(&r, 2, 0, 0);
}
END_TEST

START_TEST(a_norm_that_has_a_relu_of_its_own_stays)
{
    rig r;
    rig_begin(&r);
    norm_grad(&r, r.x, relu_grad(&r, r.dy), 1);
    rig_fuse(&r, 2, 0, 0);
}
END_TEST

START_TEST(what_is_computed_under_another_condition_stays)
{
    rig r;
    rig_begin(&r);
    const tutti_desc one = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const tutti_value guard = graph_input(r.from, &one);
    const tutti_value du = relu_grad(&r, r.dy);
    (void)graph_set_guard(r.from, guard);
    norm_grad(&r, r.x, du, 0);
    (void)graph_set_guard(r.from, 0);
    rig_fuse(&r, 2, 0, 0);
}
END_TEST

START_TEST(a_sum_of_another_condition_stays)
{
    rig r;
    rig_begin(&r);
    const tutti_desc one = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    const tutti_value guard = graph_input(r.from, &one);
    (void)graph_set_guard(r.from, guard);
    const tutti_value sum = tutti_add(r.b, r.dy, r.more);
    (void)graph_set_guard(r.from, 0);
    norm_grad(&r, r.x, relu_grad(&r, sum), 0);
    rig_fuse(&r, 2, 1, 6);
}
END_TEST

START_TEST(what_is_computed_in_another_segment_stays)
{
    rig r;
    rig_begin(&r);
    const tutti_value du = relu_grad(&r, r.dy);
    graph_set_segment(r.from, 1);
    norm_grad(&r, r.x, du, 0);
    rig_fuse(&r, 2, 0, 0);
}
END_TEST

START_TEST(what_has_another_dtype_stays)
{
    rig r;
    rig_begin(&r);
    const tutti_value du = relu_grad(&r, r.dy);
    graph_set_dtype(r.from, du, TUTTI_BF16);
    norm_grad(&r, r.x, du, 0);
    rig_fuse(&r, 2, 0, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fuse_relu_grads");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_relu_and_the_addition_before_it_go_in);
    tcase_add_test(t, a_relu_alone_goes_in);
    tcase_add_test(t, a_sum_that_others_read_stays);
    tcase_add_test(t, a_sum_of_other_shapes_stays);
    tcase_add_test(t, of_two_norms_the_first_one_takes_it);
    tcase_add_test(t, what_is_not_there_yet_is_waited_for);
    tcase_add_test(t, a_norm_that_has_a_relu_of_its_own_stays);
    tcase_add_test(t, what_is_computed_under_another_condition_stays);
    tcase_add_test(t, a_sum_of_another_condition_stays);
    tcase_add_test(t, what_is_computed_in_another_segment_stays);
    tcase_add_test(t, what_has_another_dtype_stays);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
