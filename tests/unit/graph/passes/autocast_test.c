/* autocast_test.c - mixed precision: the pass, its rules, 16 bits in groups and around f32 kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"
#include "graph/ir/precision.h"
#include "graph/passes/autocast.h"
#include "graph/passes/autodiff.h"
#include "graph/program/program_internal.h"
#include "graph/runtime/host_memory.h"
#include "op_table.h"
#include "toy_model.h"

#include <math.h>

static const int32_t lows[] = {TUTTI_BF16, TUTTI_F16};
/* Half a unit in the last place, relative: what one rounding does. */
static const double rounding[] = {0x1p-9, 0x1p-12};

/* ---- a small residual network ---- */

#define F32(rank, a, b, c, d)                                                                  \
    {                                                                                          \
        {a, b, c, d}, rank, TUTTI_F32                                                          \
    }
#define NORMAL(s)                                                                              \
    {                                                                                          \
        .kind = TUTTI_INIT_NORMAL, .b = (s)                                                    \
    }
#define CONSTANT(x)                                                                            \
    {                                                                                          \
        .kind = TUTTI_INIT_CONSTANT, .a = (x)                                                  \
    }

static const toy_weight res_weights[] = {
    {"conv1", F32(4, 8, 3, 3, 3), NORMAL(0.3), TUTTI_WEIGHT_TRAINABLE},
    {"conv2", F32(4, 8, 3, 3, 8), NORMAL(0.2), TUTTI_WEIGHT_TRAINABLE},
    {"gamma", F32(1, 8, 0, 0, 0), CONSTANT(1.0), TUTTI_WEIGHT_TRAINABLE},
    {"beta", F32(1, 8, 0, 0, 0), CONSTANT(0.1), TUTTI_WEIGHT_TRAINABLE},
    {"mean", F32(1, 8, 0, 0, 0), CONSTANT(0.0), 0},
    {"var", F32(1, 8, 0, 0, 0), CONSTANT(1.0), 0},
    {"fc", F32(2, 4, 8, 0, 0), NORMAL(0.5), TUTTI_WEIGHT_TRAINABLE},
    {"bias", F32(1, 4, 0, 0, 0), CONSTANT(0.0), TUTTI_WEIGHT_TRAINABLE},
    {NULL, F32(0, 0, 0, 0, 0), CONSTANT(0.0), 0}};

/* Smooth, so that errors grow as roundings do: a ReLU near zero would switch. */
/* Smooth, so that errors grow as roundings do: a ReLU near zero would switch. */
static tutti_value res_trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const int64_t one[2] = {1, 1}, pixels[2] = {1, 2};
    tutti_value n[5];
    const tutti_value a = tutti_op1(
        g, "silu", tutti_conv2d(g, x[0], g->weight(g, m, "conv1"), 0, one, one, one, 1));
    const tutti_value b = tutti_conv2d(g, a, g->weight(g, m, "conv2"), 0, one, one, one, 1);
    const tutti_value in[5] = {b, g->weight(g, m, "gamma"), g->weight(g, m, "beta"),
                               g->weight(g, m, "mean"), g->weight(g, m, "var")};
    (void)g->emit(g, "batch_norm", in, 5, NULL, 0, n, 5);
    g->assign(g, in[3], n[3]);
    g->assign(g, in[4], n[4]);
    const tutti_value sum = tutti_op1(g, "silu", tutti_add(g, n[0], a));
    const tutti_value pooled = tutti_reduce(g, "mean", sum, pixels, 2, 0);
    return tutti_matmul(g, pooled, g->weight(g, m, "fc"), g->weight(g, m, "bias"), 0, 1);
}

static tutti_value res_loss(tutti_graph *g, tutti_value y, tutti_value target)
{
    return tutti_op2(g, "softmax_cross_entropy", y, target);
}

static toy_model residual(void)
{
    return (toy_model){.weights = res_weights, .trace = res_trace, .loss = res_loss};
}

static net *net_in(int precision, toy_model *model)
{
    net *n = toy_net(tutti_op_table, model);
    n->options.precision = precision;
    net_drop_plans(n);
    return n;
}

static const tutti_desc images = {{6, 12, 12, 3}, 4, TUTTI_F32}, classes = {{6}, 1, TUTTI_I32};

static plan *trained(net *n, int64_t batch, float scale)
{
    tutti_desc x = images, target = classes;
    x.dim[0] = target.dim[0] = batch;
    plan *p = toy_plan(n, PLAN_TRAIN, x, target);
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, scale);
    return p;
}

/* One rounding for each of the dozen values that are stored on the way there and back; the loss is
 * scaled so that none of them is below the normal numbers of f16. */
START_TEST(training_in_16_bits_is_as_near_as_they_allow)
{
    const int which = _i & 1;
    const int64_t batch = _i & 2 ? 350 : 6; /* many are done in several batch chunks */
    toy_model a = residual(), b = residual();
    net *full = net_in(NET_FP32, &a), *low = net_in(NET_AMP_BF16 + which, &b);
    plan *p = trained(full, batch, 4096.0f), *q = trained(low, batch, 4096.0f);
    float *wf, *gf, *wl, *gl;
    int64_t count;
    net_arena(full, &wf, &gf, &count);
    net_arena(low, &wl, &gl, &count);
    double want = 0.0, off = 0.0;
    for (int64_t k = 0; k < count; k++) {
        want += (double)gf[k] * (double)gf[k];
        off += ((double)gl[k] - (double)gf[k]) * ((double)gl[k] - (double)gf[k]);
    }
    ck_assert_double_gt(want, 0.0);
    ck_assert_double_gt(off, 0.0);
    ck_assert_double_le(sqrt(off / want), 12.0 * rounding[which]);
    const tutti_tensor x = plan_loss(p), y = plan_loss(q);
    ck_assert_close(*(float *)y.data, *(float *)x.data, 12.0 * rounding[which]);
    ck_assert_int_eq(plan_output(q, 0).desc.dtype, TUTTI_F32);
    net_destroy(full);
    net_destroy(low);
}
END_TEST

START_TEST(running_statistics_stay_f32)
{
    toy_model a = residual(), b = residual();
    net *full = net_in(NET_FP32, &a), *low = net_in(NET_AMP_BF16, &b);
    (void)trained(full, 6, 1.0f);
    (void)trained(low, 6, 1.0f);
    uint32_t buffers = 0;
    for (uint32_t k = 0; k < net_weight_count(low); k++) {
        const tutti_weight *x = net_weight(full, k), *y = net_weight(low, k);
        ck_assert_int_eq(y->data.desc.dtype, TUTTI_F32);
        if (net_offset(low, k) >= 0)
            continue;
        buffers++;
        for (int64_t j = 0; j < 8; j++)
            ck_assert_close(((float *)y->data.data)[j], ((float *)x->data.data)[j], 0x1p-8);
    }
    ck_assert_uint_eq(buffers, 2);
    net_destroy(full);
    net_destroy(low);
}
END_TEST

/* f16 keeps 2^-24; a gradient below that is lost unless the loss is scaled. */
START_TEST(the_loss_scale_saves_small_gradients)
{
    toy_model a = residual();
    net *n = net_in(NET_AMP_FP16, &a);
    float *w, *g;
    int64_t count;
    for (int scaled = 0; scaled < 2; scaled++) {
        double sum = 0.0;
        (void)trained(n, 6, scaled ? 0x1p-6f : 0x1p-26f);
        net_arena(n, &w, &g, &count);
        uint32_t conv = 0;
        while (strcmp(net_weight(n, conv)->path, "conv1") != 0)
            conv++;
        const int64_t at = net_offset(n, conv);
        for (int64_t k = 0; k < 8 * 27; k++)
            sum += fabs((double)g[at + k]);
        ck_assert(scaled ? sum > 0.0 : sum == 0.0);
    }
    net_destroy(n);
}
END_TEST

START_TEST(sixteen_bits_need_less_memory)
{
    toy_model a = residual(), b = residual();
    net *full = net_in(NET_FP32, &a), *low = net_in(NET_AMP_BF16, &b);
    const tutti_desc big = {{64, 32, 32, 3}, 4, TUTTI_F32}, target = {{64}, 1, TUTTI_I32};
    const uint64_t x = plan_bytes(toy_plan(full, PLAN_TRAIN, big, target));
    const uint64_t y = plan_bytes(toy_plan(low, PLAN_TRAIN, big, target));
    ck_assert_uint_lt(y, x);
    net_destroy(full);
    net_destroy(low);
}
END_TEST

/* ---- the pass against the interpreter ---- */

static tutti_status hook_weight(void *ctx, graph *g, tutti_module m, const char *name,
                                uint32_t *ret_id, tutti_desc *ret_desc, bool *ret_trainable)
{
    uint32_t k = 0;
    while (strcmp(res_weights[k].name, name) != 0)
        k++;
    *ret_id = k;
    *ret_desc = res_weights[k].desc;
    *ret_trainable = res_weights[k].flags != 0;
    return TUTTI_OK;
}

/* Gradients of every weight and of the input under a random output gradient, in f64. */
static void gradients(graph *g, tutti_value y, double *ret, int64_t capacity)
{
    tutti_error err = TUTTI_ERROR_INIT;
    interpreter *it;
    tutti_value wrt[16] = {0}, d[16] = {0};
    uint32_t n = 0;
    for (tutti_value v = 1; v < graph_nvalues(g); v++)
        if (graph_value_at(g, v)->kind == VALUE_INPUT ||
            graph_value_at(g, v)->kind == VALUE_WEIGHT)
            wrt[n++] = v;
    const tutti_desc dy = graph_value_at(g, y)->desc;
    const tutti_value dout = graph_input(g, &dy);
    graph_set_segment(g, 1);
    ck_assert_ok(graph_gradient(g, &y, &dout, 1, wrt, n, d), err);
    ck_assert_ok(graph_error(g, &err), err);
    ck_assert_ok(interpreter_create(g, &it, &err), err);
    for (tutti_value v = 1; v < graph_nvalues(g); v++)
        if (graph_value_at(g, v)->kind == VALUE_INPUT ||
            graph_value_at(g, v)->kind == VALUE_WEIGHT)
            for (int64_t k = 0; k < tutti_numel(&graph_value_at(g, v)->desc); k++)
                interpreter_value(it, v)[k] =
                    sin(0.7 * (double)k +
                        (double)(graph_value_at(g, v)->kind + 5 * graph_value_at(g, v)->index));
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(g), &toy_step, &err), err);
    int64_t at = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!d[k])
            continue;
        const tutti_desc *x = &graph_value_at(g, wrt[k])->desc;
        ck_assert_int_eq(graph_value_at(g, d[k])->desc.dtype, x->dtype);
        for (int64_t j = 0; j < tutti_numel(x) && at < capacity; j++)
            ret[at++] = interpreter_value(it, d[k])[j];
    }
    ck_assert_int_gt(at, 100);
    interpreter_destroy(it);
}

/* Bit 0: which dtype; bit 1: products read nothing else. */
START_TEST(the_pass_changes_no_number_in_f64)
{
    enum { ROOM = 4000 };
    static double want[ROOM], got[ROOM];
    tutti_error err = TUTTI_ERROR_INIT;
    const graph_hooks hooks = {.weight = hook_weight};
    graph *from = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, &hooks);
    graph *to = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    const tutti_value x = graph_input(from, &images);
    const tutti_value y = res_trace(graph_builder(from), 1, &x);
    ck_assert_ok(graph_error(from, &err), err);
    tutti_value map[64];
    ck_assert_uint_lt(graph_nvalues(from), 64);
    const graph_autocast low = {lows[_i & 1], _i & 2};
    ck_assert_ok(autocast_graph(from, &low, to, map, &err), err);
    ck_assert_uint_eq(graph_nassigns(to), graph_nassigns(from));
    ck_assert_int_eq(graph_value_at(to, map[y])->desc.dtype, lows[_i & 1]);
    const tutti_value z = graph_cast(to, map[y], TUTTI_F32);
    gradients(from, y, want, ROOM);
    gradients(to, z, got, ROOM);
    for (int k = 0; k < ROOM; k++)
        ck_assert_close(got[k], want[k], 1e-12);
    graph_destroy(from);
    graph_destroy(to);
}
END_TEST

/* ---- the rules ---- */

static int32_t dtype_of(graph *g, tutti_value v)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(graph_error(g, &err), err);
    return graph_value_at(g, v)->desc.dtype;
}

START_TEST(operations_give_what_autocast_gives)
{
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const graph_autocast low = {lows[_i], false};
    graph_set_autocast(g, &low);
    const tutti_desc d = {{8, 8}, 2, TUTTI_F32}, one = {{0}, 0, TUTTI_F32};
    const tutti_value x = graph_input(g, &d), s = graph_input(g, &one);
    const tutti_value p = tutti_matmul(b, x, x, 0, 0, 0);
    const tutti_attr last = tutti_attr_i("axis", 1);
    ck_assert_int_eq(dtype_of(g, p), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_relu(b, p)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_op1(b, "gelu", p)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_add(b, p, p)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_mul(b, p, s)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_affine(b, p, 2.0, 0.0)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_permute(b, p, (const int64_t[]){1, 0}, 2)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_reshape(b, p, (const int64_t[]){64}, 1)), lows[_i]);
    ck_assert_int_eq(dtype_of(g, tutti_add(b, p, x)), TUTTI_F32);
    ck_assert_int_eq(dtype_of(g, tutti_reduce(b, "sum", p, NULL, 0, 0)), TUTTI_F32);
    ck_assert_int_eq(dtype_of(g, tutti_reduce(b, "mean", p, NULL, 0, 0)), TUTTI_F32);
    ck_assert_int_eq(dtype_of(g, b->emit(b, "softmax", &p, 1, &last, 1, NULL, 0)), TUTTI_F32);
    ck_assert_int_eq(dtype_of(g, tutti_op1(b, "exp", p)), TUTTI_F32);
    ck_assert_int_eq(dtype_of(g, tutti_op1(b, "log", p)), TUTTI_F32);
    graph_destroy(g);
}
END_TEST

/* The inputs are there anyway; a computed f32 is stored in 16 bits once for all its readers. */
START_TEST(only_what_is_computed_is_cast)
{
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const graph_autocast low = {TUTTI_BF16, _i != 0};
    graph_set_autocast(g, &low);
    const tutti_desc d = {{8, 8}, 2, TUTTI_F32};
    const tutti_value x = graph_input(g, &d), w = graph_input(g, &d);
    const tutti_value e = tutti_op1(b, "exp", x);
    (void)tutti_matmul(b, e, w, 0, 0, 0);
    (void)tutti_matmul(b, e, w, 0, 0, 1);
    (void)dtype_of(g, e);
    uint32_t casts = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++)
        casts += strcmp(graph_node_at(g, k)->op->name, "cast") == 0;
    ck_assert_uint_eq(casts, _i ? 2 : 1);
    graph_destroy(g);
}
END_TEST

/* A product's gradient reads dy as it is and as rows: it is rounded once. */
START_TEST(views_of_what_is_cast_are_views_of_the_cast)
{
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const graph_autocast low = {TUTTI_BF16, true};
    graph_set_autocast(g, &low);
    const tutti_desc d = {{2, 4, 8}, 3, TUTTI_F32}, square = {{8, 8}, 2, TUTTI_F32};
    const tutti_value x = graph_input(g, &d), w = graph_input(g, &square);
    const tutti_value rows = tutti_reshape(b, x, (const int64_t[]){8, 8}, 2);
    const tutti_value again = tutti_reshape(b, rows, (const int64_t[]){4, 16}, 2);
    (void)tutti_matmul(b, x, w, 0, 0, 1);
    (void)tutti_matmul(b, rows, w, 0, 1, 0);
    const tutti_value c = graph_cast(g, again, TUTTI_BF16);
    (void)graph_cast(g, again, TUTTI_F16);
    ck_assert_int_eq(dtype_of(g, c), TUTTI_BF16);
    ck_assert_int_eq(graph_value_at(g, c)->desc.dim[1], 16);
    uint32_t casts = 0;
    for (uint32_t k = 0; k < graph_nnodes(g); k++) {
        const graph_node *n = graph_node_at(g, k);
        casts += strcmp(n->op->name, "cast") == 0;
        if (strcmp(n->op->name, "cast") == 0 && dtype_of(g, n->out) == TUTTI_BF16)
            ck_assert(n->in[0] == x || n->in[0] == w);
    }
    ck_assert_uint_eq(casts, 3); /* of x and w, and one of another dtype */
    graph_destroy(g);
}
END_TEST

START_TEST(a_product_that_is_read_in_f32_is_not_rounded)
{
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const graph_autocast low = {TUTTI_BF16, false};
    graph_set_autocast(g, &low);
    const tutti_desc d = {{8, 8}, 2, TUTTI_F32};
    const tutti_value x = graph_input(g, &d);
    const tutti_value p = tutti_matmul(b, x, x, 0, 0, 0), f = graph_cast(g, p, TUTTI_F32);
    ck_assert_uint_eq(f, p);
    ck_assert_int_eq(dtype_of(g, f), TUTTI_F32);
    ck_assert_uint_eq(tutti_matmul(b, x, x, 0, 0, 0), p);
    const tutti_value q = tutti_matmul(b, x, x, 0, 1, 0);
    (void)tutti_relu(b, q);
    const tutti_value h = graph_cast(g, q, TUTTI_F32);
    ck_assert_str_eq(graph_node_at(g, graph_value_at(g, h)->index)->op->name, "cast");
    graph_destroy(g);
}
END_TEST

/* ---- programs ---- */

static const int64_t sizes[] = {0, 1, 15, 4096, 4097, 70001};

/* x (f32) -> y = relu(2 low(x) + 1/8), z = y low(x) in f32, and u = low(x) * (maximum of its column),
 * which is none for a group. */
START_TEST(groups_and_kernels_read_and_write_16_bits)
{
    const int which = _i / 6;
    tutti_error err = TUTTI_ERROR_INIT;
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const int64_t n = sizes[_i % 6], axis = 0;
    const tutti_desc d = {{n, 2}, 2, TUTTI_F32};
    const tutti_value x = graph_input(g, &d), c = graph_cast(g, x, lows[which]);
    tutti_value kept[4] = {tutti_affine(b, c, 2.0, 0.125), 0, 0, c};
    kept[0] = tutti_relu(b, kept[0]);
    kept[1] = graph_cast(g, tutti_mul(b, kept[0], c), TUTTI_F32);
    kept[2] = tutti_mul(b, c, tutti_reduce(b, n ? "max_reduce" : "sum", c, &axis, 1, 1));
    ck_assert_ok(graph_error(g, &err), err);
    const program_spec spec = {.g = g, .keep = kept, .nkeep = 4, .nexternal = 1, .threads = 3};
    program *p;
    interpreter *it;
    ck_assert_ok(program_create(&spec, &p, &err), err);
    ck_assert_ok(interpreter_create(g, &it, &err), err);
    float *data = host_memory_alloc(tutti_nbytes(&d));
    void *arena = host_memory_alloc(program_bytes(p));
    const tutti_tensor t = {data, d, TUTTI_DEVICE_CPU, 0};
    toy_fill(t, 3);
    interpreter_load(it, x, &t);
    program_set_arena(p, arena);
    program_set_external(p, 0, data);
    for (int segment = 0; segment < 2; segment++)
        ck_assert_ok(program_run(p, segment, &toy_step, &err), err);
    ck_assert_ok(interpreter_run(it, 0, graph_nnodes(g), &toy_step, &err), err);
    for (int k = 0; k < 4; k++) {
        const tutti_tensor got = {program_address(p, kept[k]), graph_value_at(g, kept[k])->desc,
                                  TUTTI_DEVICE_CPU, 0};
        ck_assert_int_eq(got.desc.dtype, k == 1 || (k == 2 && !n) ? TUTTI_F32 : lows[which]);
        for (int64_t j = 0; j < tutti_numel(&got.desc);
             j++) { /* 3: of x, of y, of the result */
            const double want = interpreter_value(it, kept[k])[j];
            ck_assert_close(tensor_get(&got, j), want,
                            3.0 * rounding[which] * fmax(1.0, fabs(want)));
        }
    }
    interpreter_destroy(it);
    program_destroy(p);
    graph_destroy(g);
    free(data);
    free(arena);
}
END_TEST

/* A sum with its own rounding error taken out and put back is exact: casts round within groups too. */
START_TEST(casts_round_within_a_group)
{
    tutti_error err = TUTTI_ERROR_INIT;
    graph *g = graph_create(tutti_op_table, TUTTI_MODE_TRAIN, NULL);
    tutti_graph *b = graph_builder(g);
    const tutti_desc d = {{5000}, 1, TUTTI_F32};
    const tutti_value x = graph_input(g, &d);
    const tutti_value high = graph_cast(g, graph_cast(g, x, lows[_i]), TUTTI_F32);
    const tutti_value low = tutti_sub(b, x, high);
    ck_assert_ok(graph_error(g, &err), err);
    const program_spec spec = {.g = g, .keep = &low, .nkeep = 1, .nexternal = 1, .threads = 2};
    program *p;
    ck_assert_ok(program_create(&spec, &p, &err), err);
    ck_assert_uint_eq(program_nsteps(p), 1);
    float *data = host_memory_alloc(tutti_nbytes(&d));
    void *arena = host_memory_alloc(program_bytes(p));
    const tutti_tensor t = {data, d, TUTTI_DEVICE_CPU, 0};
    toy_fill(t, 3);
    program_set_arena(p, arena);
    program_set_external(p, 0, data);
    for (int segment = 0; segment < 2; segment++)
        ck_assert_ok(program_run(p, segment, &toy_step, &err), err);
    const float *got = program_address(p, low);
    for (int64_t k = 0; k < d.dim[0]; k++) {
        uint16_t bits;
        const tutti_tensor one = {&bits, {{1}, 1, lows[_i]}, TUTTI_DEVICE_CPU, 0};
        tensor_set(&one, 0, (double)data[k]);
        ck_assert((double)got[k] == (double)data[k] - tensor_get(&one, 0));
    }
    program_destroy(p);
    graph_destroy(g);
    free(data);
    free(arena);
}
END_TEST

/* The kernel of `cast` against the definition, over all exponents, both signs, ties, NaN, infinity. */
START_TEST(casts_round_to_the_nearest_and_ties_to_even)
{
    enum { N = 1 << 16 };
    static float x[N], back[N];
    static uint16_t got[N], want[N];
    const tutti_op *const *op = tutti_op_table;
    while (strcmp((*op)->name, "cast") != 0)
        op++;
    for (uint32_t k = 0; k < N;
         k++) { /* 16 high bits: all; low bits: ties and their neighbours */
        const uint32_t low[] = {0, 0x8000, 0x7FFF, 0x8001, 0x1000, 0x0FFF, 0x3000, 0xABCD};
        const uint32_t bits = k << 16 | low[k % 8];
        memcpy(&x[k], &bits, sizeof bits);
    }
    const tutti_desc wide = {{N}, 1, TUTTI_F32}, narrow = {{N}, 1, lows[_i]};
    const int64_t attr[2] = {lows[_i], TUTTI_F32};
    const tutti_op_call down = {sizeof down, 1,        1,         2,    &wide,
                                &narrow,     &attr[0], &toy_step, NULL, NULL};
    const tutti_op_call up = {sizeof up, 1,        1,         2,    &narrow,
                              &wide,     &attr[1], &toy_step, NULL, NULL};
    const void *from = x, *low = got;
    void *to = got, *high = back;
    ck_assert_int_eq((*op)->cpu->run(NULL, &down, &from, &to, NULL), TUTTI_OK);
    ck_assert_int_eq((*op)->cpu->run(NULL, &up, &low, &high, NULL), TUTTI_OK);
    const tutti_tensor t = {want, narrow, TUTTI_DEVICE_CPU, 0};
    for (int64_t k = 0; k < N; k++) {
        tensor_set(&t, k, (double)x[k]);
        const tutti_tensor mine = {got, narrow, TUTTI_DEVICE_CPU, 0};
        if (isnan(x[k])) {
            ck_assert(isnan(tensor_get(&mine, k)) && isnan(back[k]));
            continue;
        }
        ck_assert_msg(got[k] == want[k], "%a is %04x, want %04x", (double)x[k], got[k],
                      want[k]);
        ck_assert((double)back[k] == tensor_get(&mine, k));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cast");
    TCase *t = tcase_create("cast");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, training_in_16_bits_is_as_near_as_they_allow, 0, 4);
    tcase_add_test(t, running_statistics_stay_f32);
    tcase_add_test(t, the_loss_scale_saves_small_gradients);
    tcase_add_test(t, sixteen_bits_need_less_memory);
    tcase_add_loop_test(t, the_pass_changes_no_number_in_f64, 0, 4);
    tcase_add_loop_test(t, operations_give_what_autocast_gives, 0, 2);
    tcase_add_loop_test(t, only_what_is_computed_is_cast, 0, 2);
    tcase_add_test(t, views_of_what_is_cast_are_views_of_the_cast);
    tcase_add_test(t, a_product_that_is_read_in_f32_is_not_rounded);
    tcase_add_loop_test(t, groups_and_kernels_read_and_write_16_bits, 0, 12);
    tcase_add_loop_test(t, casts_round_within_a_group, 0, 2);
    tcase_add_loop_test(t, casts_round_to_the_nearest_and_ties_to_even, 0, 2);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
