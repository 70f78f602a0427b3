/* align_gemms_test.c - wide GEMMs of odd rows get zeros behind a factor, and give what they gave. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "toy_model.h"

#include <stdio.h>

enum { M = 256, K = 256, ODD = 1027, EVEN = 1032, MAX_VALUES = 64 };

/* The product of x (M, K) in BF16 and a weight, and its gradients, as the pass left them or not. */
typedef struct rig {
    graph *g;
    tutti_value x, w, y, dx, dw;
} rig;

typedef struct shape {
    int64_t rows, columns; /* of the weight */
    int transposed, cast;
    int32_t dtype; /* of x */
    uint32_t pads; /* that there are afterwards */
} shape;

static const shape shapes[] = {
    {ODD, K, 1, 1, TUTTI_BF16, 1},  {K, ODD, 0, 1, TUTTI_BF16, 1},
    {ODD, K, 1, 0, TUTTI_BF16, 1},  {ODD, K, 1, 1, TUTTI_F16, 1},
    {EVEN, K, 1, 1, TUTTI_BF16, 0}, {ODD, K, 1, 0, TUTTI_F32, 0},
    {129, K, 1, 1, TUTTI_BF16, 0}, /* too small */
};

static tutti_value cast_to(tutti_graph *b, tutti_value v, int32_t dtype)
{
    const tutti_attr to = tutti_attr_i("dtype", dtype);
    return b->emit(b, "cast", &v, 1, &to, 1, NULL, 0);
}

static void trace(rig *r, const shape *s)
{
    tutti_desc x = toy_desc(s->dtype, 2, M, K, 0, 0);
    tutti_desc w = toy_desc(s->cast ? TUTTI_F32 : s->dtype, 2, s->rows, s->columns, 0, 0);
    r->g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(r->g);
    r->x = graph_input(r->g, &x);
    r->w = graph_weight(r->g, 3, &w, true);
    r->y =
        tutti_matmul(b, r->x, s->cast ? cast_to(b, r->w, s->dtype) : r->w, 0, 0, s->transposed);
}

/* By the pass, into another graph. */
static void align(rig *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_value map[MAX_VALUES];
    graph *to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    ck_assert_uint_lt(graph_nvalues(r->g), MAX_VALUES);
    ck_assert_ok(align_gemms(r->g, NULL, to, map, &err), err);
    r->x = map[r->x];
    r->w = map[r->w];
    r->y = map[r->y];
    graph_destroy(r->g);
    r->g = to;
}

static void differentiate(rig *r)
{
    const tutti_value wrt[2] = {r->x, r->w};
    tutti_value dx[2];
    const tutti_desc d = graph_value_at(r->g, r->y)->desc;
    const tutti_value dy = graph_input(r->g, &d);
    ck_assert_int_eq(graph_gradient(r->g, &r->y, &dy, 1, wrt, 2, dx), TUTTI_OK);
    r->dx = dx[0];
    r->dw = dx[1];
}

static interpreter *run(const rig *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    interpreter *it;
    ck_assert_ok(graph_error(r->g, &err), err);
    ck_assert_ok(interpreter_create(r->g, &it, &err), err);
    for (tutti_value v = 1; v < graph_nvalues(r->g); v++) {
        const graph_value *x = graph_value_at(r->g, v);
        for (int64_t k = 0; x->kind != VALUE_NODE && k < tutti_numel(&x->desc); k++)
            interpreter_value(it, v)[k] =
                (double)((k * 37 + (int64_t)x->index * 11) % 17 - 8) / 8.0;
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(r->g), &toy_step, &err), err);
    return it;
}

static uint32_t count(const graph *g, const char *op)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++)
        n += strcmp(graph_node_at(g, k)->op->name, op) == 0;
    return n;
}

static void compare(const char *what, const rig *a, interpreter *x, tutti_value v, const rig *b,
                    interpreter *y, tutti_value w)
{
    const tutti_desc *d = &graph_value_at(a->g, v)->desc, *e = &graph_value_at(b->g, w)->desc;
    ck_assert_msg(tutti_same_shape(d, e) && d->dtype == e->dtype, "%s has another description",
                  what);
    for (int64_t k = 0; k < tutti_numel(d); k++)
        ck_assert_msg(interpreter_value(x, v)[k] == interpreter_value(y, w)[k],
                      "%s %lld is %g, was %g", what, (long long)k, interpreter_value(y, w)[k],
                      interpreter_value(x, v)[k]);
}

START_TEST(odd_rows_are_padded_and_nothing_else_changes)
{
    const shape *s = &shapes[_i];
    rig was, now;
    trace(&was, s);
    trace(&now, s);
    align(&now);
    ck_assert_uint_eq(count(now.g, "pad"), s->pads);
    ck_assert_uint_eq(count(now.g, "slice"), s->pads);
    for (uint32_t k = 0; k < graph_nnodes(now.g) && s->pads; k++) {
        const graph_node *n = graph_node_at(now.g, k);
        const tutti_desc *d = &graph_value_at(now.g, n->out)->desc;
        if (strcmp(n->op->name, "matmul") == 0)
            ck_assert_int_eq(d->dim[1], 1152); /* of whole tiles of 128 */
    }
    differentiate(&was);
    differentiate(&now);
    interpreter *a = run(&was), *b = run(&now);
    compare("the product", &was, a, was.y, &now, b, now.y);
    compare("dx", &was, a, was.dx, &now, b, now.dx);
    compare("dw", &was, a, was.dw, &now, b, now.dw);
    interpreter_destroy(a);
    interpreter_destroy(b);
    graph_destroy(was.g);
    graph_destroy(now.g);
}
END_TEST

START_TEST(a_product_with_a_bias_stays)
{
    rig r;
    trace(&r, &shapes[0]);
    tutti_graph *b = graph_builder(r.g);
    const tutti_desc line = toy_desc(TUTTI_BF16, 1, ODD, 0, 0, 0);
    r.y = tutti_matmul(b, r.x, cast_to(b, r.w, TUTTI_BF16), graph_weight(r.g, 4, &line, true),
                       0, 1);
    align(&r);
    ck_assert_uint_eq(count(r.g, "pad"), 1); /* of the product without */
    ck_assert_int_eq(graph_value_at(r.g, r.y)->desc.dim[1], ODD);
    graph_destroy(r.g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("align_gemms");
    TCase *t = tcase_create("pass");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, odd_rows_are_padded_and_nothing_else_changes, 0,
                        (int)(sizeof shapes / sizeof *shapes));
    tcase_add_test(t, a_product_with_a_bias_stays);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
