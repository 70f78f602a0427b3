/* bench_plan.c - what plans cost beside their kernels: replaying, finding, building, switching. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "cli/cli.h"
#include "graph/plan/plan_internal.h"
#include "graph/surgery/surgery.h"
#include "tutti/ops.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 1000, ROUNDS = 200, SHAPES = 8, LOOKUPS = 1000, TURNS = 400 };

static double less(double a, double b)
{
    return a < b ? a : b;
}

/* ---- steps of a program ---- */

static tutti_status nothing_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status nothing_run(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    return TUTTI_OK;
}

static const tutti_kernel nothing_kernel = {.struct_size = sizeof nothing_kernel,
                                            .run = nothing_run};
static const tutti_op nothing = {.struct_size = sizeof nothing,
                                 .name = "nothing",
                                 .nin_min = 1,
                                 .nin_max = 1,
                                 .nout = 1,
                                 .infer = nothing_infer,
                                 .cpu = &nothing_kernel};
static const tutti_op *const only_nothing[] = {&nothing, NULL};

/* Seconds to run STEPS steps; guarded ones look at a number first.  Negative: it failed. */
static double time_steps(bool guarded)
{
    const tutti_desc vector = {{16}, 1, TUTTI_F32}, number = {{0}, 0, TUTTI_F32};
    static const float x[16] = {0}, keep[16] = {1.0f};
    static const tutti_step step = {.struct_size = sizeof step};
    graph *g = graph_create(only_nothing, TUTTI_MODE_EVAL, NULL);
    program *p = NULL;
    void *arena = NULL;
    double best = -1.0;
    if (!g)
        return best;
    tutti_graph *b = graph_builder(g);
    tutti_value v = graph_input(g, &vector);
    const tutti_value guard = graph_input(g, &number);
    if (guarded)
        (void)graph_set_guard(g, guard);
    for (int k = 0; k < STEPS; k++)
        v = tutti_op1(b, "nothing", v);
    const program_spec spec = {.g = g, .keep = &v, .nkeep = 1, .nexternal = 2, .threads = 1};
    if (program_create(&spec, &p, NULL) == TUTTI_OK &&
        (arena = aligned_alloc(64, (program_bytes(p) + 63) / 64 * 64 + 64))) {
        program_set_arena(p, arena);
        program_set_external(p, 0, x);
        program_set_external(p, 1, keep);
        best = program_run(p, 0, &step, NULL) ? -1.0 : 1e9;
        for (int k = 0; k < ROUNDS && best > 0.0; k++) {
            const double start = monotonic_s();
            const tutti_status s = program_run(p, 0, &step, NULL);
            best = s ? -1.0 : less(monotonic_s() - start, best);
        }
    }
    program_destroy(p);
    graph_destroy(g);
    free(arena);
    return best;
}

/* ---- shapes ---- */

static tutti_status build(void *self, tutti_module m, const tutti_column *columns,
                          uint32_t ncolumns, tutti_error *err)
{
    const tutti_module_v1 *s = self;
    const tutti_desc descs[3] = {{{16, 3, 3, 3}, 4, TUTTI_F32},
                                 {{32, 3, 3, 16}, 4, TUTTI_F32},
                                 {{10, 32}, 2, TUTTI_F32}};
    static const char *const names[3] = {"first", "second", "last"};
    const tutti_init init = {TUTTI_INIT_NORMAL, 0, 0.0, 0.1, 0.0, NULL};
    tutti_status status = TUTTI_OK;
    for (int k = 0; k < 3 && !status; k++)
        status = s->weight(s->ctx, m, names[k], &descs[k], &init, TUTTI_WEIGHT_TRAINABLE, err);
    return status;
}

static tutti_value convolve(tutti_graph *g, tutti_value x, tutti_value w, int64_t stride)
{
    const int64_t strides[] = {stride, stride}, padding[] = {1, 1};
    const tutti_value in[] = {x, w};
    const tutti_attr attr[] = {tutti_attr_list("stride", strides, 2),
                               tutti_attr_list("padding", padding, 2)};
    return tutti_relu(g, g->emit(g, "conv2d", in, 2, attr, 2, NULL, 0));
}

static tutti_status trace(void *self, tutti_graph *g, tutti_module m, const tutti_value *in,
                          uint32_t nin, tutti_value *out, uint32_t nout)
{
    const int64_t axes[] = {1, 2};
    tutti_value h = convolve(g, in[0], g->weight(g, m, "first"), 1);
    h = convolve(g, h, g->weight(g, m, "second"), 2);
    h = tutti_reduce(g, "mean", h, axes, 2, 0);
    out[0] = tutti_matmul(g, h, g->weight(g, m, "last"), 0, 0, 1);
    return g->status(g);
}

static tutti_value loss(void *self, tutti_graph *g, const tutti_value *outputs,
                        uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                        int32_t reduction)
{
    const tutti_value each = tutti_softmax_cross_entropy(g, outputs[0], targets[0]);
    return tutti_reduce(g, "mean", each, NULL, 0, 0);
}

/* Eight samples of size x size pixels. */
static plan *plan_of(net *n, int64_t size)
{
    plan *p = NULL;
    const plan_request r = {.kind = PLAN_TRAIN,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {{{8, size, size, 3}, 4, TUTTI_F32}},
                            .targets = {{{8}, 1, TUTTI_I32}}};
    return net_plan(n, &r, &p, NULL) ? NULL : p;
}

static bool train(plan *p)
{
    static const tutti_step step = {.struct_size = sizeof step};
    tutti_status s = p ? TUTTI_OK : TUTTI_E_FAIL;
    for (int segment = SEGMENT_FORWARD; segment < SEGMENT_COUNT && !s; segment++)
        s = plan_run(p, segment, &step, 1.0f, NULL);
    return s == TUTTI_OK;
}

/* Seconds for a step of each shape right after another shape's and right after its own, the best
 * of all turns. */
static void measure_switches(net *n, double *ret_after_other, double *ret_after_own)
{
    double best[SHAPES][2];
    *ret_after_other = *ret_after_own = 0.0;
    for (int k = 0; k < SHAPES; k++)
        best[k][0] = best[k][1] = 1e9;
    for (int turn = 0; turn < TURNS; turn++)
        for (int k = 0; k < 2 * SHAPES; k++) {
            const double start = monotonic_s();
            (void)train(plan_of(n, 8 + 4 * (k / 2)));
            best[k / 2][k % 2] = less(monotonic_s() - start, best[k / 2][k % 2]);
        }
    for (int k = 0; k < SHAPES; k++) {
        *ret_after_other += best[k][0];
        *ret_after_own += best[k][1];
    }
}

static bool measure_shapes(net *n)
{
    double build_s = 1e9, find_s = 1e9, other, own;
    for (int k = 0; k < SHAPES; k++) {
        const double start = monotonic_s();
        if (!train(plan_of(n, 8 + 4 * k))) /* the first run points at memory */
            return false;
        build_s = less(monotonic_s() - start, build_s);
    }
    for (int k = 0; k < ROUNDS; k++) {
        const double start = monotonic_s();
        for (int j = 0; j < LOOKUPS; j++)
            (void)plan_of(n, 8 + 4 * (j % SHAPES));
        find_s = less((monotonic_s() - start) / LOOKUPS, find_s);
    }
    measure_switches(n, &other, &own);
    const net_plan_counts c = net_count_plans(n);
    (void)printf(
        "finding one of %d plans %.3f us (aim 0.2); building one %.2f ms; %llu built\n", SHAPES,
        find_s * 1e6, build_s * 1e3, (unsigned long long)c.built);
    (void)printf("a step of each of %d shapes: %.3f ms after another's, %.3f ms after its own: "
                 "%.1f us a switch\n",
                 SHAPES, other * 1e3, own * 1e3, (other - own) / SHAPES * 1e6);
    return true;
}

int bench_plan(const cli_options *o, const tutti_op *const *ops)
{
    static const char *const inputs[] = {"input", NULL}, *const targets[] = {"target", NULL};
    static const tutti_model_v1 table = {.struct_size = sizeof table,
                                         .noutputs = 1,
                                         .inputs = inputs,
                                         .targets = targets,
                                         .build = build,
                                         .trace = trace,
                                         .loss = loss};
    const net_options options = {.ops = ops, .seed = 1, .threads = 1};
    tutti_error err = TUTTI_ERROR_INIT;
    net *n = NULL;
    const double plain = time_steps(false), guarded = time_steps(true);
    (void)printf("replaying %d empty kernels %.1f us (aim 40); behind guards %.1f us\n", STEPS,
                 plain * 1e6, guarded * 1e6);
    if (net_create(&options, &n, &err) == TUTTI_OK) {
        const model_impl model = {&table, (void *)(uintptr_t)net_modules(n), NULL, "bench",
                                  NULL};
        if (net_build_model(n, &model, NULL, 0, &err) || net_commit(n, &err) ||
            !measure_shapes(n))
            (void)tutti_fail(&err, TUTTI_E_FAIL, "no plan to measure");
    }
    net_destroy(n);
    if (err.status)
        (void)fprintf(stderr, "tutti: %s\n", err.text);
    return err.status || plain < 0.0 || guarded < 0.0 ? CLI_FAILED : CLI_OK;
}
