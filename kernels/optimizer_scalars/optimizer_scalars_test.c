/* optimizer_scalars_test.c - loss scale and update numbers by their kernels, here or on a device, against GradScaler. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/op_test.h"
#include "graph/program/program.h"
#include "graph/runtime/device_memory.h"
#include "optimizer_scalars/optimizer_scalars.h"

#include <math.h>

enum { N = 1000, GROUPS = 2 };

/* Memory where the operations run, with what the host makes of it. */
typedef struct rig {
    const tutti_device *device; /* NULL: the host */
    float *g;
    double *scaler, *rates, *weight, *numbers;
    float *factor, *scale;
} rig;

static const tutti_op *find(const char *name)
{
    const tutti_op *const *op = tutti_op_table;
    while (*op && strcmp((*op)->name, name) != 0)
        op++;
    ck_assert_msg(*op != NULL, "there is no %s", name);
    return *op;
}

static void put(const rig *r, void *to, const void *from, uint64_t bytes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(device_copy(r->device, to, from, bytes, TUTTI_COPY_TO_DEVICE, &err), err);
}

static void get(const rig *r, void *to, const void *from, uint64_t bytes)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(device_copy(r->device, to, from, bytes, TUTTI_COPY_FROM_DEVICE, &err), err);
}

static void open_rig(rig *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const float one = 1.0f;
    const double scaler[TUTTI_SCALER_NUMBERS] = {
        [TUTTI_SCALER_SCALE] = 65536.0, [TUTTI_SCALER_ON] = 1.0};
    *r = (rig){.device = op_check_device ? op_check_device(&err) : NULL};
    r->g = device_alloc(r->device, N * sizeof *r->g);
    r->scaler = device_alloc(r->device, sizeof scaler);
    r->rates = device_alloc(r->device, GROUPS * sizeof *r->rates);
    r->weight = device_alloc(r->device, sizeof *r->weight);
    r->numbers = device_alloc(r->device, GROUPS * TUTTI_UPDATE_NUMBERS * sizeof *r->numbers);
    r->factor = device_alloc(r->device, sizeof *r->factor);
    r->scale = device_alloc(r->device, sizeof *r->scale);
    put(r, r->scaler, scaler, sizeof scaler);
    put(r, r->factor, &one, sizeof one);
}

static void close_rig(rig *r)
{
    void *all[] = {r->g, r->scaler, r->rates, r->weight, r->numbers, r->factor, r->scale};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        device_free(r->device, all[k]);
}

/* `from` and `to` are of all inputs and of all outputs. */
static void call_with(const rig *r, const char *name, const void *const *in, void *const *out,
                      const tutti_desc *from, const tutti_desc *to)
{
    static const tutti_step step = {.struct_size = sizeof step};
    const tutti_op *op = find(name);
    const tutti_kernel *kernel = program_kernel(r->device, op);
    const tutti_op_call c = {.struct_size = sizeof c,
                             .nin = op->nin_max,
                             .nout = op->nout,
                             .threads = 2,
                             .in = from,
                             .out = to,
                             .step = &step,
                             .cuda = program_cuda(r->device)};
    void *state = NULL;
    uint64_t scratch = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ptr_nonnull(kernel);
    if (kernel->prepare)
        ck_assert_ok(kernel->prepare(&c, &state, &scratch, &err), err);
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = name,
                            .run = kernel->run,
                            .state = state,
                            .call = &c,
                            .in = in,
                            .out = out};
    if (!r->device) {
        ck_assert_int_eq(kernel->run(state, &c, in, out, NULL), TUTTI_OK);
        return;
    }
    ck_assert_ok(r->device->table->launch(r->device->device, NULL, &l, &err), err);
    ck_assert_ok(r->device->table->synchronise(r->device->device, NULL, &err), err);
}

static void call(const rig *r, const char *name, const void *const *in, void *const *out,
                 tutti_desc desc)
{
    const tutti_desc descs[3] = {desc, desc, desc};
    call_with(r, name, in, out, descs, descs);
}

static void unscale(const rig *r)
{
    const void *in[] = {r->g, r->scaler};
    void *out[] = {r->g, r->scaler};
    call(r, "unscale", in, out, (tutti_desc){{N}, 1, TUTTI_F32});
}

static void next(const rig *r, int64_t groups, double *scaler, double *numbers)
{
    const void *in[] = {r->rates};
    void *out[] = {r->factor, r->scaler, r->numbers};
    call(r, "next_update", in, out, (tutti_desc){{groups, TUTTI_UPDATE_NUMBERS}, 2, TUTTI_F64});
    get(r, scaler, r->scaler, TUTTI_SCALER_NUMBERS * sizeof *scaler);
    get(r, numbers, r->numbers, GROUPS * TUTTI_UPDATE_NUMBERS * sizeof *numbers);
}

/* Row: what one gradient is. */
static const float finds[] = {0.25f, INFINITY, -INFINITY, NAN};

START_TEST(a_number_that_is_not_finite_is_found_and_halves_the_scale)
{
    rig r;
    float g[N], got[N];
    double scaler[TUTTI_SCALER_NUMBERS], numbers[GROUPS * TUTTI_UPDATE_NUMBERS];
    const double rates[GROUPS] = {0.1, 0.3};
    const int bad = _i > 0;
    open_rig(&r);
    for (int k = 0; k < N; k++)
        g[k] = (float)k * 131.0f;
    g[777] = finds[_i];
    put(&r, r.g, g, sizeof g);
    put(&r, r.rates, rates, sizeof rates);
    unscale(&r);
    get(&r, got, r.g, sizeof got);
    for (int k = 0; k < N; k++)
        ck_assert(k == 777 || got[k] == g[k] / 65536.0f);
    next(&r, GROUPS, scaler, numbers);
    ck_assert_double_eq(scaler[TUTTI_SCALER_SCALE], bad ? 32768.0 : 65536.0);
    ck_assert_double_eq(scaler[TUTTI_SCALER_CLEAN], bad ? 0.0 : 1.0);
    ck_assert_double_eq(scaler[TUTTI_SCALER_FOUND], 0.0);
    ck_assert_double_eq(scaler[TUTTI_SCALER_SKIPPED], bad ? 1.0 : 0.0);
    ck_assert_double_eq(scaler[TUTTI_SCALER_UPDATES], bad ? 0.0 : 1.0);
    for (int k = 0; k < GROUPS; k++) {
        const double *now = numbers + k * TUTTI_UPDATE_NUMBERS;
        ck_assert_double_eq(now[TUTTI_UPDATE_LR], rates[k]);
        ck_assert_double_eq(now[TUTTI_UPDATE_STEP], bad ? 0.0 : 1.0);
        ck_assert_double_eq(now[TUTTI_UPDATE_FACTOR], 1.0);
        ck_assert_double_eq(now[TUTTI_UPDATE_SKIP], bad ? 1.0 : 0.0);
    }
    close_rig(&r);
}
END_TEST

START_TEST(the_scale_grows_after_2000_clean_updates_up_to_the_range_of_f32)
{
    rig r;
    double scaler[TUTTI_SCALER_NUMBERS], numbers[GROUPS * TUTTI_UPDATE_NUMBERS];
    static const double scales[][2] = {{65536.0, 131072.0}, {0x1p127, 0x1p127}};
    for (int k = 0; k < 2; k++) {
        open_rig(&r);
        get(&r, scaler, r.scaler, sizeof scaler);
        scaler[TUTTI_SCALER_SCALE] = scales[k][0];
        scaler[TUTTI_SCALER_CLEAN] = TUTTI_SCALER_INTERVAL - 2;
        put(&r, r.scaler, scaler, sizeof scaler);
        next(&r, GROUPS, scaler, numbers);
        ck_assert_double_eq(scaler[TUTTI_SCALER_SCALE], scales[k][0]);
        next(&r, GROUPS, scaler, numbers);
        ck_assert_double_eq(scaler[TUTTI_SCALER_SCALE], scales[k][1]);
        ck_assert_double_eq(scaler[TUTTI_SCALER_CLEAN], 0.0);
        close_rig(&r);
    }
}
END_TEST

START_TEST(a_step_without_an_update_is_not_counted_as_one)
{
    rig r;
    double scaler[TUTTI_SCALER_NUMBERS], numbers[GROUPS * TUTTI_UPDATE_NUMBERS];
    open_rig(&r);
    next(&r, 0, scaler, numbers);
    ck_assert_double_eq(scaler[TUTTI_SCALER_UPDATES], 0.0);
    ck_assert_double_eq(scaler[TUTTI_SCALER_CLEAN], 1.0);
    close_rig(&r);
}
END_TEST

START_TEST(the_factor_goes_to_the_update_or_to_the_gradients)
{
    rig r;
    float g[N], got[N], factor = 0.3f;
    double scaler[TUTTI_SCALER_NUMBERS], numbers[GROUPS * TUTTI_UPDATE_NUMBERS];
    open_rig(&r);
    put(&r, r.factor, &factor, sizeof factor);
    next(&r, GROUPS, scaler, numbers);
    ck_assert_double_eq(numbers[TUTTI_UPDATE_FACTOR], (double)0.3f);
    get(&r, &factor, r.factor, sizeof factor);
    ck_assert_float_eq(factor, 1.0f);
    factor = 0.3f;
    for (int k = 0; k < N; k++)
        g[k] = (float)k * 0.7f;
    put(&r, r.g, g, sizeof g);
    put(&r, r.factor, &factor, sizeof factor);
    const void *in[] = {r.g, r.factor};
    void *out[] = {r.g};
    call(&r, "scale_by", in, out, (tutti_desc){{N}, 1, TUTTI_F32});
    get(&r, got, r.g, sizeof got);
    for (int k = 0; k < N; k++)
        ck_assert(got[k] == g[k] * 0.3f);
    close_rig(&r);
}
END_TEST

/* Row: what one gradient is; found is written only where it is not finite. */
START_TEST(gradients_are_scaled_and_looked_at)
{
    rig r;
    float g[N], got[N], factor = 0.3f, found = 0.0f;
    open_rig(&r);
    for (int k = 0; k < N; k++)
        g[k] = (float)k * 0.7f;
    g[777] = finds[_i];
    put(&r, r.g, g, sizeof g);
    put(&r, r.factor, &factor, sizeof factor);
    put(&r, r.scale, &found, sizeof found);
    const void *in[] = {r.g, r.factor};
    void *out[] = {r.g, r.scale};
    call(&r, "scale_checked", in, out, (tutti_desc){{N}, 1, TUTTI_F32});
    get(&r, got, r.g, sizeof got);
    get(&r, &found, r.scale, sizeof found);
    for (int k = 0; k < N; k++)
        ck_assert(k == 777 || got[k] == g[k] * 0.3f);
    ck_assert_float_eq(found, _i > 0 ? 1.0f : 0.0f);
    close_rig(&r);
}
END_TEST

/* Row: on or off. */
START_TEST(the_loss_is_scaled_by_its_weight_and_the_scale)
{
    rig r;
    const double weight = 1.0 / 3.0;
    double scaler[TUTTI_SCALER_NUMBERS];
    float got = 0.0f;
    open_rig(&r);
    get(&r, scaler, r.scaler, sizeof scaler);
    scaler[TUTTI_SCALER_ON] = (double)_i;
    put(&r, r.scaler, scaler, sizeof scaler);
    put(&r, r.weight, &weight, sizeof weight);
    const void *in[] = {r.scaler, r.weight};
    void *out[] = {r.scale};
    call(&r, "loss_scale", in, out, (tutti_desc){{1}, 1, TUTTI_F32});
    get(&r, &got, r.scale, sizeof got);
    ck_assert_float_eq(got, (float)(weight * (_i ? 65536.0 : 1.0)));
    close_rig(&r);
}
END_TEST

/* Against a sum in long double; the order costs less than 1e-12 of 40,000 squares in f64.  Rows: numbers, which fill
 * pieces and lanes, or do not. */
static const int64_t norm_sizes[] = {1, 255, 16384, 40001};

START_TEST(the_norm_of_gradients_goes_to_all_groups)
{
    enum { MOST = 40001, PIECES = 3 };
    static float g[MOST];
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_device *d = op_check_device ? op_check_device(&err) : NULL;
    const int64_t n = norm_sizes[_i];
    double numbers[GROUPS * TUTTI_UPDATE_NUMBERS] = {0};
    const rig r = {.device = d,
                   .g = device_alloc(d, sizeof g),
                   .scaler = device_alloc(d, PIECES * sizeof(double)),
                   .numbers = device_alloc(d, sizeof numbers)};
    long double sum = 0.0L;
    for (int64_t k = 0; k < n; k++) {
        g[k] = sinf((float)k) * (k % 7 ? 1e-3f : 3e2f);
        sum += (long double)g[k] * (long double)g[k];
    }
    numbers[TUTTI_UPDATE_FACTOR] = 1.0;
    numbers[TUTTI_UPDATE_NUMBERS + TUTTI_UPDATE_FACTOR] = -0.25;
    put(&r, r.g, g, sizeof g);
    put(&r, r.numbers, numbers, sizeof numbers);
    const tutti_desc all = {{n}, 1, TUTTI_F32};
    const void *gradients[] = {r.g};
    void *parts[] = {r.scaler};
    call(&r, "gradient_squares", gradients, parts, all);
    const tutti_desc rest[] = {{{optimizer_scalars_pieces(n)}, 1, TUTTI_F64},
                               {{GROUPS, TUTTI_UPDATE_NUMBERS}, 2, TUTTI_F64}};
    const void *in[] = {r.scaler};
    void *out[] = {r.numbers};
    call_with(&r, "gradient_norm", in, out, &rest[0], &rest[1]);
    get(&r, numbers, r.numbers, sizeof numbers);
    const double want = (double)sqrtl(sum);
    ck_assert_close(numbers[TUTTI_UPDATE_NORM], want, 1e-12 * want);
    ck_assert_double_eq(numbers[TUTTI_UPDATE_NUMBERS + TUTTI_UPDATE_NORM],
                        0.25 * numbers[TUTTI_UPDATE_NORM]);
    close_rig((rig *)&r);
}
END_TEST

START_TEST(no_graph_has_them)
{
    const tutti_op_call c = {.struct_size = sizeof c};
    tutti_desc out;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(find("unscale")->infer(&c, &out, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(err.text, "the host alone makes updates");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_scalars");
    TCase *t = tcase_create("optimizer_scalars");
    tcase_add_loop_test(t, a_number_that_is_not_finite_is_found_and_halves_the_scale, 0, 4);
    tcase_add_test(t, the_scale_grows_after_2000_clean_updates_up_to_the_range_of_f32);
    tcase_add_test(t, a_step_without_an_update_is_not_counted_as_one);
    tcase_add_test(t, the_factor_goes_to_the_update_or_to_the_gradients);
    tcase_add_loop_test(t, gradients_are_scaled_and_looked_at, 0, 4);
    tcase_add_loop_test(t, the_loss_is_scaled_by_its_weight_and_the_scale, 0, 2);
    tcase_add_loop_test(t, the_norm_of_gradients_goes_to_all_groups, 0, 4);
    tcase_add_test(t, no_graph_has_them);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
