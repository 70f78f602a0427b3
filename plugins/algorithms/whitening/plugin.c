/* plugin.c - whitening: the first convolution begins with filters that whiten windows of the images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "eigen.h"
#include "tutti/device_view.h"
#include "tutti/module.h"

#include <math.h>

enum { MOST = 512 }; /* numbers of a window */

typedef struct whitening {
    const tutti_device_view_v1 *view;
    const tutti_module_v1 *modules;
    double epsilon;
    int64_t samples;
} whitening;

static tutti_status whitening_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    const void *view = algorithm_service(host, "whitening", TUTTI_DEVICE_VIEW_V1, err);
    const void *modules = algorithm_service(host, "whitening", TUTTI_MODULE_V1, err);
    if (!view || !modules)
        return TUTTI_E_UNSUPPORTED;
    whitening *w = calloc(1, sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "whitening: no memory");
    *w = (whitening){view, modules, tutti_param_f64(params, "epsilon"),
                     tutti_param_i64(params, "samples")};
    *ret_self = w;
    return TUTTI_OK;
}

static tutti_status whitening_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* A resumed run has the filters among its weights. */
static int32_t whitening_match(void *self, const tutti_event *event)
{
    (void)self;
    return event->id == TUTTI_EVENT_BATCH_START && event->time->batch == 0;
}

/* The convolution, and the shape of its weight. */
typedef struct whitening_layer {
    tutti_module module;
    int64_t filters;
    int64_t kernel;
    int64_t n; /* numbers of a filter */
} whitening_layer;

/* The first convolution over that many channels, whose filters the windows' directions and their opposites suffice for. */
static tutti_status whitening_find(const whitening *w, int64_t channels, whitening_layer *ret,
                                   tutti_error *err)
{
    const tutti_module_v1 *s = w->modules;
    for (tutti_module m = s->root(s->ctx); m; m = s->next(s->ctx, m)) {
        const tutti_params *p = s->params(s->ctx, m);
        if (strcmp(s->kind(s->ctx, m), "conv2d") != 0 ||
            tutti_param_i64(p, "in_channels") != channels || tutti_param_i64(p, "groups") != 1)
            continue;
        const int64_t filters = tutti_param_i64(p, "out_channels");
        const int64_t kernel = tutti_param_i64(p, "kernel_size");
        const whitening_layer found = {m, filters, kernel, kernel * kernel * channels};
        if (filters % 2 || filters > 2 * found.n || found.n > MOST)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "whitening: %s has %lld filters of %lld numbers, want an even "
                              "number, at most two a number, and at most %d numbers",
                              s->path(s->ctx, m), (long long)filters, (long long)found.n,
                              (int)MOST);
        *ret = found;
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND,
                      "whitening: the model has no convolution over %lld channels",
                      (long long)channels);
}

/* sum += p p^T for each window p of one image (H, W, C): `rows` rows of K C numbers that lie side by side. */
static void whitening_add(const float *image, const tutti_desc *images, int64_t kernel,
                          double *sum)
{
    const int64_t wide = images->dim[2], channels = images->dim[3], row = kernel * channels;
    const int64_t n = kernel * row;
    double p[MOST];
    for (int64_t y = 0; y + kernel <= images->dim[1]; y++)
        for (int64_t x = 0; x + kernel <= wide; x++) {
            for (int64_t k = 0; k < n; k++)
                p[k] = (double)image[((y + k / row) * wide + x) * channels + k % row];
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++)
                    sum[i * n + j] += p[i] * p[j];
        }
}

/* Row k: the k-th direction over the root of its mean square; then their opposites. */
static void whitening_filters(double *mean, int64_t n, int64_t filters, double epsilon,
                              double *scratch, float *ret)
{
    double *values = scratch, *vectors = scratch + n;
    eigen_symmetric(mean, n, values, vectors);
    for (int64_t k = 0; k < filters / 2; k++) {
        const double scale = 1.0 / sqrt(fmax(values[k], 0.0) + epsilon);
        for (int64_t j = 0; j < n; j++) {
            ret[k * n + j] = (float)(vectors[k * n + j] * scale);
            ret[(k + filters / 2) * n + j] = -ret[k * n + j];
        }
    }
}

/* From `images`, in the host's memory, to the weight. */
static tutti_status whitening_compute(const whitening *w, const float *data,
                                      const tutti_desc *images, const whitening_layer *to,
                                      tutti_error *err)
{
    const int64_t n = to->n, size = images->dim[1] * images->dim[2] * images->dim[3];
    const int64_t windows =
        images->dim[0] * (images->dim[1] - to->kernel + 1) * (images->dim[2] - to->kernel + 1);
    const uint64_t bytes = (uint64_t)(to->filters * n) * sizeof(float);
    double *sum = calloc((size_t)(n * (2 * n + 1)), sizeof *sum);
    float *filters = malloc(bytes);
    tutti_status s = TUTTI_OK;
    if (!sum || !filters)
        s = tutti_fail(err, TUTTI_E_NOMEM, "whitening: no memory");
    for (int64_t k = 0; k < images->dim[0] && !s; k++)
        whitening_add(data + k * size, images, to->kernel, sum);
    for (int64_t k = 0; k < n * n && !s; k++)
        sum[k] /= (double)windows;
    if (!s) {
        whitening_filters(sum, n, to->filters, w->epsilon, sum + n * n, filters);
        s = w->modules->set_weight(w->modules->ctx, to->module, "weight", filters, bytes, err);
    }
    free(filters);
    free(sum);
    return s;
}

static tutti_status whitening_check(const tutti_desc *images, tutti_error *err)
{
    char text[96];
    if (images->rank == 4 && images->dtype == TUTTI_F32 && images->dim[0] > 0)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_SHAPE,
                      "whitening: the input is %s, want images F32 (B, H, W, C)",
                      tutti_desc_text(images, text, sizeof text));
}

static tutti_status whitening_apply(void *self, const tutti_event *event,
                                    int64_t *ret_exit_code, tutti_error *err)
{
    const whitening *w = self;
    tutti_desc images = {{0}, 0, 0};
    whitening_layer to = {0, 0, 0, 0};
    tutti_tensor input;
    (void)event, (void)ret_exit_code;
    tutti_status s = w->view->describe(w->view->ctx, "input", &images, err);
    if (s || (s = whitening_check(&images, err)) ||
        (s = whitening_find(w, images.dim[3], &to, err)))
        return s;
    if (to.kernel > images.dim[1] || to.kernel > images.dim[2])
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "whitening: images are %lld x %lld, smaller than a window of %s",
                          (long long)images.dim[1], (long long)images.dim[2],
                          w->modules->path(w->modules->ctx, to.module));
    images.dim[0] = images.dim[0] < w->samples ? images.dim[0] : w->samples;
    float *data = malloc(tutti_nbytes(&images));
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "whitening: no memory for images");
    s = w->view->get(w->view->ctx, "input", &input, err);
    if (!s)
        s = w->view->copy(w->view->ctx, data, input.data, tutti_nbytes(&images),
                          TUTTI_COPY_FROM_DEVICE, err);
    if (!s)
        s = whitening_compute(w, data, &images, &to, err);
    free(data);
    return s;
}

ALGORITHM_PLUGIN("whitening", .open = whitening_open, .match = whitening_match,
                 .apply = whitening_apply, .close = whitening_close);
