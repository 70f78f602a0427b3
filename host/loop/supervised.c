/* supervised.c - the steps of supervised training and evaluation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/supervised_internal.h"

#include <math.h>
#include <stdlib.h>

enum { GROWTH_INTERVAL = 2000 };
static const double first_scale = 65536.0;

static tutti_status prepare(tutti_supervised *s, void *batch, void **x, void **y,
                            tutti_error *err)
{
    if (s->options.prepare_batch)
        return s->options.prepare_batch(s->options.ctx, batch, x, y, err);
    if (!batch)
        return tutti_fail(err, TUTTI_E_ARG, "a batch is no pair of input and target");
    if (s->options.device)
        return supervised_move_pair(s, batch, x, y, err);
    *x = ((void **)batch)[0];
    *y = ((void **)batch)[1];
    return TUTTI_OK;
}

static tutti_status predict(tutti_supervised *s, void *x, void **y_pred, tutti_error *err)
{
    const int32_t kind = s->options.step;
    const bool cast = kind == TUTTI_STEP_AMP || kind == TUTTI_STEP_APEX;
    const int32_t precision = cast ? s->options.precision : TUTTI_PRECISION_F32;
    void *output = NULL;
    const tutti_status e =
        s->options.model_fn
            ? s->options.model_fn(s->options.ctx, &s->model, x, precision, &output, err)
            : s->model.forward(s->model.ctx, x, precision, &output, err);
    if (e)
        return e;
    *y_pred = output;
    return s->options.model_transform
               ? s->options.model_transform(s->options.ctx, output, y_pred, err)
               : TUTTI_OK;
}

static void adapt(tutti_supervised *s, bool finite)
{
    if (!finite) {
        s->scale *= 0.5;
        s->good = 0;
    } else if (++s->good == GROWTH_INTERVAL) {
        s->scale *= 2.0;
        s->good = 0;
    }
}

static tutti_status publish_scale(tutti_supervised *s, tutti_error *err)
{
    const tutti_loop_value value = {.type = TUTTI_LOOP_REAL, .real = s->scale};
    if (s->options.step != TUTTI_STEP_AMP)
        return TUTTI_OK;
    return tutti_loop_set(s->loop, "scaler", &value, err);
}

/* The end of a group: gradients back to their size, the optimizer's step. */
static tutti_status update(tutti_supervised *s, tutti_error *err)
{
    const tutti_supervised_model *m = &s->model;
    int finite = 1;
    tutti_status e = TUTTI_OK;
    if (s->scales)
        e = m->scale_gradients(m->ctx, 1.0 / s->scale, &finite, err);
    if (!e && (finite || !s->dynamic))
        e = m->step(m->ctx, err);
    if (!e && s->dynamic) {
        adapt(s, finite != 0);
        e = publish_scale(s, err);
    }
    if (!e && s->options.step == TUTTI_STEP_ACCELERATOR)
        e = s->options.device ? supervised_step_device(s, err) : m->synchronise(m->ctx, err);
    return e;
}

static tutti_status train(tutti_loop *l, void *batch, void **ret_output, void *ctx,
                          tutti_error *err)
{
    tutti_supervised *s = ctx;
    const tutti_supervised_model *m = &s->model;
    const int64_t iteration = tutti_loop_get_state(l)->iteration, k = s->options.accumulation;
    void *x, *y, *y_pred;
    tutti_status e = TUTTI_OK;
    if ((iteration - 1) % k == 0)
        e = m->zero_grad(m->ctx, err);
    if (e || (e = m->set_training(m->ctx, 1, err)) || (e = prepare(s, batch, &x, &y, err)) ||
        (e = predict(s, x, &y_pred, err)) || (e = m->loss(m->ctx, y_pred, y, &s->loss, err)) ||
        (e = m->backward(m->ctx, (s->scales ? s->scale : 1.0) / (double)k, err)))
        return e;
    if (iteration % k == 0 && (e = update(s, err)))
        return e;
    if (m->read_loss && (e = m->read_loss(m->ctx, &s->loss, err)))
        return e;
    *ret_output = &s->loss;
    if (!s->options.output_transform)
        return TUTTI_OK;
    return s->options.output_transform(s->options.ctx, x, y, y_pred, s->loss, ret_output, err);
}

static tutti_status evaluate(tutti_loop *l, void *batch, void **ret_output, void *ctx,
                             tutti_error *err)
{
    tutti_supervised *s = ctx;
    void *x, *y, *y_pred;
    tutti_status e = s->model.set_training(s->model.ctx, 0, err);
    if (e || (e = prepare(s, batch, &x, &y, err)) || (e = predict(s, x, &y_pred, err)))
        return e;
    s->pair[0] = y_pred;
    s->pair[1] = y;
    *ret_output = s->pair;
    if (!s->options.output_transform)
        return TUTTI_OK;
    return s->options.output_transform(s->options.ctx, x, y, y_pred, NAN, ret_output, err);
}

static tutti_status create(const tutti_supervised_model *model,
                           const tutti_supervised_options *options, tutti_loop_process process,
                           tutti_supervised **ret_supervised, tutti_error *err)
{
    tutti_loop_options loop = TUTTI_LOOP_OPTIONS_INIT;
    tutti_supervised *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a supervised loop");
    s->model = *model;
    s->options = *options;
    s->scale = 1.0;
    loop.process = process;
    loop.process_ctx = s;
    loop.deterministic = options->deterministic;
    tutti_status e = tutti_loop_create(&loop, &s->loop, err);
    if (!e)
        e = supervised_attach_metrics(s, err);
    if (e) {
        tutti_supervised_destroy(s);
        return e;
    }
    *ret_supervised = s;
    return TUTTI_OK;
}

/* A device that gathers its work wants the accelerator step, and no other knows how. */
static tutti_status fit_step(tutti_supervised_options *o, tutti_error *err)
{
    if (!o->device || !(o->device->info.flags & TUTTI_DEVICE_STEPS))
        return TUTTI_OK;
    if (o->step == TUTTI_STEP_AMP || o->step == TUTTI_STEP_APEX)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the %s step does not go with device %s, which gathers its work",
                          o->step == TUTTI_STEP_AMP ? "amp" : "apex", o->device->info.name);
    o->step = TUTTI_STEP_ACCELERATOR;
    return TUTTI_OK;
}

static tutti_status check_trainer(const tutti_supervised_model *m,
                                  const tutti_supervised_options *o, bool scales,
                                  tutti_error *err)
{
    if (o->accumulation < 1)
        return tutti_fail(err, TUTTI_E_ARG, "accumulation is %lld, want 1 or more",
                          (long long)o->accumulation);
    if (o->scaler && o->step != TUTTI_STEP_AMP)
        return tutti_fail(err, TUTTI_E_ARG, "a scaler goes with the amp step alone");
    if (!(o->loss_scale >= 0.0) || isinf(o->loss_scale))
        return tutti_fail(err, TUTTI_E_ARG, "loss_scale is %g, want 0 or more", o->loss_scale);
    if (!m->set_training || !m->forward || !m->loss || !m->zero_grad || !m->backward ||
        !m->step)
        return tutti_fail(err, TUTTI_E_ARG, "the model of a trainer lacks a call");
    if (scales && !m->scale_gradients)
        return tutti_fail(err, TUTTI_E_ARG, "a loss scale needs the model's scale_gradients");
    if (o->step == TUTTI_STEP_ACCELERATOR && !o->device && !m->synchronise)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the accelerator step needs a device or the model's synchronise");
    if (o->nmetrics)
        return tutti_fail(err, TUTTI_E_ARG, "metrics go with an evaluator");
    return TUTTI_OK;
}

tutti_status tutti_supervised_trainer(const tutti_supervised_model *model,
                                      const tutti_supervised_options *options,
                                      tutti_supervised **ret_supervised, tutti_error *err)
{
    const bool apex = options->step == TUTTI_STEP_APEX;
    const bool scales = apex || options->scaler;
    tutti_supervised_options o = *options;
    tutti_supervised *s = NULL;
    tutti_status e = check_trainer(model, options, scales, err);
    if (e || (e = fit_step(&o, err)) || (e = create(model, &o, train, &s, err)))
        return e;
    s->scales = scales;
    s->dynamic = scales && !(apex && options->loss_scale > 0.0);
    if (scales)
        s->scale = s->dynamic ? first_scale : options->loss_scale;
    if (options->scaler && (e = publish_scale(s, err))) {
        tutti_supervised_destroy(s);
        return e;
    }
    *ret_supervised = s;
    return TUTTI_OK;
}

tutti_status tutti_supervised_evaluator(const tutti_supervised_model *model,
                                        const tutti_supervised_options *options,
                                        tutti_supervised **ret_supervised, tutti_error *err)
{
    tutti_supervised_options o = *options;
    if (!model->set_training || !model->forward)
        return tutti_fail(err, TUTTI_E_ARG, "the model of an evaluator lacks a call");
    const tutti_status e = fit_step(&o, err);
    if (e)
        return e;
    if (o.step != TUTTI_STEP_AMP)
        o.step = TUTTI_STEP_PLAIN;
    return create(model, &o, evaluate, ret_supervised, err);
}

tutti_loop *tutti_supervised_loop(tutti_supervised *s)
{
    return s->loop;
}

double tutti_supervised_scale(const tutti_supervised *s)
{
    return s->scale;
}

void tutti_supervised_destroy(tutti_supervised *s)
{
    if (!s)
        return;
    tutti_loop_destroy(s->loop);
    supervised_free_buffers(s);
    free(s);
}
