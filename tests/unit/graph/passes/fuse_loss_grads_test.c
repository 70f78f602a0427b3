/* fuse_loss_grads_test.c - a loss and its gradient become one node where what goes into the gradient can go first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "same_numbers.h"
#include "toy_model.h"

#include <stdio.h>

enum { ROWS = 6, C = 5, MAX_VALUES = 64 };

/* Logits, soft targets, a number that may guard; what is kept of the graph. */
typedef struct rig {
    graph *from, *to;
    tutti_graph *b;
    tutti_value x, t, guard;
    tutti_value kept[6];
    uint32_t nkept;
    tutti_value map[MAX_VALUES];
} rig;

static tutti_value number(const rig *r)
{
    const tutti_desc d = toy_desc(TUTTI_F32, 0, 0, 0, 0, 0);
    return graph_input(r->from, &d);
}

static void rig_begin(rig *r)
{
    const tutti_desc x = toy_desc(TUTTI_F32, 2, ROWS, C, 0, 0);
    *r = (rig){.from = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL),
               .to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL)};
    r->b = graph_builder(r->from);
    r->x = graph_input(r->from, &x);
    r->t = graph_input(r->from, &x);
    r->guard = number(r);
}

static tutti_value keep(rig *r, tutti_value v)
{
    return r->kept[r->nkept++] = v;
}

static tutti_value mean_of(const rig *r, tutti_value v)
{
    const int64_t axis = 0;
    return tutti_reduce(r->b, "mean", v, &axis, 1, 0);
}

/* Keeps `loss` and its gradient for `x`, as a plan has them. */
static void differentiate(rig *r, tutti_value loss, tutti_value x)
{
    tutti_value dx = 0;
    const tutti_value scale = number(r);
    graph_set_segment(r->from, 1);
    ck_assert_int_eq(graph_gradient(r->from, &loss, &scale, 1, &x, 1, &dx), TUTTI_OK);
    (void)keep(r, loss);
    (void)keep(r, dx);
}

/* The gradient of the loss of x, from dloss. */
static tutti_value gradient(const rig *r, tutti_value dloss, int64_t ignored)
{
    const tutti_value in[3] = {r->x, r->t, dloss};
    const tutti_attr attr = tutti_attr_i("ignore_index", ignored);
    return r->b->emit(r->b, "softmax_cross_entropy_grad", in, 3, &attr, 1, NULL, 0);
}

static uint32_t count_fused(const graph *g)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++)
        n += strcmp(graph_node_at(g, k)->op->name, "softmax_cross_entropy_and_grad") == 0;
    return n;
}

/* Fuses, and finds that many nodes that are two, segments in their order, inputs with their numbers, and the same
 * results. */
static void rig_fuse(rig *r, uint32_t fused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool wanted[MAX_VALUES] = {false};
    ck_assert_ok(graph_error(r->from, &err), err);
    ck_assert_uint_lt(graph_nvalues(r->from), MAX_VALUES);
    for (uint32_t k = 0; k < r->nkept; k++)
        wanted[r->kept[k]] = true;
    ck_assert_ok(fuse_loss_grads(r->from, wanted, r->to, r->map, &err), err);
    ck_assert_uint_eq(count_fused(r->to), fused);
    ck_assert_uint_eq(graph_nnodes(r->to) + fused, graph_nnodes(r->from));
    for (uint32_t k = 1; k < graph_nnodes(r->to); k++)
        ck_assert_int_le(graph_node_at(r->to, k - 1)->segment,
                         graph_node_at(r->to, k)->segment);
    for (tutti_value v = 1; v < graph_nvalues(r->from); v++)
        if (graph_value_at(r->from, v)->kind == VALUE_INPUT)
            ck_assert_uint_eq(graph_value_at(r->to, r->map[v])->index,
                              graph_value_at(r->from, v)->index);
    same_numbers(r->from, r->to, r->kept, r->nkept, r->map, 0.0);
    graph_destroy(r->from);
    graph_destroy(r->to);
}

START_TEST(the_mean_of_a_loss_gets_its_gradient_where_it_is_computed)
{
    rig r;
    rig_begin(&r);
    differentiate(&r, mean_of(&r, tutti_softmax_cross_entropy(r.b, r.x, r.t)), r.x);
    rig_fuse(&r, 1);
}
END_TEST

/* As a mean over labels that count: computed behind the loss, of an input behind it, by nodes that go before it. */
START_TEST(what_the_gradient_is_multiplied_by_goes_first)
{
    rig r;
    const int64_t axes[2] = {0, 1}, rows[1] = {ROWS};
    rig_begin(&r);
    const tutti_value each = tutti_softmax_cross_entropy(r.b, r.x, r.t);
    const tutti_value first = number(&r), second = number(&r);
    const tutti_value count =
        keep(&r, tutti_reduce(r.b, "sum", tutti_mul(r.b, r.t, r.t), axes, 2, 0));
    (void)keep(&r, tutti_mul(r.b, tutti_reduce(r.b, "sum", each, axes, 1, 0), first));
    graph_set_segment(r.from, 1);
    const tutti_attr shape = tutti_attr_list("shape", rows, 1);
    const tutti_value d = tutti_mul(r.b, count, second);
    const tutti_value each_d = r.b->emit(r.b, "broadcast_to", &d, 1, &shape, 1, NULL, 0);
    (void)keep(&r, gradient(&r, each_d, -100));
    rig_fuse(&r, 1);
}
END_TEST

START_TEST(losses_of_several_logits_are_fused_each)
{
    rig r;
    rig_begin(&r);
    const tutti_value y = tutti_op1(r.b, "tanh", r.x);
    const tutti_value a = tutti_softmax_cross_entropy(r.b, r.x, r.t);
    const tutti_value b = tutti_softmax_cross_entropy(r.b, y, r.t);
    differentiate(&r, mean_of(&r, tutti_add(r.b, a, b)), r.x);
    rig_fuse(&r, 2);
}
END_TEST

/* What a gradient that stays apart is computed of. */
static tutti_value apart(rig *r, int how)
{
    const tutti_value each = tutti_softmax_cross_entropy(r->b, r->x, r->t);
    const int64_t rows[1] = {ROWS};
    const tutti_attr shape = tutti_attr_list("shape", rows, 1);
    tutti_value d = number(r);
    (void)keep(r, each);
    if (how == 0) /* the logits are read in between: the gradient could not lie there */
        (void)keep(r, tutti_op1(r->b, "tanh", r->x));
    graph_set_segment(r->from, 1);
    if (how == 1) /* a guard decides whether it is there */
        (void)graph_set_guard(r->from, r->guard);
    d = r->b->emit(r->b, "broadcast_to", &d, 1, &shape, 1, NULL, 0);
    (void)graph_set_guard(r->from, 0);
    if (how == 2) /* it is made of the loss */
        d = tutti_mul(r->b, d, tutti_affine(r->b, each, 2.0, 0.0));
    if (how == 3) /* a run draws it */
        d = tutti_mul(r->b, d, keep(r, tutti_op1(r->b, "dropout", d)));
    return d;
}

START_TEST(a_gradient_that_cannot_be_there_with_the_loss_stays)
{
    rig r;
    rig_begin(&r);
    const tutti_value d = apart(&r, _i);
    (void)keep(&r, gradient(&r, d, _i == 4 ? 3 : -100)); /* 4: other attributes */
    if (_i == 5) {                                       /* of other targets */
        const tutti_value in[3] = {r.x, r.x, d};
        r.nkept--;
        (void)keep(&r, r.b->emit(r.b, "softmax_cross_entropy_grad", in, 3, NULL, 0, NULL, 0));
    }
    rig_fuse(&r, 0);
}
END_TEST

START_TEST(a_guarded_loss_stays)
{
    rig r;
    rig_begin(&r);
    (void)graph_set_guard(r.from, r.guard);
    const tutti_value each = tutti_softmax_cross_entropy(r.b, r.x, r.t);
    (void)graph_set_guard(r.from, 0);
    differentiate(&r, mean_of(&r, each), r.x);
    rig_fuse(&r, 0);
}
END_TEST

START_TEST(a_loss_whose_gradient_depends_on_it_stays)
{
    rig r;
    rig_begin(&r);
    const tutti_value each = tutti_softmax_cross_entropy(r.b, r.x, r.t);
    differentiate(&r, mean_of(&r, tutti_mul(r.b, each, each)), r.x);
    rig_fuse(&r, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fuse_loss_grads");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_mean_of_a_loss_gets_its_gradient_where_it_is_computed);
    tcase_add_test(all, what_the_gradient_is_multiplied_by_goes_first);
    tcase_add_test(all, losses_of_several_logits_are_fused_each);
    tcase_add_loop_test(all, a_gradient_that_cannot_be_there_with_the_loss_stays, 0, 6);
    tcase_add_test(all, a_guarded_loss_stays);
    tcase_add_test(all, a_loss_whose_gradient_depends_on_it_stays);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
