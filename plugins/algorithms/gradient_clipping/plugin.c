/* plugin.c - gradient clipping, by norm, by value or by unit: gradients made smaller. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../norm.h"
#include "clip.h"

enum { CLIP_NORM, CLIP_VALUE, CLIP_ADAPTIVE };
enum { KERNEL_SCALE, KERNEL_VALUE, KERNEL_UNITS, KERNELS };

typedef struct clipper {
    norm norm;
    uint32_t kernel[KERNELS];
    int32_t type; /* CLIP_* */
    double threshold;
    algorithm_memory table; /* of units: offset in their span and length; for CLIP_ADAPTIVE */
    int64_t *units;         /* of each span */
    uint32_t nspans;
    uint32_t reserved;
    uint64_t version; /* of the tree that the table is of */
} clipper;

/* ---- the manifest's kernels ---- */

TUTTI_EXPORT void clip_scale_cpu(float *x, const float *factor, int64_t n);
TUTTI_EXPORT void clip_value_cpu(float *g, float limit, int64_t n);
TUTTI_EXPORT void clip_units_cpu(const float *w, float *g, const int64_t *table, int64_t units,
                                 double threshold, int64_t threads);

void clip_scale_cpu(float *x, const float *factor, int64_t n)
{
    const float f = *factor;
    for (int64_t k = 0; k < n && f != 1.0f; k++)
        x[k] *= f;
}

void clip_value_cpu(float *g, float limit, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        g[k] = clip_value(g[k], limit);
}

void clip_units_cpu(const float *w, float *g, const int64_t *table, int64_t units,
                    double threshold, int64_t threads)
{
    (void)threads; /* a GPU's */
    for (int64_t u = 0; u < units; u++) {
        const int64_t at = table[2 * u], n = table[2 * u + 1];
        const double ratio =
            clip_ratio(squares_of(w + at, NULL, n), squares_of(g + at, NULL, n), threshold);
        for (int64_t k = 0; ratio < 1.0 && k < n; k++) /* not for 0 / 0 */
            g[at + k] *= (float)ratio;
    }
}

/* ---- the algorithm ---- */

static tutti_status gradient_clipping_close(void *self, tutti_error *err)
{
    clipper *c = self;
    (void)err;
    norm_fini(&c->norm);
    algorithm_give(&c->norm.device, &c->table);
    free(c->units);
    free(c);
    return TUTTI_OK;
}

static tutti_status gradient_clipping_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    static const char *const names[] = {"clip_scale", "clip_value", "clip_units"};
    const char *type = tutti_param_str(params, "clipping_type");
    clipper *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "gradient_clipping: no memory");
    c->threshold = tutti_param_f64(params, "clipping_threshold");
    c->type = strcmp(type, "norm") == 0    ? CLIP_NORM
              : strcmp(type, "value") == 0 ? CLIP_VALUE
                                           : CLIP_ADAPTIVE;
    tutti_status s = norm_init(&c->norm, host, "gradient_clipping", err);
    if (s || (s = algorithm_kernels(&c->norm.device, names, KERNELS, c->kernel, err))) {
        (void)gradient_clipping_close(c, NULL);
        return s;
    }
    *ret_self = c;
    return TUTTI_OK;
}

static int32_t gradient_clipping_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_AFTER_TRAIN_BATCH;
}

/* ---- units: slices along a weight's first dimension; vectors and scalars are one ---- */

/* Those of one span, written to `table` where there is one; < 0 is a status. */
static int64_t list_units(const clipper *c, const tutti_span *span, int64_t *table,
                          tutti_error *err)
{
    const tutti_device_view_v1 *v = c->norm.device.view;
    int64_t count = 0;
    for (uint32_t k = span->first; k < span->first + span->count; k++) {
        tutti_weight w = {.struct_size = sizeof w};
        const tutti_status s = v->weight(v->ctx, k, &w, err);
        if (s)
            return s;
        const tutti_desc *d = &w.data.desc;
        const int64_t units = d->rank > 1 ? d->dim[0] : 1;
        const int64_t n = units > 0 ? tutti_numel(d) / units : 0;
        const int64_t at = (const float *)w.data.data - span->w;
        for (int64_t u = 0; u < units; u++, count++)
            if (table) {
                table[2 * count] = at + u * n;
                table[2 * count + 1] = n;
            }
    }
    return count;
}

/* One pass over all trained spans: counts, or writes. */
static tutti_status list_all(clipper *c, int64_t *table, int64_t *ret_count, tutti_error *err)
{
    int64_t count = 0;
    for (uint32_t k = 0; k < c->nspans; k++) {
        tutti_span span = {.struct_size = sizeof span};
        const int32_t trained = squares_span(c->norm.device.view, k, &span, err);
        if (trained < 0)
            return trained;
        c->units[k] = trained ? list_units(c, &span, table ? table + 2 * count : NULL, err) : 0;
        if (c->units[k] < 0)
            return (tutti_status)c->units[k];
        count += c->units[k];
    }
    *ret_count = count;
    return TUTTI_OK;
}

static tutti_status fit_units(clipper *c, tutti_error *err)
{
    const tutti_device_view_v1 *v = c->norm.device.view;
    const tutti_weights_v1 *weights = c->norm.squares.weights;
    int64_t count = 0, *table = NULL;
    if (c->units && c->version == weights->version(weights->ctx))
        return TUTTI_OK;
    free(c->units);
    c->nspans = v->spans(v->ctx);
    c->units = calloc((size_t)c->nspans + 1, sizeof *c->units);
    tutti_status s = c->units ? list_all(c, NULL, &count, err) : TUTTI_OK;
    const uint64_t bytes = (uint64_t)count * 2 * sizeof *table;
    if (!s)
        table = malloc(bytes + 1);
    if (!s && (!c->units || !table))
        s = tutti_fail(err, TUTTI_E_NOMEM, "gradient_clipping: no memory for a list of units");
    if (!s)
        s = list_all(c, table, &count, err);
    if (!s)
        s = algorithm_take(&c->norm.device, &c->table, bytes, err);
    if (!s)
        s = v->copy(v->ctx, c->table.data, table, bytes, TUTTI_COPY_TO_DEVICE, err);
    free(table);
    c->version = weights->version(weights->ctx);
    if (s) {
        free(c->units);
        c->units = NULL;
    }
    return s;
}

/* ---- what is done to each span ---- */

static tutti_status gradient_clipping_scale(clipper *c, float *x, float *factor, int64_t n,
                                            tutti_error *err)
{
    return algorithm_launch(&c->norm.device, c->kernel[KERNEL_SCALE], err, &x, &factor, &n);
}

static tutti_status clip_span(clipper *c, tutti_span *span, float *factor, int64_t first,
                              int64_t units, tutti_error *err)
{
    float limit = (float)c->threshold;
    int64_t threads = units * SQUARES_LANES;
    int64_t *table = c->table.data;
    switch (c->type) {
    case CLIP_NORM:
        return gradient_clipping_scale(c, span->g, factor, span->n, err);
    case CLIP_VALUE:
        return algorithm_launch(&c->norm.device, c->kernel[KERNEL_VALUE], err, &span->g, &limit,
                                &span->n);
    default:
        table += 2 * first;
        return algorithm_launch(&c->norm.device, c->kernel[KERNEL_UNITS], err, &span->w,
                                &span->g, &table, &units, &c->threshold, &threads);
    }
}

/* The place of a factor that the update multiplies gradients by as it reads them, or NULL. */
static float *update_factor(const clipper *c)
{
    const tutti_weights_v1 *w = c->norm.squares.weights;
    const int32_t there = c->norm.device.view->device != TUTTI_DEVICE_CPU &&
                          TUTTI_HAS(w, tutti_weights_v1, gradient_factor) && w->gradient_factor;
    return there ? w->gradient_factor(w->ctx) : NULL;
}

static tutti_status gradient_clipping_apply(void *self, const tutti_event *event,
                                            int64_t *ret_exit_code, tutti_error *err)
{
    clipper *c = self;
    const tutti_device_view_v1 *v = c->norm.device.view;
    float *factor = NULL;
    int64_t first = 0;
    (void)event, (void)ret_exit_code;
    tutti_status s = TUTTI_OK;
    if (c->type == CLIP_NORM)
        s = norm_divide(&c->norm, c->threshold, 1e-6, 1.0, &factor, err);
    else if (c->type == CLIP_ADAPTIVE)
        s = fit_units(c, err);
    float *const later = c->type == CLIP_NORM && !s ? update_factor(c) : NULL;
    if (s || later)
        return s ? s : gradient_clipping_scale(c, later, factor, 1, err);
    const uint32_t nspans = v->spans(v->ctx);
    for (uint32_t k = 0; k < nspans && !s; k++) {
        tutti_span span = {.struct_size = sizeof span};
        const int32_t trained = squares_span(v, k, &span, err);
        const int64_t units = c->type == CLIP_ADAPTIVE ? c->units[k] : 0;
        s = trained == 1 ? clip_span(c, &span, factor, first, units, err) : trained;
        first += units;
    }
    return s;
}

ALGORITHM_PLUGIN("gradient_clipping", .open = gradient_clipping_open,
                 .match = gradient_clipping_match, .apply = gradient_clipping_apply,
                 .close = gradient_clipping_close);
