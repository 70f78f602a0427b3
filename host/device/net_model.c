/* net_model.c - plans of a net in the place of a program's own model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/net_model.h"
#include "graph/program/program.h"
#include "graph/runtime/device_memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Gradients times a number, where they are; what is launched must stay. */
typedef struct scaling {
    float *numbers; /* on the device: the factor; 1 where something was not finite */
    void *state;
    tutti_op_call call;
    tutti_desc in[2];
    tutti_desc out[2];
    tutti_step step;
} scaling;

struct net_model {
    net_model_options options;
    const tutti_device *device;
    bool training;
    bool fresh;  /* the next backward pass overwrites the gradients */
    plan *plan;  /* of the latest forward pass, and of the loss that follows it */
    float scale; /* of the latest loss segment */
    double lr;   /* of the updates to come */
    tutti_tensor output;
    tutti_step step;
    float *slots[TUTTI_OPTIMIZER_MAX_SLOTS];
    uint64_t version; /* of the net, to which they belong */
    double *numbers;  /* on the device: TUTTI_UPDATE_NUMBERS; NULL where nothing reads them */
    tutti_op_call update_call;
    tutti_desc update_desc[TUTTI_OPTIMIZER_MAX_SLOTS + 2];
    float *
        staged; /* weights, gradients and slots on the host, where no code of ours reaches them */
    int64_t count;
    int64_t updates;
    scaling scaling;
};

static tutti_status set_training(void *ctx, int training, tutti_error *err)
{
    ((net_model *)ctx)->training = training != 0;
    return TUTTI_OK;
}

static plan_request request_for(const net_model *m, const tutti_tensor *x, const tutti_desc *y)
{
    plan_request r = {.kind = !m->training ? PLAN_EVAL
                              : m->fresh   ? PLAN_TRAIN
                                           : PLAN_TRAIN_ADD,
                      .ninputs = 1,
                      .inputs = {x->desc}};
    if (y) {
        r.ntargets = 1;
        r.targets[0] = *y;
    }
    return r;
}

static tutti_status check_place(const net_model *m, const tutti_tensor *t, const char *what,
                                tutti_error *err)
{
    return t->device == device_number(m->device)
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_ARG, "%s is not where the model is: on %s", what,
                            m->device ? m->device->info.name : "the host");
}

/* Plans read 64-byte aligned memory; what lies otherwise, as a program's own array may, is copied to theirs. */
static tutti_status give(plan *p, const tutti_tensor *t,
                         void (*set)(plan *, uint32_t, const void *),
                         tutti_tensor (*place)(plan *, uint32_t), tutti_error *err)
{
    if ((uintptr_t)t->data % 64 == 0) {
        set(p, 0, t->data);
        return TUTTI_OK;
    }
    set(p, 0, NULL);
    const tutti_tensor own = place(p, 0);
    if (!own.data)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a batch of %llu bytes",
                          (unsigned long long)tutti_nbytes(&t->desc));
    if (own.data != t->data)
        memcpy(own.data, t->data, tutti_nbytes(&t->desc));
    return TUTTI_OK;
}

/* A target for each sample of `x`. */
static tutti_desc expected_target(const net_model *m, const tutti_tensor *x)
{
    tutti_desc d = m->options.target;
    for (int32_t k = d.rank; k > 0; k--)
        d.dim[k] = d.dim[k - 1];
    d.dim[0] = x->desc.dim[0];
    d.rank++;
    return d;
}

static tutti_status forward(void *ctx, void *x_, int32_t precision, void **ret_y_pred,
                            tutti_error *err)
{
    net_model *m = ctx;
    const tutti_tensor *x = x_;
    const tutti_desc target = expected_target(m, x);
    tutti_status s = check_place(m, x, "the input", err);
    if (s)
        return s;
    const plan_request r = request_for(m, x, m->training ? &target : NULL);
    if ((s = net_plan(m->options.net, &r, &m->plan, err)))
        return s;
    if ((s = give(m->plan, x, plan_set_input, plan_input, err)))
        return s;
    s = plan_run(m->plan, SEGMENT_FORWARD, &m->step, m->scale, err);
    m->output = plan_output(m->plan, 0);
    *ret_y_pred = &m->output;
    return s;
}

/* The gradient's scale is told later, in `backward`; it is nearly always that of the batch before. */
static tutti_status loss(void *ctx, void *y_pred, void *y_, double *ret_loss, tutti_error *err)
{
    net_model *m = ctx;
    const tutti_tensor *y = y_;
    tutti_status s = check_place(m, y, "the target", err);
    if (s)
        return s;
    if (y_pred != &m->output || !m->training)
        return tutti_fail(err, TUTTI_E_ARG, "a loss needs the model's own output in training");
    const tutti_tensor x = plan_input(m->plan, 0);
    const plan_request r = request_for(m, &x, &y->desc);
    if ((s = net_plan(m->options.net, &r, &m->plan, err)))
        return s;
    plan_set_input(m->plan, 0, x.data);
    if ((s = give(m->plan, y, plan_set_target, plan_target, err)))
        return s;
    return plan_run(m->plan, SEGMENT_LOSS, &m->step, m->scale, err);
}

static tutti_status read_loss(void *ctx, double *ret_loss, tutti_error *err)
{
    const net_model *m = ctx;
    float value = 0;
    const tutti_status s = device_copy(m->device, &value, plan_loss(m->plan).data, sizeof value,
                                       TUTTI_COPY_FROM_DEVICE, err);
    if (!s)
        *ret_loss = (double)value;
    return s;
}

static tutti_status zero_grad(void *ctx, tutti_error *err)
{
    ((net_model *)ctx)->fresh = true;
    return TUTTI_OK;
}

static tutti_status backward(void *ctx, double scale, tutti_error *err)
{
    net_model *m = ctx;
    tutti_status s = TUTTI_OK;
    if ((float)scale != m->scale) {
        m->scale = (float)scale;
        s = plan_run(m->plan, SEGMENT_LOSS, &m->step, m->scale, err);
    }
    if (!s)
        s = plan_run(m->plan, SEGMENT_BACKWARD, &m->step, m->scale, err);
    m->fresh = m->fresh && s;
    m->step.step += !s;
    return s;
}

/* ---- the optimizer ---- */

static void give_slots(net_model *m)
{
    for (uint32_t k = 0; k < TUTTI_OPTIMIZER_MAX_SLOTS; k++) {
        device_free(m->device, m->slots[k]);
        m->slots[k] = NULL;
    }
    free(m->staged);
    m->staged = NULL;
}

/* State as long as the weights, from zero when surgery has changed them. */
static tutti_status fit_slots(net_model *m, int64_t count, tutti_error *err)
{
    if (m->version == net_version(m->options.net))
        return TUTTI_OK;
    give_slots(m);
    bool there = true;
    for (uint32_t k = 0; k < m->options.optimizer->nslots; k++) {
        m->slots[k] = device_alloc(m->device, (uint64_t)count * sizeof(float));
        there = there && m->slots[k];
    }
    m->staged =
        malloc((m->options.optimizer->nslots + 2u) * (uint64_t)count * sizeof(float) + 1);
    if (!there || !m->staged)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %lld numbers of optimizer state",
                          (long long)count);
    m->count = count;
    for (uint32_t k = 0; k < TUTTI_OPTIMIZER_MAX_SLOTS + 2; k++)
        m->update_desc[k] = (tutti_desc){{count}, 1, TUTTI_F32};
    m->version = net_version(m->options.net);
    return TUTTI_OK;
}

/* in: gradients; out: weights, then slots.  The call's step counts the updates. */
static tutti_status run_update(void *state, const tutti_op_call *c, const void *const *in,
                               void *const *out, void *scratch)
{
    const net_model *m = state;
    tutti_update u = {.struct_size = sizeof u,
                      .n = tutti_numel(&c->in[0]),
                      .w = out[0],
                      .g = in[0],
                      .lr = m->lr,
                      .lr_initial = m->options.optimizer->lr,
                      .step = (int64_t)c->step->step};
    for (uint32_t k = 0; k + 1 < c->nout; k++)
        u.slot[k] = out[k + 1];
    m->options.optimizer->update(m->options.optimizer_self, &u);
    return TUTTI_OK;
}

/* Where only the device's own kernels run: there and back through the host. */
static tutti_status update_staged(net_model *m, const void *grads, void *const *out,
                                  uint32_t nout, tutti_error *err)
{
    const uint64_t bytes = (uint64_t)m->count * sizeof(float);
    const void *in[1] = {m->staged};
    void *staged[TUTTI_OPTIMIZER_MAX_SLOTS + 1] = {NULL};
    tutti_status s =
        device_copy(m->device, m->staged, grads, bytes, TUTTI_COPY_FROM_DEVICE, err);
    for (uint32_t k = 0; k < nout && !s; k++) {
        staged[k] = m->staged + (k + 1) * m->count;
        s = device_copy(m->device, staged[k], out[k], bytes, TUTTI_COPY_FROM_DEVICE, err);
    }
    if (!s)
        s = run_update(m, &m->update_call, in, staged, NULL);
    for (uint32_t k = 0; k < nout && !s; k++)
        s = device_copy(m->device, out[k], staged[k], bytes, TUTTI_COPY_TO_DEVICE, err);
    return s;
}

static bool has_kernel(const net_model *m)
{
    const tutti_optimizer_v1 *o = m->options.optimizer;
    return !device_is_host(m->device) && TUTTI_HAS(o, tutti_optimizer_v1, update_on_device) &&
           o->update_on_device;
}

/* By the optimizer's own kernels. */
static tutti_status update_there(net_model *m, float *weights, const float *grads,
                                 tutti_error *err)
{
    const tutti_optimizer_v1 *o = m->options.optimizer;
    const double numbers[TUTTI_UPDATE_NUMBERS] = {[TUTTI_UPDATE_LR] = m->lr,
                                                  [TUTTI_UPDATE_STEP] = (double)m->updates,
                                                  [TUTTI_UPDATE_FACTOR] = 1.0};
    if (!m->numbers)
        m->numbers = device_alloc(m->device, sizeof numbers);
    if (!m->numbers)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the numbers of an update");
    const tutti_status s =
        device_copy(m->device, m->numbers, numbers, sizeof numbers, TUTTI_COPY_TO_DEVICE, err);
    tutti_update u = {.struct_size = sizeof u,
                      .n = m->count,
                      .w = weights,
                      .g = grads,
                      .lr = m->lr,
                      .lr_initial = o->lr,
                      .step = m->updates,
                      .numbers = m->numbers};
    memcpy(u.slot, m->slots, sizeof u.slot);
    return s ? s : o->update_on_device(m->options.optimizer_self, &u, err);
}

static tutti_status step(void *ctx, tutti_error *err)
{
    net_model *m = ctx;
    const tutti_device *d = m->device;
    const uint32_t nslots = m->options.optimizer->nslots;
    float *weights, *grads;
    int64_t count;
    net_arena(m->options.net, &weights, &grads, &count);
    tutti_status s = fit_slots(m, count, err);
    if (s)
        return s;
    const tutti_step now = {
        .struct_size = sizeof now, .seed = m->options.seed, .step = (uint64_t)++m->updates};
    const void *in[1] = {grads};
    void *out[TUTTI_OPTIMIZER_MAX_SLOTS + 1] = {weights};
    memcpy(out + 1, m->slots, sizeof m->slots);
    m->update_call = (tutti_op_call){.struct_size = sizeof m->update_call,
                                     .nin = 1,
                                     .nout = nslots + 1,
                                     .threads = 1,
                                     .in = m->update_desc,
                                     .out = m->update_desc + 1,
                                     .step = &now};
    if (has_kernel(m))
        s = update_there(m, weights, grads, err);
    else if (!d)
        s = run_update(m, &m->update_call, in, out, NULL);
    else if (strcmp(d->info.kernels, "cpu") != 0)
        s = update_staged(m, grads, out, nslots + 1, err);
    else
        s = d->table->launch(d->device, NULL,
                             &(tutti_launch){.struct_size = sizeof(tutti_launch),
                                             .name = "update",
                                             .run = run_update,
                                             .state = m,
                                             .call = &m->update_call,
                                             .in = in,
                                             .out = out},
                             err);
    m->update_call.step = NULL;
    net_touch_trained(m->options.net);
    return s;
}

/* By the device's kernel: two numbers go there, one comes back. */
static tutti_status scale_there(net_model *m, const tutti_kernel *kernel, float *grads,
                                float factor, int *ret_finite, tutti_error *err)
{
    scaling *s = &m->scaling;
    const float numbers[2] = {factor, 0.0f};
    float found = 0.0f;
    uint64_t scratch = 0;
    const bool first = !s->numbers;
    if (first && !(s->numbers = device_alloc(m->device, sizeof numbers)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a factor of gradients");
    s->in[0] = s->out[0] = (tutti_desc){{m->count}, 1, TUTTI_F32};
    s->in[1] = s->out[1] = (tutti_desc){.dtype = TUTTI_F32};
    s->call = (tutti_op_call){.struct_size = sizeof s->call,
                              .nin = 2,
                              .nout = 2,
                              .threads = 1,
                              .in = s->in,
                              .out = s->out,
                              .step = &s->step,
                              .cuda = program_cuda(m->device)};
    s->step = m->step;
    const void *in[2] = {grads, s->numbers};
    void *out[2] = {grads, s->numbers + 1};
    tutti_status status = first && kernel->prepare
                              ? kernel->prepare(&s->call, &s->state, &scratch, err)
                              : TUTTI_OK;
    if (!status)
        status = device_copy(m->device, s->numbers, numbers, sizeof numbers,
                             TUTTI_COPY_TO_DEVICE, err);
    if (!status)
        status = m->device->table->launch(m->device->device, NULL,
                                          &(tutti_launch){.struct_size = sizeof(tutti_launch),
                                                          .name = "scale_checked",
                                                          .run = kernel->run,
                                                          .state = s->state,
                                                          .call = &s->call,
                                                          .in = in,
                                                          .out = out},
                                          err);
    if (!status)
        status = device_copy(m->device, &found, s->numbers + 1, sizeof found,
                             TUTTI_COPY_FROM_DEVICE, err);
    if (!status)
        *ret_finite = found == 0.0f;
    return status;
}

static tutti_status scale_gradients(void *ctx, double factor, int *ret_finite, tutti_error *err)
{
    net_model *m = ctx;
    float *weights, *grads;
    int64_t count;
    net_arena(m->options.net, &weights, &grads, &count);
    const uint64_t bytes = (uint64_t)count * sizeof(float);
    tutti_status s = fit_slots(m, count, err);
    float *g = device_is_host(m->device) ? grads : m->staged;
    const tutti_op *op = net_op(m->options.net, "scale_checked");
    const tutti_kernel *kernel = op && g != grads ? program_kernel(m->device, op) : NULL;
    if (!s && kernel)
        return scale_there(m, kernel, grads, (float)factor, ret_finite, err);
    if (!s && g != grads)
        s = device_copy(m->device, g, grads, bytes, TUTTI_COPY_FROM_DEVICE, err);
    if (s)
        return s;
    *ret_finite = 1;
    for (int64_t k = 0; k < count; k++) {
        g[k] *= (float)factor;
        *ret_finite &= isfinite(g[k]) != 0;
    }
    return g == grads ? TUTTI_OK
                      : device_copy(m->device, grads, g, bytes, TUTTI_COPY_TO_DEVICE, err);
}

static tutti_status synchronise(void *ctx, tutti_error *err)
{
    const tutti_device *d = ((net_model *)ctx)->device;
    return d ? d->table->synchronise(d->device, NULL, err) : TUTTI_OK;
}

tutti_status net_model_create(const net_model_options *options, net_model **ret_model,
                              tutti_error *err)
{
    if (options->optimizer && options->optimizer->nslots > TUTTI_OPTIMIZER_MAX_SLOTS)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "the optimizer wants %u slots, at most %d are possible",
                          options->optimizer->nslots, TUTTI_OPTIMIZER_MAX_SLOTS);
    if (options->optimizer && TUTTI_HAS(options->optimizer, tutti_optimizer_v1, by_weight) &&
        options->optimizer->by_weight)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "the optimizer updates whole weights, which a model of a program's "
                          "own does not give it; want one that goes element by element");
    net_model *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a model");
    m->options = *options;
    m->device = net_device(options->net);
    m->fresh = true;
    m->scale = 1.0f;
    m->lr = options->optimizer ? options->optimizer->lr : 0.0;
    m->step = (tutti_step){.struct_size = sizeof m->step, .seed = options->seed};
    m->version = UINT64_MAX;
    *ret_model = m;
    return TUTTI_OK;
}

void net_model_destroy(net_model *m)
{
    if (!m)
        return;
    (void)synchronise(m, NULL);
    give_slots(m);
    device_free(m->device, m->numbers);
    device_free(m->device, m->scaling.numbers);
    free(m);
}

tutti_supervised_model net_model_calls(net_model *m)
{
    tutti_supervised_model calls = {.ctx = m, .set_training = set_training, .forward = forward};
    if (!m->options.optimizer)
        return calls;
    calls.loss = loss;
    calls.zero_grad = zero_grad;
    calls.backward = backward;
    calls.scale_gradients = scale_gradients;
    calls.step = step;
    calls.synchronise = synchronise;
    calls.read_loss = read_loss;
    return calls;
}

double net_model_lr(const net_model *m)
{
    return m->lr;
}

void net_model_set_lr(net_model *m, double lr)
{
    m->lr = lr;
}
