/* fuse_test.c - normalisation, residual and ReLU become one node where nobody sees between them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"
#include "graph/passes/fuse.h"
#include "op_table.h"
#include "toy_model.h"

#include <stdio.h>

enum { C = 3, MAX_VALUES = 256 };

/* A graph over x, r (4, 5, C) and four of C, and what is kept of it. */
typedef struct rig {
    graph *from, *to;
    tutti_graph *b;
    tutti_value x, r, channel[4];
    tutti_value kept[4];
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
    r->r = graph_input(r->from, &image);
    for (uint32_t k = 0; k < 4; k++)
        r->channel[k] = graph_weight(r->from, 7 + k, &line, k < 2);
}

/* batch_norm or batch_norm_eval of x, all its results into out. */
static tutti_value norm(rig *r, const char *op, tutti_value x, tutti_value *out)
{
    const tutti_value in[5] = {x, r->channel[0], r->channel[1], r->channel[2], r->channel[3]};
    const tutti_attr eps = tutti_attr_f("eps", 0.25);
    r->b->emit(r->b, op, in, 5, &eps, 1, out, strcmp(op, "batch_norm") == 0 ? 5 : 1);
    return out[0];
}

static void load(interpreter *it, const graph *g)
{
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        const graph_value *x = graph_value_at(g, v);
        if (x->kind != VALUE_INPUT && x->kind != VALUE_WEIGHT)
            continue;
        for (int64_t k = 0; k < tutti_numel(&x->desc); k++)
            interpreter_value(it, v)[k] =
                0.3 + sin((double)(x->index * 31u) + 1.7 * (double)k) / (double)(x->kind * 1.5);
    }
}

/* Fuses, and finds `nodes` nodes, of which `fused` have an act, and the same numbers. */
static void rig_fuse(rig *r, uint32_t nodes, uint32_t fused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    bool wanted[MAX_VALUES] = {false};
    interpreter *a, *b;
    char *text = NULL;
    size_t size = 0;
    uint32_t found = 0;
    ck_assert_ok(graph_error(r->from, &err), err);
    ck_assert_uint_lt(graph_nvalues(r->from), MAX_VALUES);
    for (uint32_t k = 0; k < r->nkept; k++)
        wanted[r->kept[k]] = true;
    for (uint32_t k = 0; k < graph_nassigns(r->from); k++)
        wanted[graph_assign_at(r->from, k).value] = true;
    ck_assert_ok(fuse_norms(r->from, wanted, r->to, r->map, &err), err);
    FILE *file = open_memstream(&text, &size);
    graph_dump(r->to, file);
    (void)fclose(file);
    for (const char *at = text; (at = strstr(at, " act=1")); at++)
        found++;
    ck_assert_msg(found == fused && graph_nnodes(r->to) == nodes, "%s", text);
    free(text);
    ck_assert_ok(interpreter_create(r->from, &a, &err), err);
    ck_assert_ok(interpreter_create(r->to, &b, &err), err);
    load(a, r->from);
    load(b, r->to);
    ck_assert_ok(interpreter_run(a, 0, graph_nnodes(r->from), &toy_step, &err), err);
    ck_assert_ok(interpreter_run(b, 0, graph_nnodes(r->to), &toy_step, &err), err);
    for (tutti_value v = 1; v < graph_nvalues(r->from); v++) {
        const int64_t n = tutti_numel(&graph_value_at(r->from, v)->desc);
        ck_assert(r->map[v] || !wanted[v]);
        for (int64_t k = 0; k < n && r->map[v]; k++)
            ck_assert_close(interpreter_value(b, r->map[v])[k], interpreter_value(a, v)[k],
                            0.0);
    }
    interpreter_destroy(a);
    interpreter_destroy(b);
    graph_destroy(r->from);
    graph_destroy(r->to);
}

static const char *const norms[] = {"batch_norm", "batch_norm_eval"};

START_TEST(a_relu_goes_into_the_norm)
{
    rig r;
    tutti_value out[5];
    rig_begin(&r);
    r.kept[r.nkept++] = tutti_relu(r.b, norm(&r, norms[_i], r.x, out));
    rig_fuse(&r, 1, 1);
    ck_assert_uint_eq(r.map[out[0]], 0);
}
END_TEST

START_TEST(a_residual_goes_in_from_either_side)
{
    rig r;
    tutti_value out[5];
    rig_begin(&r);
    const tutti_value y = norm(&r, norms[_i & 1], r.x, out);
    const tutti_value late = tutti_op1(r.b, "tanh", r.r); /* after the norm */
    r.kept[r.nkept++] =
        tutti_relu(r.b, _i & 2 ? tutti_add(r.b, y, late) : tutti_add(r.b, late, y));
    rig_fuse(&r, 2, 1);
}
END_TEST

/* A block with a normalised shortcut, and another one behind it. */
START_TEST(of_two_norms_the_later_one_takes_the_other_as_residual)
{
    rig r;
    tutti_value out[5];
    rig_begin(&r);
    const tutti_value a = norm(&r, "batch_norm", r.x, out);
    const tutti_value b = norm(&r, "batch_norm", r.r, out);
    const tutti_value h = tutti_relu(r.b, tutti_add(r.b, a, b));
    const tutti_value c = norm(&r, "batch_norm", h, out);
    r.kept[r.nkept++] = tutti_relu(r.b, tutti_add(r.b, h, c));
    rig_fuse(&r, 3, 2);
}
END_TEST

START_TEST(statistics_are_assigned_as_before)
{
    rig r;
    tutti_value out[5];
    rig_begin(&r);
    r.kept[r.nkept++] = tutti_relu(r.b, norm(&r, "batch_norm", r.x, out));
    r.b->assign(r.b, r.channel[2], out[3]);
    r.b->assign(r.b, r.channel[3], out[4]);
    ck_assert_uint_eq(graph_nassigns(r.from), 2);
    rig_fuse(&r, 1, 1);
}
END_TEST

START_TEST(what_is_seen_in_between_stays)
{
    rig r;
    tutti_value out[5], more[5];
    const int64_t axis = 0;
    tutti_value z;
    uint32_t nodes = 2;
    rig_begin(&r);
    const tutti_value y = norm(&r, "batch_norm", r.x, out);
    switch (_i) {
    case 0: /* wanted */
        r.kept[r.nkept++] = y;
        z = tutti_relu(r.b, y);
        break;
    case 1: /* read twice */
        z = tutti_mul(r.b, tutti_relu(r.b, y), y);
        nodes = 3;
        break;
    case 2: /* statistics that the residual depends on */
        z = tutti_relu(r.b, tutti_add(r.b, y, tutti_mul(r.b, r.r, out[1])));
        nodes = 4;
        break;
    case 3: /* a residual of another shape */
        z = tutti_relu(r.b, tutti_add(r.b, y, r.channel[0]));
        nodes = 3;
        break;
    case 4: /* the sum is read too */
        z = tutti_add(r.b, y, r.r);
        z = tutti_mul(r.b, tutti_relu(r.b, z), tutti_reduce(r.b, "sum", z, &axis, 1, 0));
        nodes = 5;
        break;
    default: /* statistics, not the result */
        (void)norm(&r, "batch_norm", r.r, more);
        z = tutti_relu(r.b, tutti_add(r.b, out[1], more[2]));
        nodes = 4;
    }
    r.kept[r.nkept++] = z;
    rig_fuse(&r, nodes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fuse");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_relu_goes_into_the_norm, 0, 2);
    tcase_add_loop_test(all, a_residual_goes_in_from_either_side, 0, 4);
    tcase_add_test(all, of_two_norms_the_later_one_takes_the_other_as_residual);
    tcase_add_test(all, statistics_are_assigned_as_before);
    tcase_add_loop_test(all, what_is_seen_in_between_stays, 0, 6);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
