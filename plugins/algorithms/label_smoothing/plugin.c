/* plugin.c - label_smoothing: targets a little towards uniform while the loss is computed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../batch.h"
#include "smooth.h"

typedef struct smoother {
    algorithm_device device;
    double smoothing;
    algorithm_memory kept; /* the targets before smoothing */
    tutti_desc kept_desc;
    uint32_t kernel;
    int32_t held; /* `kept` is to be put back */
} smoother;

/* The manifest's kernel. */
TUTTI_EXPORT void label_smoothing_cpu(const void *x, float *y, float keep, float add,
                                      int32_t kind, int64_t classes, int64_t n);

void label_smoothing_cpu(const void *x, float *y, float keep, float add, int32_t kind,
                         int64_t classes, int64_t n)
{
    for (int64_t row = 0; row * classes < n; row++) {
        const float more = soft_counts(x, kind, row, classes) ? add : 0.0f;
        for (int64_t c = 0; c < classes; c++)
            y[row * classes + c] = soft_at(x, kind, row, c, classes) * keep + more;
    }
}

static tutti_status label_smoothing_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"label_smoothing"};
    smoother *s = calloc(1, sizeof *s);
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "label_smoothing: no memory");
    const tutti_status status =
        batch_open(&s->device, host, "label_smoothing", names, 1, &s->kernel, err);
    if (status) {
        free(s);
        return status;
    }
    batch_keys(&s->device, params);
    s->smoothing = tutti_param_f64(params, "smoothing");
    *ret_self = s;
    return TUTTI_OK;
}

static tutti_status label_smoothing_close(void *self, tutti_error *err)
{
    smoother *s = self;
    (void)err;
    algorithm_give(&s->device, &s->kept);
    free(s);
    return TUTTI_OK;
}

static int32_t label_smoothing_match(void *self, const tutti_event *event)
{
    if (event->id == TUTTI_EVENT_BEFORE_LOSS)
        return 1;
    return event->id == TUTTI_EVENT_AFTER_LOSS && ((smoother *)self)->held;
}

static tutti_status label_smoothing_smooth(smoother *s, tutti_error *err)
{
    const tutti_device_view_v1 *view = s->device.view;
    tutti_tensor target, y;
    tutti_desc outputs;
    batch_soft soft;
    tutti_status status = batch_get(&s->device, s->device.target, &target, err);
    const uint64_t bytes = status ? 0 : tutti_nbytes(&target.desc);
    if (status || (status = batch_describe(&s->device, "outputs", &outputs, err)) ||
        (status = batch_soften("label_smoothing", &target, &outputs, &soft, err)) ||
        (status = algorithm_take(&s->device, &s->kept, bytes, err)) ||
        (status = view->copy(view->ctx, s->kept.data, target.data, bytes, TUTTI_COPY_ON_DEVICE,
                             err)))
        return status;
    s->kept_desc = target.desc;
    outputs.dtype = TUTTI_F32;
    if ((status = view->renew(view->ctx, s->device.target, &outputs, &y, err)))
        return status;
    s->held = 1;
    float keep = (float)(1.0 - s->smoothing);
    float add = (float)(s->smoothing / (double)soft.classes);
    int64_t n = tutti_numel(&outputs);
    return algorithm_launch(&s->device, s->kernel, err, &soft.data, &y.data, &keep, &add,
                            &soft.kind, &soft.classes, &n);
}

static tutti_status put_back(smoother *s, tutti_error *err)
{
    const tutti_device_view_v1 *view = s->device.view;
    tutti_tensor target;
    const tutti_status status =
        view->renew(view->ctx, s->device.target, &s->kept_desc, &target, err);
    s->held = 0;
    return status ? status
                  : view->copy(view->ctx, target.data, s->kept.data,
                               tutti_nbytes(&s->kept_desc), TUTTI_COPY_ON_DEVICE, err);
}

static tutti_status label_smoothing_apply(void *self, const tutti_event *event,
                                          int64_t *ret_exit_code, tutti_error *err)
{
    smoother *s = self;
    (void)ret_exit_code;
    return event->id == TUTTI_EVENT_BEFORE_LOSS ? label_smoothing_smooth(s, err)
                                                : put_back(s, err);
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = label_smoothing_open,
                                  .match = label_smoothing_match,
                                  .apply = label_smoothing_apply,
                                  .close = label_smoothing_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("label_smoothing", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.label_smoothing", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
