/* plugin.c - gradient_clipping: gradients made smaller by norm, by value or by unit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "tutti/weights.h"

enum { CLIP_NORM, CLIP_VALUE, CLIP_ADAPTIVE };

typedef struct clipper {
    const tutti_weights_v1 *weights;
    double threshold;
    int32_t type; /* CLIP_* */
    int32_t reserved;
} clipper;

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    const tutti_weights_v1 *weights =
        algorithm_service(host, "gradient_clipping", TUTTI_WEIGHTS_V1, err);
    if (!weights)
        return TUTTI_E_UNSUPPORTED;
    const char *type = tutti_param_str(params, "clipping_type");
    clipper *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "gradient_clipping: no memory");
    c->weights = weights;
    c->threshold = tutti_param_f64(params, "clipping_threshold");
    c->type = strcmp(type, "norm") == 0    ? CLIP_NORM
              : strcmp(type, "value") == 0 ? CLIP_VALUE
                                           : CLIP_ADAPTIVE;
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int32_t match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_TRAIN_BATCH;
}

static double sum_of_squares(const float *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void scale(float *x, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void clip_value(float *g, int64_t n, float limit)
{
    for (int64_t i = 0; i < n; i++) /* a NaN stays one */
        g[i] = g[i] > limit ? limit : g[i] < -limit ? -limit : g[i];
}

/* Brock et al. 2021: each unit's gradient is at most `threshold` times as long as its weights.  Units
 * are the slices along the first dimension; vectors and scalars are one unit. */
static void clip_adaptive(const tutti_weight *w, double threshold)
{
    const tutti_desc *d = &w->data.desc;
    const int64_t units = d->rank > 1 ? d->dim[0] : 1;
    const int64_t n = units > 0 ? tutti_numel(d) / units : 0;
    for (int64_t u = 0; u < units; u++) {
        float *g = (float *)w->grad + u * n;
        const double limit =
            threshold * sqrt(sum_of_squares((const float *)w->data.data + u * n, n));
        const double ratio = limit / sqrt(sum_of_squares(g, n));
        if (ratio < 1.0) /* not for 0 / 0 */
            scale(g, n, (float)ratio);
    }
}

/* Calls `visit` for every weight that has a gradient. */
static tutti_status each(clipper *c, void (*visit)(clipper *, const tutti_weight *, double *),
                         double *value, tutti_error *err)
{
    const uint32_t count = c->weights->count(c->weights->ctx);
    for (uint32_t k = 0; k < count; k++) {
        tutti_weight w = {.struct_size = sizeof w};
        const tutti_status status = c->weights->at(c->weights->ctx, k, &w, err);
        if (status)
            return status;
        if (w.grad)
            visit(c, &w, value);
    }
    return TUTTI_OK;
}

static void add_squares(clipper *c, const tutti_weight *w, double *sum)
{
    (void)c;
    *sum += sum_of_squares(w->grad, tutti_numel(&w->data.desc));
}

static void scale_by(clipper *c, const tutti_weight *w, double *factor)
{
    (void)c;
    scale(w->grad, tutti_numel(&w->data.desc), (float)*factor);
}

static void clip_one(clipper *c, const tutti_weight *w, double *unused)
{
    (void)unused;
    if (c->type == CLIP_VALUE)
        clip_value(w->grad, tutti_numel(&w->data.desc), (float)c->threshold);
    else
        clip_adaptive(w, c->threshold);
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    clipper *c = self;
    (void)event, (void)ret_exit_code;
    double sum = 0.0;
    if (c->type != CLIP_NORM)
        return each(c, clip_one, &sum, err);
    const tutti_status status = each(c, add_squares, &sum, err);
    double factor = c->threshold / (sqrt(sum) + 1e-6);
    if (status || factor >= 1.0)
        return status;
    return each(c, scale_by, &factor, err);
}

static const tutti_calls calls = {sizeof calls, 0, open, match, apply, NULL, close, NULL, NULL};
static const tutti_object object =
    TUTTI_OBJECT_INIT("gradient_clipping", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.gradient_clipping", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
