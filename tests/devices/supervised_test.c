/* supervised_test.c - supervised loops over a program's own model on any device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device_check.h"
#include "tutti_host/supervised.h"

#define B 4 /* samples in a batch */
#define BATCHES 6

/* y = w x with the mean squared error, all of it on the device: w, its gradient, y_pred, the loss. */
typedef struct line {
    const tutti_device *device;
    float *w, *grad, *y_pred, *loss;
    const float *x, *y;
    tutti_tensor output;
    float scale;
    int training, forwards;
} line;

static const tutti_desc batch_desc = {{B}, 1, TUTTI_F32}, one_desc = {{1}, 1, TUTTI_F32};
static float xs[BATCHES][B], ys[BATCHES][B];
static tutti_tensor tensors[BATCHES][2];

static void make_batches(void)
{
    for (int k = 0; k < BATCHES; k++) {
        for (int j = 0; j < B; j++) {
            xs[k][j] = 0.25f * (float)(k + 1) + 0.5f * (float)j;
            ys[k][j] = 1.5f * xs[k][j] + 0.125f;
        }
        tensors[k][0] = (tutti_tensor){xs[k], batch_desc, TUTTI_DEVICE_CPU, 0};
        tensors[k][1] = (tutti_tensor){ys[k], batch_desc, TUTTI_DEVICE_CPU, 0};
    }
}

static tutti_status next(void *ctx, void **ret_batch, tutti_error *err)
{
    static void *pair[2];
    const int k = (*(int *)ctx)++ % BATCHES;
    pair[0] = &tensors[k][0];
    pair[1] = &tensors[k][1];
    *ret_batch = pair;
    return TUTTI_OK;
}

/* ---- the model's kernels: in, out as `launch` is told below ---- */

static tutti_status run_forward(void *state, const tutti_op_call *c, const void *const *in,
                                void *const *out, void *scratch)
{
    for (int k = 0; k < B; k++)
        ((float *)out[0])[k] = *(const float *)in[0] * ((const float *)in[1])[k];
    return TUTTI_OK;
}

static tutti_status run_loss(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    float sum = 0;
    for (int k = 0; k < B; k++) {
        const float e = ((const float *)in[0])[k] - ((const float *)in[1])[k];
        sum += e * e;
    }
    *(float *)out[0] = sum / B;
    return TUTTI_OK;
}

static tutti_status run_backward(void *state, const tutti_op_call *c, const void *const *in,
                                 void *const *out, void *scratch)
{
    float sum = 0;
    for (int k = 0; k < B; k++)
        sum += 2.0f * ((const float *)in[2])[k] *
               (((const float *)in[0])[k] - ((const float *)in[1])[k]);
    *(float *)out[0] += *(const float *)state * sum / B;
    return TUTTI_OK;
}

static tutti_status run_step(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    *(float *)out[0] -= 0.0625f * *(const float *)in[0];
    return TUTTI_OK;
}

typedef tutti_status (*run_fn)(void *, const tutti_op_call *, const void *const *,
                               void *const *, void *);

static tutti_status launch(line *m, run_fn run, uint32_t nin, const void *const *in, void *out,
                           tutti_error *err)
{
    static const tutti_desc descs[3] = {
        {{B}, 1, TUTTI_F32}, {{B}, 1, TUTTI_F32}, {{B}, 1, TUTTI_F32}};
    static const tutti_op_call calls[4] = {
        {sizeof calls[0], 0, 1, 1, descs, &one_desc, NULL, NULL, NULL, NULL},
        {sizeof calls[0], 1, 1, 1, descs, &one_desc, NULL, NULL, NULL, NULL},
        {sizeof calls[0], 2, 1, 1, descs, &one_desc, NULL, NULL, NULL, NULL},
        {sizeof calls[0], 3, 1, 1, descs, &one_desc, NULL, NULL, NULL, NULL}};
    void *outs[1] = {out};
    const tutti_launch l = {sizeof l,    0,  "line", run,  &m->scale,
                            &calls[nin], in, outs,   NULL, NULL};
    return m->device->table->launch(m->device->device, NULL, &l, err);
}

/* ---- the model's calls ---- */

static tutti_status set_training(void *ctx, int training, tutti_error *err)
{
    ((line *)ctx)->training = training;
    return TUTTI_OK;
}

static tutti_status forward(void *ctx, void *x, int32_t precision, void **ret, tutti_error *err)
{
    line *m = ctx;
    m->x = ((const tutti_tensor *)x)->data;
    m->output = (tutti_tensor){m->y_pred, batch_desc, m->device->number, 0};
    m->forwards++;
    *ret = &m->output;
    return launch(m, run_forward, 2, (const void *[]){m->w, m->x}, m->y_pred, err);
}

static tutti_status loss(void *ctx, void *y_pred, void *y, double *ret, tutti_error *err)
{
    line *m = ctx;
    m->y = ((const tutti_tensor *)y)->data;
    return launch(m, run_loss, 2, (const void *[]){m->y_pred, m->y}, m->loss, err);
}

static tutti_status zero_grad(void *ctx, tutti_error *err)
{
    const line *m = ctx;
    return m->device->table->fill(m->device->device, NULL, m->grad, 0, sizeof *m->grad, err);
}

static tutti_status backward(void *ctx, double scale, tutti_error *err)
{
    line *m = ctx;
    m->scale = (float)scale;
    return launch(m, run_backward, 3, (const void *[]){m->y_pred, m->y, m->x}, m->grad, err);
}

static tutti_status step(void *ctx, tutti_error *err)
{
    line *m = ctx;
    return launch(m, run_step, 1, (const void *[]){m->grad}, m->w, err);
}

static float read_float(const tutti_device *d, const float *from)
{
    float value = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(d->table->copy(d->device, NULL, &value, from, sizeof value,
                                TUTTI_COPY_FROM_DEVICE, &err),
                 err);
    return value;
}

static tutti_status read_loss(void *ctx, double *ret_loss, tutti_error *err)
{
    const line *m = ctx;
    *ret_loss = (double)read_float(m->device, m->loss);
    return TUTTI_OK;
}

static tutti_supervised_model model_of(line *m)
{
    return (tutti_supervised_model){.ctx = m,
                                    .set_training = set_training,
                                    .forward = forward,
                                    .loss = loss,
                                    .zero_grad = zero_grad,
                                    .backward = backward,
                                    .step = step,
                                    .read_loss = read_loss};
}

static line open_line(const tutti_device *d)
{
    line m = {.device = d};
    tutti_error err = TUTTI_ERROR_INIT;
    float **places[] = {&m.w, &m.grad, &m.y_pred, &m.loss};
    for (size_t k = 0; k < 4; k++) {
        void *memory = NULL;
        ck_assert_ok(d->table->alloc(d->device, B * sizeof(float), &memory, &err), err);
        *places[k] = memory;
    }
    return m;
}

static void close_line(line *m)
{
    tutti_error err = TUTTI_ERROR_INIT;
    float *places[] = {m->w, m->grad, m->y_pred, m->loss};
    for (size_t k = 0; k < 4; k++)
        m->device->table->release(m->device->device, places[k]);
    ck_assert_ok(m->device->table->synchronise(m->device->device, NULL, &err), err);
}

static void run(tutti_supervised *s, int64_t iterations)
{
    int at = 0;
    const tutti_loop_data data = {.ctx = &at, .next = next};
    tutti_loop_run_args args = TUTTI_LOOP_RUN_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    args.data = &data;
    args.epoch_length = iterations;
    ck_assert_ok(tutti_loop_run(tutti_supervised_loop(s), &args, &err), err);
}

/* The same numbers by hand: w after `n` batches in groups of k, and the last batch's loss. */
static float by_hand(int n, int k, float *ret_loss)
{
    float w = 0, grad = 0;
    for (int b = 0; b < n; b++) {
        float sum = 0, e2 = 0;
        if (b % k == 0)
            grad = 0;
        for (int j = 0; j < B; j++) {
            const float e = w * xs[b][j] - ys[b][j];
            sum += 2.0f * xs[b][j] * e;
            e2 += e * e;
        }
        grad += 1.0f / (float)k * sum / B;
        *ret_loss = e2 / B;
        if (b % k == k - 1)
            w -= 0.0625f * grad;
    }
    return w;
}

/* Row: backend, accumulation 1 or 2, copies that block or do not. */
START_TEST(training_on_any_device_gives_the_same_numbers)
{
    backend b = open_kind(_i / 4);
    const int k = 1 + _i % 2, n = 5;
    line m = open_line(&b.device);
    const tutti_supervised_model model = model_of(&m);
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    float want_loss = 0;
    o.device = &b.device;
    o.step = TUTTI_STEP_ACCELERATOR;
    o.accumulation = k;
    o.non_blocking = _i / 2 % 2;
    ck_assert_ok(tutti_supervised_trainer(&model, &o, &s, &err), err);
    run(s, n);
    const float want = by_hand(n, k, &want_loss);
    ck_assert_close(read_float(&b.device, m.w), want, 1e-6);
    ck_assert_close(*(double *)tutti_loop_get_state(tutti_supervised_loop(s))->output,
                    want_loss, 1e-5);
    if (_i / 4 == SHADOW) {
        ck_assert_uint_eq(counts_of(&b)->steps, (uint64_t)(n / k));
        ck_assert_uint_eq(counts_of(&b)->to_device, 2 * (uint64_t)n);
        /* Nothing waits inside of a step: the host reads each loss, and w here. */
        ck_assert_uint_eq(counts_of(&b)->waits, (uint64_t)n + 1);
    }
    tutti_supervised_destroy(s);
    close_line(&m);
    close_kind(&b);
}
END_TEST

START_TEST(a_device_that_gathers_its_work_makes_the_plain_step_its_own)
{
    backend b = open_kind(SHADOW);
    line m = open_line(&b.device);
    tutti_supervised_model model = model_of(&m);
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    model.read_loss = NULL;
    o.device = &b.device;
    ck_assert_ok(tutti_supervised_trainer(&model, &o, &s, &err), err);
    run(s, 4);
    ck_assert_uint_eq(counts_of(&b)->steps, 4);
    ck_assert_uint_eq(counts_of(&b)->waits, 0);
    tutti_supervised_destroy(s);
    o.step = TUTTI_STEP_AMP;
    ck_assert_int_eq(tutti_supervised_trainer(&model, &o, &s, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text,
                     "the amp step does not go with device shadow 0, which gathers its work");
    err = (tutti_error)TUTTI_ERROR_INIT;
    o.step = TUTTI_STEP_APEX;
    ck_assert_int_eq(tutti_supervised_evaluator(&model, &o, &s, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text,
                     "the apex step does not go with device shadow 0, which gathers its work");
    close_line(&m);
    close_kind(&b);
}
END_TEST

/* ---- an evaluator's metric: the mean absolute error ---- */

static double sums[2];

static void reset(void *self)
{
    sums[0] = sums[1] = 0;
}

static tutti_status update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    const float *y_pred = in->outputs[0].data, *y = in->targets[0].data;
    ck_assert_int_eq(in->outputs[0].device, TUTTI_DEVICE_CPU);
    ck_assert_int_eq(in->targets[0].device, TUTTI_DEVICE_CPU);
    ck_assert_int_eq(in->samples, B);
    for (int64_t k = 0; k < in->samples; k++)
        sums[0] += fabs((double)y_pred[k] - (double)y[k]);
    sums[1] += (double)in->samples;
    return TUTTI_OK;
}

static double compute(void *self)
{
    return sums[0] / sums[1];
}

static const tutti_metric_v1 mae_table = {.struct_size = sizeof mae_table,
                                          .nsums = 2,
                                          .sums = sums,
                                          .name = "mae",
                                          .reset = reset,
                                          .update = update,
                                          .compute = compute};

START_TEST(an_evaluators_metrics_read_outputs_on_the_host)
{
    backend b = open_kind(_i);
    line m = open_line(&b.device);
    const tutti_supervised_model model = model_of(&m);
    const tutti_supervised_metric metric = {"mae", &mae_table, NULL};
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_supervised *s = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    double want = 0;
    o.device = &b.device;
    o.metrics = &metric;
    o.nmetrics = 1;
    ck_assert_ok(tutti_supervised_evaluator(&model, &o, &s, &err), err);
    ck_assert(isnan(tutti_loop_metric(tutti_supervised_loop(s), "mae")));
    for (int epoch = 0; epoch < 2; epoch++) { /* the second forgets the first */
        run(s, 3);
        ck_assert_int_eq(m.training, 0);
    }
    for (int k = 0; k < 3 * B; k++) /* w is 0 */
        want += (double)ys[k / B][k % B] / (3 * B);
    ck_assert_close(tutti_loop_metric(tutti_supervised_loop(s), "mae"), want, 1e-6);
    tutti_supervised_destroy(s);
    ck_assert_int_eq(tutti_supervised_trainer(&model, &o, &s, &err), TUTTI_E_ARG);
    ck_assert_str_eq(err.text, "metrics go with an evaluator");
    close_line(&m);
    close_kind(&b);
}
END_TEST

/* ---- functions of the program's own ---- */

static char order[64];
static tutti_supervised *owner;
static double doubled;

static tutti_status prepare(void *ctx, void *batch, void **ret_x, void **ret_y,
                            tutti_error *err)
{
    const tutti_tensor *x = NULL, *y = NULL;
    strcat(order, "prepare ");
    ck_assert_ok(tutti_supervised_move(owner, 6, ((void **)batch)[1], &y, err), *err);
    ck_assert_ok(tutti_supervised_move(owner, 7, ((void **)batch)[0], &x, err), *err);
    *ret_x = (void *)(uintptr_t)x;
    *ret_y = (void *)(uintptr_t)y;
    return TUTTI_OK;
}

static tutti_status twice(void *ctx, const tutti_supervised_model *model, void *x,
                          int32_t precision, void **ret_output, tutti_error *err)
{
    strcat(order, "model_fn ");
    (void)model->forward(model->ctx, x, precision, ret_output, err);
    return model->forward(model->ctx, x, precision, ret_output, err);
}

static tutti_status same(void *ctx, void *output, void **ret_y_pred, tutti_error *err)
{
    strcat(order, "transform ");
    *ret_y_pred = output;
    return TUTTI_OK;
}

static tutti_status give(void *ctx, void *x, void *y, void *y_pred, double value,
                         void **ret_output, tutti_error *err)
{
    strcat(order, "output ");
    doubled = 2 * value;
    *ret_output = &doubled;
    return TUTTI_OK;
}

START_TEST(a_programs_own_functions_stand_in_for_each_part_of_a_step)
{
    backend b = open_kind(_i);
    line m = open_line(&b.device);
    const tutti_supervised_model model = model_of(&m);
    const tutti_tensor *none = NULL;
    tutti_supervised_options o = TUTTI_SUPERVISED_INIT;
    tutti_error err = TUTTI_ERROR_INIT;
    float want = 0;
    o.device = &b.device;
    o.prepare_batch = prepare;
    o.model_fn = twice;
    o.model_transform = same;
    o.output_transform = give;
    order[0] = '\0';
    ck_assert_ok(tutti_supervised_trainer(&model, &o, &owner, &err), err);
    run(owner, 1);
    ck_assert_str_eq(order, "prepare model_fn transform output ");
    ck_assert_int_eq(m.forwards, 2);
    (void)by_hand(1, 1, &want);
    ck_assert_close(*(double *)tutti_loop_get_state(tutti_supervised_loop(owner))->output,
                    2 * want, 1e-5);
    ck_assert_int_eq(tutti_supervised_move(owner, 8, &tensors[0][0], &none, &err),
                     TUTTI_E_RANGE);
    ck_assert_str_eq(err.text, "there is no slot 8, want 0 to 7");
    tutti_supervised_destroy(owner);
    close_line(&m);
    close_kind(&b);
}
END_TEST

static void end(void)
{
    registry_destroy(plugins);
}

int main(void)
{
    Suite *suite = suite_create("supervised");
    TCase *tc = tcase_create("all");
    suite_add_tcase(suite, tc);
    tcase_add_checked_fixture(tc, make_batches, end);
    tcase_add_loop_test(tc, training_on_any_device_gives_the_same_numbers, 0, 4 * NKINDS);
    tcase_add_test(tc, a_device_that_gathers_its_work_makes_the_plain_step_its_own);
    tcase_add_loop_test(tc, an_evaluators_metrics_read_outputs_on_the_host, 0, NKINDS);
    tcase_add_loop_test(tc, a_programs_own_functions_stand_in_for_each_part_of_a_step, 0,
                        NKINDS);
    return tutti_run(suite);
}
