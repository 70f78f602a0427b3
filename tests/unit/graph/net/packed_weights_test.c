/* packed_weights_test.c - weights that kernels read packed: packed once, again when they change, never while they may at any time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/gemm_microkernel.h"
#include "graph/program/program_internal.h"
#include "op_table.h"
#include "toy_model.h"

/* "minus": y (B, WIDTH) = x - w (WIDTH), of which the kernel adds the packed w, -w. */
enum { B = 3, WIDTH = 8, MOST_OPS = 512, LARGE = 1 << 20 };

typedef struct minus {
    const float *packed;
} minus;

static uint32_t packed,
    wide; /* how often; whether layouts depend on B, or LARGE: and take as many bytes */

static tutti_status minus_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status minus_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                              tutti_value *dx)
{
    static const int64_t rows = 0;
    dx[0] = dy[0];
    if (n->need & 2)
        dx[1] = tutti_op1(g, "neg", tutti_reduce(g, "sum", dy[0], &rows, 1, 0));
    return g->status(g);
}

static tutti_status minus_reference(const tutti_op_call *c, const double *const *in,
                                    double *const *out)
{
    for (int64_t k = 0; k < tutti_numel(&c->out[0]); k++)
        out[0][k] = in[0][k] - in[1][k % WIDTH];
    return TUTTI_OK;
}

static tutti_status minus_prepare(const tutti_op_call *c, void **ret_state,
                                  uint64_t *ret_scratch, tutti_error *err)
{
    *ret_state = calloc(1, sizeof(minus));
    return *ret_state ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "minus: no memory");
}

static tutti_status minus_run(void *state, const tutti_op_call *c, const void *const *in,
                              void *const *out, void *scratch)
{
    const minus *m = state;
    const float *x = in[0], *w = in[1];
    for (int64_t k = 0; k < tutti_numel(&c->out[0]); k++)
        ((float *)out[0])[k] = m->packed ? x[k] + m->packed[k % WIDTH] : x[k] - w[k % WIDTH];
    return TUTTI_OK;
}

static uint64_t minus_bytes(void *state, const tutti_op_call *c, uint32_t k,
                            char layout[TUTTI_PACKED_LAYOUT])
{
    (void)snprintf(layout, TUTTI_PACKED_LAYOUT, "negative %lld",
                   (long long)(wide ? c->in[0].dim[0] : 0));
    return k != 1 ? 0 : wide == LARGE ? LARGE : WIDTH * sizeof(float);
}

static void minus_pack(void *state, const tutti_op_call *c, uint32_t k, const void *in,
                       void *to)
{
    ck_assert_uint_eq(k, 1);
    for (int j = 0; j < WIDTH; j++)
        ((float *)to)[j] = -((const float *)in)[j];
    packed++;
}

static void minus_use(void *state, uint32_t k, const void *of)
{
    ck_assert_uint_eq(k, 1);
    ((minus *)state)->packed = of;
}

static const tutti_kernel minus_cpu = {sizeof(tutti_kernel), 0, minus_prepare, minus_run, free};
static const tutti_packing minus_packing = {.struct_size = sizeof minus_packing,
                                            .bytes = minus_bytes,
                                            .pack = minus_pack,
                                            .use = minus_use};
static const tutti_op op_minus = {.struct_size = sizeof(tutti_op),
                                  .name = "minus",
                                  .nin_min = 2,
                                  .nin_max = 2,
                                  .nout = 1,
                                  .infer = minus_infer,
                                  .vjp = minus_vjp,
                                  .reference = minus_reference,
                                  .cpu = &minus_cpu,
                                  .cpu_packing = &minus_packing};

static const tutti_op *ops[MOST_OPS];

static void fill_ops(void)
{
    size_t n = 0;
    while (tutti_op_table[n])
        n++;
    ck_assert_uint_lt(n + 1, MOST_OPS);
    memcpy((void *)ops, (const void *)tutti_op_table, n * sizeof *ops);
    ops[n] = &op_minus;
    packed = wide = 0;
}

#define WEIGHT(name, rank, rows, columns)                                                      \
    {                                                                                          \
        name, {{rows, columns}, rank, TUTTI_F32}, {.kind = TUTTI_INIT_NORMAL, .b = 0.5},       \
            TUTTI_WEIGHT_TRAINABLE                                                             \
    }

static const toy_weight weights[] = {WEIGHT("w", 1, WIDTH, 0), {.name = NULL}};

static tutti_value trace(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value in[2] = {x[0], g->weight(g, m, "w")};
    return g->emit(g, "minus", in, 2, NULL, 0, NULL, 0);
}

static net *minus_net(toy_model *m)
{
    *m = (toy_model){.weights = weights, .trace = trace, .loss = tutti_softmax_cross_entropy};
    fill_ops();
    return toy_net(ops, m);
}

static plan *plan_of(net *n, int kind, int64_t rows)
{
    return toy_plan(n, kind, toy_desc(TUTTI_F32, 2, rows, WIDTH, 0, 0),
                    toy_desc(TUTTI_I32, 1, rows, 0, 0, 0));
}

/* Runs a plan, and whether its outputs are what the weights make `by` times as large would give. */
static bool gives(plan *p, float by)
{
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    const tutti_tensor x = plan_input(p, 0), y = plan_output(p, 0);
    const float *w = net_weight(p->n, 0)->data.data;
    bool same = true;
    for (int64_t k = 0; k < tutti_numel(&y.desc); k++)
        same = same && ((float *)y.data)[k] == ((float *)x.data)[k] - by * w[k % WIDTH];
    return same;
}

static void double_weights(net *n)
{
    float *w, *g;
    int64_t count;
    net_arena(n, &w, &g, &count);
    for (int64_t k = 0; k < count; k++)
        w[k] *= 2.0f;
}

static uint32_t kept(const net *n)
{
    uint32_t count;
    const uint64_t bytes = net_count_packed(n, &count);
    ck_assert_uint_eq(bytes, count * WIDTH * sizeof(float));
    return count;
}

START_TEST(a_weight_is_packed_once_for_all_plans_until_it_changes)
{
    toy_model m;
    net *n = minus_net(&m);
    for (int round = 0; round < 3; round++)
        ck_assert(gives(plan_of(n, PLAN_EVAL, B), 1.0f) &&
                  gives(plan_of(n, PLAN_EVAL, B + 1), 1.0f));
    ck_assert_uint_eq(packed, 1);
    ck_assert_uint_eq(kept(n), 1);
    double_weights(n);
    ck_assert(gives(plan_of(n, PLAN_EVAL, B), 0.5f)); /* nobody has told */
    net_touch_trained(n);
    ck_assert(gives(plan_of(n, PLAN_EVAL, B), 1.0f));
    ck_assert(gives(plan_of(n, PLAN_EVAL, B + 1), 1.0f));
    ck_assert_uint_eq(packed, 2);
    net_touch_weights(n);
    ck_assert(gives(plan_of(n, PLAN_EVAL, B + 1), 1.0f));
    ck_assert_uint_eq(packed, 3);
    net_destroy(n);
}
END_TEST

START_TEST(each_layout_of_a_weight_is_packed)
{
    toy_model m;
    net *n = minus_net(&m);
    wide = 1;
    for (int round = 0; round < 2; round++)
        for (int64_t rows = 1; rows < 4; rows++)
            ck_assert(gives(plan_of(n, PLAN_EVAL, rows), 1.0f));
    ck_assert_uint_eq(packed, 3);
    ck_assert_uint_eq(kept(n), 3);
    net_drop_plans(n);
    ck_assert_uint_eq(kept(n), 0);
    net_destroy(n);
}
END_TEST

START_TEST(plans_that_train_read_weights_as_they_lie)
{
    toy_model m;
    net *n = minus_net(&m);
    for (int round = 0; round < 3; round++) {
        ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 1.0f));
        double_weights(n); /* as an update would, but for telling */
    }
    ck_assert_uint_eq(packed, 0);
    ck_assert_uint_eq(kept(n), 0);
    net_destroy(n);
}
END_TEST

/* As for the microbatches of a batch. */
START_TEST(plans_that_train_several_times_between_changes_keep_weights)
{
    toy_model m;
    net *n = minus_net(&m);
    net_repeat_training(n, true);
    for (int round = 0; round < 3; round++)
        ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 1.0f) &&
                  gives(plan_of(n, PLAN_EVAL, B), 1.0f));
    ck_assert_uint_eq(packed, 1);
    ck_assert_uint_eq(kept(n), 1);
    double_weights(n);
    ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 0.5f)); /* nobody has told */
    net_touch_trained(n);
    ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 1.0f));
    ck_assert_uint_eq(packed, 2);
    net_expose_weights(n);
    double_weights(n);
    ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 1.0f));
    ck_assert_uint_eq(packed, 2);
    net_destroy(n);
}
END_TEST

START_TEST(frozen_weights_stay_packed_while_others_are_trained)
{
    toy_model m;
    net *n = minus_net(&m);
    tutti_error err = TUTTI_ERROR_INIT;
    net_freeze(n, 0);
    ck_assert_ok(net_commit(n, &err), err);
    for (int round = 0; round < 3; round++) {
        ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 1.0f));
        net_touch_trained(n);
    }
    ck_assert_uint_eq(packed, 1);
    for (int k = 0; k < WIDTH; k++)
        ((float *)net_weight(n, 0)->data.data)[k] = (float)k;
    net_touch_weights(n);
    ck_assert(gives(plan_of(n, PLAN_TRAIN, B), 1.0f));
    ck_assert_uint_eq(packed, 2);
    net_destroy(n);
}
END_TEST

START_TEST(weights_that_may_change_at_any_time_are_read_as_they_lie_until_a_commit)
{
    toy_model m;
    net *n = minus_net(&m);
    tutti_error err = TUTTI_ERROR_INIT;
    plan *p = plan_of(n, PLAN_EVAL, B);
    ck_assert(gives(p, 1.0f));
    net_expose_weights(n);
    for (int round = 0; round < 3; round++) {
        double_weights(n);
        ck_assert(gives(p, 1.0f));
    }
    ck_assert_uint_eq(packed, 1);
    n->tree.changed = true;
    ck_assert_ok(net_commit(n, &err), err);
    for (int round = 0; round < 3; round++)
        ck_assert(gives(plan_of(n, PLAN_EVAL, B), 1.0f));
    ck_assert_uint_eq(packed, 2);
    net_destroy(n);
}
END_TEST

/* Row: 0 set_weight, 1 weight_data of tutti.module/1. */
START_TEST(what_plugins_write_by_the_module_service_is_seen)
{
    toy_model m;
    net *n = minus_net(&m);
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_module_v1 *s = net_modules(n);
    const tutti_module root = s->root(s->ctx);
    float values[WIDTH] = {3.0f, 1.0f, 4.0f, 1.0f, 5.0f, 9.0f, 2.0f, 6.0f};
    tutti_tensor view = {NULL, {{0}, 0, 0}, 0, 0};
    plan *p = plan_of(n, PLAN_EVAL, B);
    ck_assert(gives(p, 1.0f));
    if (_i) {
        ck_assert_ok(s->weight_data(s->ctx, root, "w", &view, &err), err);
        ck_assert(gives(p, 1.0f));
        memcpy(view.data, values, sizeof values);
    } else {
        ck_assert_ok(s->set_weight(s->ctx, root, "w", values, sizeof values, &err), err);
    }
    ck_assert(gives(p, 1.0f));
    ck_assert_mem_eq(net_weight(n, 0)->data.data, values, sizeof values);
    ck_assert_uint_eq(packed, _i ? 1 : 2);
    net_destroy(n);
}
END_TEST

START_TEST(without_memory_for_copies_weights_are_read_as_they_lie)
{
    toy_model m;
    net *n = minus_net(&m);
    uint32_t count;
    net_set_memory_limit(n, 5 * LARGE); /* a quarter is for one of them */
    wide = LARGE;
    for (int64_t rows = 1; rows < 4; rows++)
        ck_assert(gives(plan_of(n, PLAN_EVAL, rows), 1.0f));
    ck_assert_uint_eq(net_count_packed(n, &count), LARGE);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(packed, 1);
    double_weights(n);
    net_touch_trained(n);
    ck_assert(gives(plan_of(n, PLAN_EVAL, 2), 1.0f) && gives(plan_of(n, PLAN_EVAL, 1), 1.0f));
    ck_assert_uint_eq(packed, 2);
    net_destroy(n);
}
END_TEST

/* ---- products in bf16 ---- */

enum { IN = 768, OUT = 520 };

static const toy_weight matrices[] = {
    WEIGHT("w0", 2, OUT, IN), WEIGHT("w1", 2, OUT, IN), {.name = NULL}};

/* One is read along K, one across. */
static tutti_value products(tutti_graph *g, tutti_module m, const tutti_value *x)
{
    const tutti_value h = tutti_matmul(g, x[0], g->weight(g, m, "w0"), 0, 0, 1);
    return tutti_matmul(g, tutti_relu(g, h), g->weight(g, m, "w1"), 0, 0, 0);
}

static const int64_t rows_of[] = {1, 2, 5, 17, 64, 200, 256, 257};

/* Row: rows of x.  Above 256 rows each run packs. */
START_TEST(products_of_packed_weights_have_the_same_bits)
{
    const int64_t rows = rows_of[_i];
    if (!gemm_microkernel_at(TUTTI_BF16, 0)) {
        tutti_skip("this CPU has no units for products of bf16");
        return;
    }
    toy_model m = {.weights = matrices, .trace = products, .loss = tutti_softmax_cross_entropy};
    net *n = toy_net(tutti_op_table, &m);
    uint32_t count;
    n->options.precision = NET_AMP_BF16;
    net_drop_plans(n);
    plan *p = toy_plan(n, PLAN_EVAL, toy_desc(TUTTI_F32, 2, rows, IN, 0, 0),
                       toy_desc(TUTTI_I32, 1, rows, 0, 0, 0));
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    const tutti_tensor y = plan_output(p, 0);
    const uint64_t bytes = tutti_nbytes(&y.desc);
    void *once = malloc(bytes);
    ck_assert_ptr_nonnull(once);
    memcpy(once, y.data, bytes);
    (void)net_count_packed(n, &count);
    ck_assert_uint_eq(count, rows <= 256 ? 2 : 0);
    net_expose_weights(n);
    memset(y.data, 0, bytes);
    toy_run(p, 1.0f);
    ck_assert_mem_eq(once, plan_output(p, 0).data, bytes);
    free(once);
    net_destroy(n);
}
END_TEST

/* Row: rows of x.  The forward pass reads both weights, the backward pass one of them, in another layout. */
START_TEST(gradients_of_packed_weights_have_the_same_bits)
{
    const int64_t rows = rows_of[_i];
    if (!gemm_microkernel_at(TUTTI_BF16, 0)) {
        tutti_skip("this CPU has no units for products of bf16");
        return;
    }
    toy_model m = {.weights = matrices, .trace = products, .loss = tutti_softmax_cross_entropy};
    net *n = toy_net(tutti_op_table, &m);
    float *w, *gradients;
    int64_t numbers;
    uint32_t count;
    n->options.precision = NET_AMP_BF16;
    net_drop_plans(n);
    net_repeat_training(n, true);
    plan *p = toy_plan(n, PLAN_TRAIN, toy_desc(TUTTI_F32, 2, rows, IN, 0, 0),
                       toy_desc(TUTTI_I32, 1, rows, 0, 0, 0));
    toy_fill(plan_input(p, 0), 1);
    toy_fill(plan_target(p, 0), 2);
    toy_run(p, 1.0f);
    net_arena(n, &w, &gradients, &numbers);
    const uint64_t bytes = (uint64_t)numbers * sizeof(float);
    float *once = malloc(bytes);
    ck_assert_ptr_nonnull(once);
    memcpy(once, gradients, bytes);
    (void)net_count_packed(n, &count);
    ck_assert_uint_eq(count, rows <= 256 ? 3 : 0);
    for (int again = 0; again < 2; again++) { /* packed before, then as they lie */
        memset(gradients, 0, bytes);
        toy_run(p, 1.0f);
        ck_assert_mem_eq(once, gradients, bytes);
        net_expose_weights(n);
    }
    free(once);
    net_destroy(n);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("packed_weights");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_weight_is_packed_once_for_all_plans_until_it_changes);
    tcase_add_test(tc, each_layout_of_a_weight_is_packed);
    tcase_add_test(tc, plans_that_train_read_weights_as_they_lie);
    tcase_add_test(tc, plans_that_train_several_times_between_changes_keep_weights);
    tcase_add_test(tc, frozen_weights_stay_packed_while_others_are_trained);
    tcase_add_test(tc, weights_that_may_change_at_any_time_are_read_as_they_lie_until_a_commit);
    tcase_add_loop_test(tc, what_plugins_write_by_the_module_service_is_seen, 0, 2);
    tcase_add_test(tc, without_memory_for_copies_weights_are_read_as_they_lie);
    tcase_add_loop_test(tc, products_of_packed_weights_have_the_same_bits, 0,
                        (int)(sizeof rows_of / sizeof *rows_of));
    tcase_add_loop_test(tc, gradients_of_packed_weights_have_the_same_bits, 0,
                        (int)(sizeof rows_of / sizeof *rows_of));
    return tutti_run(suite);
}
