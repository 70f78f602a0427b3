/* fuse_columns_test.c - a loss reads logits in 16 bits, columns behind those that count and all. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/attr.h"
#include "graph/ir/interpreter.h"
#include "graph/passes/autodiff.h"
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "toy_model.h"

enum { ROWS = 6, WIDTH = 8, COLUMNS = 5, MAX_VALUES = 64 };

/* How the loss comes to its logits, and the attribute that it has afterwards: -1: it reads what it read. */
typedef struct pattern {
    int64_t begin, end, stride; /* of the slice; end 0: there is none */
    int32_t dtype;              /* of the logits */
    int64_t columns;
} pattern;

static const pattern patterns[] = {
    {0, COLUMNS, 1, TUTTI_BF16, COLUMNS}, {0, COLUMNS, 1, TUTTI_F16, COLUMNS},
    {0, 0, 1, TUTTI_BF16, WIDTH},         {1, COLUMNS + 1, 1, TUTTI_BF16, COLUMNS},
    {0, WIDTH, 2, TUTTI_BF16, WIDTH / 2}, {0, COLUMNS, 1, TUTTI_F32, -1},
};
/* Of these the whole rows are what is read. */
static const bool reads_whole[] = {true, true, true, false, false, false};

typedef struct rig {
    graph *g;
    tutti_value x, target, loss, dx;
} rig;

static void trace(rig *r, const pattern *p)
{
    const tutti_desc x = toy_desc(p->dtype, 2, ROWS, WIDTH, 0, 0);
    const tutti_desc t = toy_desc(TUTTI_I32, 1, ROWS, 0, 0, 0);
    const int64_t begin[2] = {0, p->begin}, end[2] = {ROWS, p->end}, stride[2] = {1, p->stride};
    const tutti_attr cut[3] = {tutti_attr_list("begin", begin, 2),
                               tutti_attr_list("end", end, 2),
                               tutti_attr_list("stride", stride, 2)};
    const tutti_attr f32 = tutti_attr_i("dtype", TUTTI_F32);
    r->g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(r->g);
    r->x = graph_input(r->g, &x);
    r->target = graph_input(r->g, &t);
    tutti_value v = p->end ? b->emit(b, "slice", &r->x, 1, cut, 3, NULL, 0) : r->x;
    if (p->dtype != TUTTI_F32)
        v = b->emit(b, "cast", &v, 1, &f32, 1, NULL, 0);
    r->loss = tutti_softmax_cross_entropy(b, v, r->target);
}

static void fuse(rig *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_value map[MAX_VALUES];
    bool wanted[MAX_VALUES] = {false};
    graph *to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    wanted[r->loss] = true;
    ck_assert_ok(fuse_columns(r->g, wanted, to, map, &err), err);
    r->x = map[r->x];
    r->target = map[r->target];
    r->loss = map[r->loss];
    graph_destroy(r->g);
    r->g = to;
}

static interpreter *run(rig *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    interpreter *it;
    const tutti_desc d = graph_value_at(r->g, r->loss)->desc;
    const tutti_value dy = graph_input(r->g, &d);
    ck_assert_int_eq(graph_gradient(r->g, &r->loss, &dy, 1, &r->x, 1, &r->dx), TUTTI_OK);
    ck_assert_ok(interpreter_create(r->g, &it, &err), err);
    for (int64_t k = 0; k < ROWS * WIDTH; k++)
        interpreter_value(it, r->x)[k] = (double)((k * 37) % 17 - 8) / 4.0;
    for (int64_t k = 0; k < ROWS; k++) {
        interpreter_value(it, r->target)[k] = (double)(k % 4);
        interpreter_value(it, dy)[k] = 0.5 + (double)k;
    }
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(r->g), &toy_step, &err), err);
    return it;
}

static void same(const rig *a, interpreter *x, tutti_value v, const rig *b, interpreter *y,
                 tutti_value w)
{
    const tutti_desc *d = &graph_value_at(a->g, v)->desc, *e = &graph_value_at(b->g, w)->desc;
    ck_assert(tutti_same_shape(d, e) && d->dtype == e->dtype);
    for (int64_t k = 0; k < tutti_numel(d); k++)
        ck_assert_close(interpreter_value(y, w)[k], interpreter_value(x, v)[k], 1e-15);
}

START_TEST(a_loss_reads_whole_rows_where_they_begin_with_its_logits)
{
    const pattern *p = &patterns[_i];
    rig was, now;
    trace(&was, p);
    trace(&now, p);
    fuse(&now);
    const graph_node *n = graph_node_at(now.g, graph_value_at(now.g, now.loss)->index);
    ck_assert_int_eq(attr_get(n->op, n->attr, "columns"), p->columns < 0 ? 0 : p->columns);
    ck_assert_int_eq(n->in[0] == now.x, reads_whole[_i]);
    interpreter *a = run(&was), *b = run(&now);
    same(&was, a, was.loss, &now, b, now.loss);
    same(&was, a, was.dx, &now, b, now.dx);
    interpreter_destroy(a);
    interpreter_destroy(b);
    graph_destroy(was.g);
    graph_destroy(now.g);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("fuse_columns");
    TCase *t = tcase_create("pass");
    tcase_add_loop_test(t, a_loss_reads_whole_rows_where_they_begin_with_its_logits, 0,
                        (int)(sizeof patterns / sizeof *patterns));
    suite_add_tcase(s, t);
    return tutti_run(s);
}
