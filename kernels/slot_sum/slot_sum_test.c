/* slot_sum_test.c - slot_sum, and batch norm across slots against the definition over the whole batch. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "batch_norm/batch_norm.h"

#include "common/op_refusal.h"

#include <stdbool.h>
#include <string.h>

/* A batch of ROWS rows in slots of uneven size. */
enum { ROWS = 2500, C = 19, N = ROWS * C, SLOTS = 3, TOTALS = 2 * C + 1 };
static const int64_t slot_first[SLOTS + 1] = {0, 1200, 2400, ROWS};

static const char *const ops[] = {"slot_sum", "batch_norm_totals", "batch_norm_across",
                                  "batch_norm_across_totals", "batch_norm_across_grad"};
enum { SLOT_SUM, SUMS, ACROSS, GRAD_SUMS, GRAD };

static const tutti_op *find(const char *name)
{
    for (const tutti_op *const *op = tutti_op_table; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
}

/* In 16 bits too: x, the residual, dy and what is made of them. */
static const int32_t dtypes[] = {TUTTI_F32, TUTTI_BF16, TUTTI_F16};
enum { DTYPES = 3 };
static int32_t dtype; /* of the test */

static float xs[N], more[N], dys[N], gammas[C], betas[C], running[2][C];
static double wide_x[N], wide_more[N], wide_dy[N], wide_gamma[C], wide_beta[C], wide_run[2][C];

/* As the test's dtype has it. */
static float rounded(float v)
{
    return dtype == TUTTI_BF16  ? half_from_bf16(half_to_bf16(v))
           : dtype == TUTTI_F16 ? half_from_f16(half_to_f16(v))
                                : v;
}

/* Rows of later slots lie higher, so that no slot has the batch's statistics. */
static void fill(int which)
{
    dtype = dtypes[which];
    for (int k = 0; k < N; k++) {
        wide_x[k] = xs[k] = rounded((float)((k * 7919) % 1009) * 0.01f + (float)(k / C / 1000));
        wide_more[k] = more[k] = rounded((float)((k * 1237) % 1013) * 0.01f - 5.0f);
        wide_dy[k] = dys[k] = rounded((float)((k * 331) % 997) * 0.002f - 0.7f);
    }
    for (int k = 0; k < C; k++) {
        wide_gamma[k] = gammas[k] = k % 3 ? 0.7f : -1.3f;
        wide_beta[k] = betas[k] = 0.1f * (float)(k % 5);
        wide_run[0][k] = running[0][k] = (float)k;
        wide_run[1][k] = running[1][k] = 1.0f + (float)k;
    }
}

/* ---- one operation ---- */

/* Between numbers as the test has them, F32 for F32 and what is narrower, and as an operation does. */
static void convert(const tutti_desc *d, void *to, const void *from, bool stores)
{
    if (d->dtype == TUTTI_F32 || d->dtype == TUTTI_F64) {
        memcpy(to, from, tutti_nbytes(d));
        return;
    }
    const bool bf16 = d->dtype == TUTTI_BF16;
    for (int64_t k = 0; k < tutti_numel(d); k++) {
        if (stores) {
            const float v = ((const float *)from)[k];
            ((uint16_t *)to)[k] = bf16 ? half_to_bf16(v) : half_to_f16(v);
        } else {
            const uint16_t v = ((const uint16_t *)from)[k];
            ((float *)to)[k] = bf16 ? half_from_bf16(v) : half_from_f16(v);
        }
    }
}

static void *take(const tutti_device *d, uint64_t bytes)
{
    void *memory = NULL;
    if (d)
        ck_assert_int_eq(d->table->alloc(d->device, bytes, &memory, NULL), TUTTI_OK);
    else
        memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

static void give(const tutti_device *d, void *memory)
{
    if (d)
        d->table->release(d->device, memory);
    else
        free(memory);
}

static void copy(const tutti_device *d, void *to, const void *from, uint64_t bytes, int32_t how)
{
    if (d)
        ck_assert_int_eq(d->table->copy(d->device, NULL, to, from, bytes, how, NULL), TUTTI_OK);
    else
        memcpy(to, from, bytes);
}

/* An operand where the kernel reads it. */
static void *put(const tutti_device *d, const tutti_desc *desc, const void *from)
{
    void *host = take(NULL, tutti_nbytes(desc)), *memory = take(d, tutti_nbytes(desc));
    convert(desc, host, from, true);
    copy(d, memory, host, tutti_nbytes(desc), TUTTI_COPY_TO_DEVICE);
    give(NULL, host);
    return memory;
}

static void get(const tutti_device *d, const tutti_desc *desc, const void *memory, void *to)
{
    void *host = take(NULL, tutti_nbytes(desc));
    copy(d, host, memory, tutti_nbytes(desc), TUTTI_COPY_FROM_DEVICE);
    convert(desc, to, host, false);
    give(NULL, host);
}

static void run_kernel(const tutti_device *d, const tutti_op *op, const tutti_kernel *kernel,
                       tutti_op_call *c, const void *const *in, void *const *out)
{
    static const tutti_step step = {.struct_size = sizeof step};
    tutti_error err = TUTTI_ERROR_INIT;
    uint64_t bytes = 0;
    void *state = NULL;
    c->step = &step;
    if (kernel->prepare)
        ck_assert_msg(kernel->prepare(c, &state, &bytes, &err) == TUTTI_OK, "%s", err.text);
    void *scratch = take(d, bytes);
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = op->name,
                            .run = kernel->run,
                            .state = state,
                            .call = c,
                            .in = in,
                            .out = out,
                            .scratch = scratch};
    if (d) {
        ck_assert_msg(!d->table->launch(d->device, NULL, &l, &err) &&
                          !d->table->synchronise(d->device, NULL, &err),
                      "%s: %s", op->name, err.text);
    } else {
        memset(scratch, 0xFF, bytes);
        ck_assert_int_eq(kernel->run(state, c, in, out, scratch), TUTTI_OK);
    }
    give(d, scratch);
    if (kernel->destroy)
        kernel->destroy(state);
}

static const tutti_device *device(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_device *d = op_check_device ? op_check_device(&err) : NULL;
    ck_assert_msg(!op_check_device || d, "%s", err.text);
    return d;
}

static void run_op(const char *name, uint32_t nin, const tutti_desc *in,
                   const void *const *from, const void *attr, void *const *to)
{
    const tutti_device *d = device();
    const tutti_op *op = find(name);
    tutti_desc out[TUTTI_OP_MAX_OUT], wide[8];
    tutti_op_call c = {sizeof c, nin, op->nout, 2, wide, NULL, attr, NULL, NULL, NULL};
    tutti_error err = TUTTI_ERROR_INIT;
    const void *read[8];
    void *written[TUTTI_OP_MAX_OUT];
    for (uint32_t k = 0; k < nin; k++) { /* shapes are checked as if all were F32 */
        wide[k] = in[k];
        wide[k].dtype = in[k].dtype == TUTTI_F64 ? TUTTI_F64 : TUTTI_F32;
    }
    ck_assert_msg(op->infer(&c, out, &err) == TUTTI_OK, "%s", err.text);
    c.in = in;
    c.out = out;
    c.cuda = d ? d->table->cuda(d->device) : NULL;
    for (uint32_t k = 0; k < nin; k++)
        read[k] = put(d, &in[k], from[k]);
    for (uint32_t k = 0; k < op->nout; k++) {
        out[k].dtype = out[k].rank == 2 ? dtype : out[k].dtype;
        written[k] = take(d, tutti_nbytes(&out[k]));
    }
    run_kernel(d, op, d ? op->cuda : op->cpu, &c, read, written);
    for (uint32_t k = 0; k < op->nout; k++) {
        get(d, &out[k], written[k], to[k]);
        give(d, written[k]);
    }
    for (uint32_t k = 0; k < nin; k++)
        give(d, (void *)(uintptr_t)read[k]);
}

static tutti_desc rows_of(int64_t rows)
{
    return (tutti_desc){{rows, C}, 2, dtype};
}

static const tutti_desc channels = DESC(F32, 1, C), totals_desc = DESC(F64, 1, TOTALS);

static void add_totals(double *to, const double *from)
{
    for (int k = 0; k < TOTALS; k++)
        to[k] += from[k];
}

/* The forward pass over slots [0, slots) of `first`. */
static void forward(const int64_t *first, int slots, const batch_norm_attr *attr, bool residual,
                    float *y, float stat[4][C])
{
    double totals[TOTALS] = {0}, own[TOTALS], same[TOTALS];
    void *to_totals[1] = {own}, *to_same[1] = {same};
    for (int k = 0; k < slots; k++) {
        const tutti_desc x = rows_of(first[k + 1] - first[k]);
        const void *from[1] = {xs + first[k] * C};
        run_op(ops[SUMS], 1, &x, from, NULL, to_totals);
        run_op(ops[SLOT_SUM], 1, &totals_desc, (const void *const *)to_totals, NULL, to_same);
        ck_assert_mem_eq(own, same, sizeof own);
        add_totals(totals, own);
    }
    for (int k = 0; k < slots; k++) {
        const tutti_desc x = rows_of(first[k + 1] - first[k]);
        const tutti_desc in[7] = {x, channels, channels, channels, channels, totals_desc, x};
        const int64_t at = first[k] * C;
        const void *from[7] = {xs + at,    gammas, betas,    running[0],
                               running[1], totals, more + at};
        void *to[5] = {y + at, stat[0], stat[1], stat[2], stat[3]};
        run_op(ops[ACROSS], residual ? 7 : 6, in, from, attr, to);
    }
}

static void backward(const int64_t *first, int slots, const batch_norm_grad_attr *attr,
                     float stat[4][C], float *dx, double dgamma[C], double dbeta[C])
{
    double totals[TOTALS] = {0}, own[TOTALS];
    float parts[2][C];
    void *to_sums[3] = {own, parts[0], parts[1]};
    memset(dgamma, 0, C * sizeof *dgamma);
    memset(dbeta, 0, C * sizeof *dbeta);
    for (int k = 0; k < slots; k++) {
        const tutti_desc x = rows_of(first[k + 1] - first[k]);
        const tutti_desc in[6] = {x, x, channels, channels, channels, channels};
        const void *from[6] = {
            xs + first[k] * C, dys + first[k] * C, gammas, stat[0], stat[1], betas};
        run_op(ops[GRAD_SUMS], attr->act ? 6 : 5, in, from, attr, to_sums);
        add_totals(totals, own);
        for (int j = 0; j < C; j++) {
            dgamma[j] += (double)parts[0][j];
            dbeta[j] += (double)parts[1][j];
        }
    }
    for (int k = 0; k < slots; k++) {
        const tutti_desc x = rows_of(first[k + 1] - first[k]);
        const tutti_desc in[7] = {x, x, channels, channels, channels, totals_desc, channels};
        const int64_t at = first[k] * C;
        const void *from[7] = {xs + at, dys + at, gammas, stat[0], stat[1], totals, betas};
        void *to[1] = {dx + at};
        run_op(ops[GRAD], attr->act ? 7 : 6, in, from, attr, to);
    }
}

/* Results are rounded to f32, as are scale and mean before; y and dx to the test's dtype.  A device sums more in f32. */
static void close_to(const char *what, const float *got, const double *want, int n)
{
    const double step = n < N                 ? 0.0
                        : dtype == TUTTI_BF16 ? 0x1p-8
                        : dtype == TUTTI_F16  ? 0x1p-11
                                              : 0.0;
    const double own = op_check_device ? 8e-6 : 2e-6;
    for (int k = 0; k < n; k++)
        ck_assert_msg(fabs((double)got[k] - want[k]) <=
                          own * (1.0 + fabs(want[k])) + step * fabs(want[k]),
                      "%s %d: %.9g, want %.9g", what, k, (double)got[k], want[k]);
}

/* Slots give what the f64 reference of batch_norm gives for the batch as one. */
START_TEST(slots_have_the_statistics_of_the_batch)
{
    fill(_i / 4);
    const batch_norm_attr attr = {1e-5, 0.3, _i & 1};
    const bool residual = _i & 2;
    const tutti_desc x = rows_of(ROWS);
    const tutti_desc in[6] = {x, channels, channels, channels, channels, x};
    const tutti_desc out[5] = {x, channels, channels, channels, channels};
    const tutti_op_call c = {sizeof c, residual ? 6 : 5, 5, 1, in, out, &attr, NULL, NULL,
                             NULL};
    const double *from[6] = {wide_x,      wide_gamma,  wide_beta,
                             wide_run[0], wide_run[1], wide_more};
    static float y[N], stat[4][C];
    static double want_y[N], want[4][C];
    double *to[5] = {want_y, want[0], want[1], want[2], want[3]};
    ck_assert_int_eq(tutti_op_batch_norm.reference(&c, from, to), TUTTI_OK);
    forward(slot_first, SLOTS, &attr, residual, y, stat);
    close_to("y", y, want_y, N);
    for (int k = 0; k < 4; k++)
        close_to("statistics", stat[k], want[k], C);
}
END_TEST

START_TEST(gradients_of_slots_are_those_of_the_batch)
{
    fill(_i / 2);
    const batch_norm_attr attr = {1e-5, 0.3, _i & 1};
    const batch_norm_grad_attr grad = {_i & 1};
    const tutti_desc x = rows_of(ROWS);
    const tutti_desc in[6] = {x, x, channels, channels, channels, channels};
    const tutti_desc out[3] = {x, channels, channels};
    const tutti_op_call c = {sizeof c, 5 + (_i & 1), 3, 1, in, out, &grad, NULL, NULL, NULL};
    static float y[N], dx[N], stat[4][C], got[2][C];
    static double wide_stat[2][C], want_dx[N], want[2][C], sums[2][C];
    forward(slot_first, SLOTS, &attr, false, y, stat);
    for (int k = 0; k < 2 * C; k++)
        wide_stat[k / C][k % C] = (double)stat[k / C][k % C];
    const double *from[6] = {wide_x,       wide_dy,      wide_gamma,
                             wide_stat[0], wide_stat[1], wide_beta};
    double *to[3] = {want_dx, want[0], want[1]};
    ck_assert_int_eq(tutti_op_batch_norm_grad.reference(&c, from, to), TUTTI_OK);
    backward(slot_first, SLOTS, &grad, stat, dx, sums[0], sums[1]);
    close_to("dx", dx, want_dx, N);
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < C; j++)
            got[k][j] = (float)sums[k][j];
        close_to("dgamma and dbeta", got[k], want[k], C);
    }
}
END_TEST

/* The bits of the other, on a CPU; a device has sums of x less its first row there. */
static void same(const char *what, const float *got, const float *want, int n)
{
    double wide = 0.0;
    if (!op_check_device)
        ck_assert_mem_eq(got, want, (size_t)n * sizeof *got);
    for (int k = 0; k < n; k++) {
        wide = (double)want[k];
        close_to(what, &got[k], &wide, 1);
    }
}

/* A batch of one slot is that of batch_norm and its gradient. */
START_TEST(one_slot_gives_the_bits_of_batch_norm)
{
    fill(0);
    static const int64_t whole[2] = {0, ROWS};
    const batch_norm_attr attr = {1e-5, 0.3, _i};
    const batch_norm_grad_attr grad = {_i};
    const tutti_desc x = rows_of(ROWS);
    const tutti_desc in[5] = {x, channels, channels, channels, channels};
    const tutti_desc back[6] = {x, x, channels, channels, channels, channels};
    static float y[2][N], dx[2][N], stat[2][4][C], parts[2][C], got[2][C];
    double sums[2][C];
    forward(whole, 1, &attr, false, y[0], stat[0]);
    const void *from[5] = {xs, gammas, betas, running[0], running[1]};
    void *to[5] = {y[1], stat[1][0], stat[1][1], stat[1][2], stat[1][3]};
    run_op("batch_norm", 5, in, from, &attr, to);
    same("y", y[0], y[1], N);
    same("statistics", stat[0][0], stat[1][0], 4 * C);
    backward(whole, 1, &grad, stat[0], dx[0], sums[0], sums[1]);
    const void *from_back[6] = {xs, dys, gammas, stat[0][0], stat[0][1], betas};
    void *to_back[3] = {dx[1], parts[0], parts[1]};
    run_op("batch_norm_grad", _i ? 6 : 5, back, from_back, &grad, to_back);
    same("dx", dx[0], dx[1], N);
    for (int k = 0; k < 2 * C; k++)
        got[k / C][k % C] = (float)sums[k / C][k % C];
    same("dgamma and dbeta", got[0], parts[0], 2 * C);
}
END_TEST

/* x lies at 10000, where squares of f32 know nothing of its variance, 2/3. */
START_TEST(a_mean_far_from_zero_leaves_the_variance_alone)
{
    const tutti_desc x = DESC(F32, 2, 3, 1), one = DESC(F32, 1, 1), sums = DESC(F64, 1, 3);
    const tutti_desc in[6] = {x, one, one, one, one, sums};
    const batch_norm_attr attr = {0.0, 0.5, 0};
    const float x3[3] = {9999, 10000, 10001}, gamma = 2, beta = 1, mean = 0, var = 3;
    double totals[3];
    float y[3], stat[4];
    const void *from[6] = {x3, &gamma, &beta, &mean, &var, totals};
    void *to[5] = {y, &stat[0], &stat[1], &stat[2], &stat[3]}, *to_sums[1] = {totals};
    dtype = TUTTI_F32;
    run_op("batch_norm_totals", 1, in, from, NULL, to_sums);
    ck_assert_msg(totals[0] == 30000 && totals[1] == 300000002 && totals[2] == 3,
                  "%.17g, %.17g, %.17g", totals[0], totals[1], totals[2]);
    run_op("batch_norm_across", 6, in, from, &attr, to);
    ck_assert_close(stat[0], 10000, 0.0);
    ck_assert_close(stat[1], sqrt(1.5), 1e-6);
    ck_assert_close(stat[3], 0.5 * 3 + 0.5 * 1.0, 1e-6);
    ck_assert_close(y[0], 1 - 2 * sqrt(1.5), 1e-6);
}
END_TEST

#define X(...) DESC(F32, 2, __VA_ARGS__)
#define ACROSS_FOUR(c) DESC(F32, 1, c), DESC(F32, 1, c), DESC(F32, 1, c), DESC(F32, 1, c)
#define ACT .nattr = 1, .attr = {{.name = "act", .type = TUTTI_ATTR_I64, .i = 1}}
/* Totals are whole numbers, as the rows in them: all are 4. */
#define KNOWN .low = {0, 0, 0, 0, 0.5, 4}, .high = {0, 0, 0, 0, 2, 4}, .no_grad = 127

static const op_case cases[] = {
    {.op = "slot_sum", .nin = 1, .in = {DESC(F64, 1, 39)}, .no_grad = 1},
    {.op = "slot_sum", .nin = 1, .in = {DESC(F64, 1, 1)}, .no_grad = 1},
    {.op = "batch_norm_totals", .nin = 1, .in = {X(1999, 37)}, .no_grad = 1},
    {.op = "batch_norm_totals", .nin = 1, .in = {DESC(F32, 4, 9, 16, 16, 16)}, .no_grad = 1},
    {.op = "batch_norm_totals", .nin = 1, .in = {X(203, 264)}, .no_grad = 1},
    {.op = "batch_norm_totals", .nin = 1, .in = {X(5, 2056)}, .no_grad = 1},
    {.op = "batch_norm_totals", .nin = 1, .in = {X(0, 3)}, .no_grad = 1},
    {.op = "batch_norm_totals", .nin = 1, .in = {X(3, 0)}, .no_grad = 1},
    {.op = "batch_norm_across_totals",
     .nin = 5,
     .in = {X(1999, 37), X(1999, 37), DESC(F32, 1, 37), DESC(F32, 1, 37), DESC(F32, 1, 37)},
     KNOWN},
    {.op = "batch_norm_across_totals",
     .nin = 6,
     .in = {X(203, 264), X(203, 264), ACROSS_FOUR(264)},
     ACT,
     .low = {0, 0, 0, 0, 0.5},
     .high = {0, 0, 0, 0, 2},
     .no_grad = 63},
    {.op = "batch_norm_across_totals",
     .nin = 6,
     .in = {X(1700, 19), X(1700, 19), ACROSS_FOUR(19)},
     ACT,
     .low = {0, 0, 0, 0, 0.5},
     .high = {0, 0, 0, 0, 2},
     .no_grad = 63},
    {.op = "batch_norm_across_totals",
     .nin = 5,
     .in = {X(0, 3), X(0, 3), DESC(F32, 1, 3), DESC(F32, 1, 3), DESC(F32, 1, 3)},
     KNOWN},
    {.op = "batch_norm_across",
     .nin = 6,
     .in = {X(1999, 37), ACROSS_FOUR(37), DESC(F64, 1, 75)},
     KNOWN},
    {.op = "batch_norm_across",
     .nin = 7,
     .in = {X(203, 264), ACROSS_FOUR(264), DESC(F64, 1, 529), X(203, 264)},
     ACT,
     KNOWN},
    {.op = "batch_norm_across",
     .nin = 6,
     .in = {X(0, 3), ACROSS_FOUR(3), DESC(F64, 1, 7)},
     KNOWN},
    {.op = "batch_norm_across_grad",
     .nin = 6,
     .in = {X(1700, 19), X(1700, 19), DESC(F32, 1, 19), DESC(F32, 1, 19), DESC(F32, 1, 19),
            DESC(F64, 1, 39)},
     KNOWN},
    {.op = "batch_norm_across_grad",
     .nin = 7,
     .in = {X(203, 264), X(203, 264), DESC(F32, 1, 264), DESC(F32, 1, 264), DESC(F32, 1, 264),
            DESC(F64, 1, 529), DESC(F32, 1, 264)},
     ACT,
     KNOWN},
};

START_TEST(each_agrees_with_its_reference)
{
    op_case_holds(&cases[_i], _i);
}
END_TEST

#define ROWS2(...) DESC(F32, 2, __VA_ARGS__)
#define FOUR(c) DESC(F32, 1, c), DESC(F32, 1, c), DESC(F32, 1, c), DESC(F32, 1, c)
#define TOTALS_OF(c) DESC(F64, 1, 2 * (c) + 1)

static const struct {
    const char *op;
    op_refusal refusal;
} refusals[] = {
    {"slot_sum", {{DESC(F32, 1, 3)}, 1, NULL, TUTTI_E_ARG, "slot_sum: x is F32 (3), want F64"}},
    {"batch_norm_totals",
     {{DESC(F32, 0, 0)},
      1,
      NULL,
      TUTTI_E_SHAPE,
      "batch_norm_totals: x is F32 (), want rank 1 or more"}},
    {"batch_norm_across",
     {{ROWS2(2, 3), FOUR(3), TOTALS_OF(4)},
      6,
      &(const batch_norm_attr){1e-5, 0.1, 0},
      TUTTI_E_SHAPE,
      "batch_norm_across: totals is F64 (9), want F64 (7)"}},
    {"batch_norm_across_totals",
     {{ROWS2(2, 3), ROWS2(2, 3), FOUR(3)},
      6,
      &(const batch_norm_grad_attr){0},
      TUTTI_E_ARG,
      "batch_norm_across_totals: 6 inputs, want 5 with act 0"}},
    {"batch_norm_across_grad",
     {{ROWS2(2, 3), ROWS2(2, 3), DESC(F32, 1, 3), DESC(F32, 1, 3), DESC(F32, 1, 3),
       DESC(F32, 1, 7)},
      6,
      &(const batch_norm_grad_attr){0},
      TUTTI_E_SHAPE,
      "batch_norm_across_grad: totals is F32 (7), want F64 (7)"}},
};

START_TEST(what_does_not_fit_is_refused_in_one_sentence)
{
    for (int k = 0; k < OP_COUNT(refusals); k++)
        op_refusal_holds(find(refusals[k].op), &refusals[k].refusal);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slot_sum");
    TCase *t = op_test_cases(s, 60);
    tcase_add_loop_test(t, slots_have_the_statistics_of_the_batch, 0, 4 * DTYPES);
    tcase_add_loop_test(t, gradients_of_slots_are_those_of_the_batch, 0, 2 * DTYPES);
    tcase_add_loop_test(t, one_slot_gives_the_bits_of_batch_norm, 0, 2);
    tcase_add_test(t, a_mean_far_from_zero_leaves_the_variance_alone);
    tcase_add_loop_test(t, each_agrees_with_its_reference, 0, OP_COUNT(cases));
    tcase_add_test(t, what_does_not_fit_is_refused_in_one_sentence);
    return tutti_run(s);
}
