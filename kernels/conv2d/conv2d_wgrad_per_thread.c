/* conv2d_wgrad_per_thread.c - wgrad, the gradient of a convolution's weights: each thread sums its own images. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_algorithms.h"

#include <stdlib.h>

typedef struct chunk {
    dnn *conv;
    int64_t first, images;
    uint64_t sums; /* of its weights in the scratch, in bytes; the first one's are the result */
    uint64_t picked; /* its pixels of x, where the convolution skips some */
    uint64_t scratch;
} chunk;

struct conv2d_wgrad_per_thread {
    conv2d_geometry g;
    conv2d_dtypes dtypes;
    int64_t weights; /* entries of dw */
    int32_t count;
    int32_t picks;  /* 1: single pixels with a stride; those that are read are gathered first */
    chunk chunks[]; /* count */
};

static int64_t weights_of(const conv2d_geometry *g)
{
    return g->o * g->kh * g->kw * (g->c / g->g);
}

/* Adding up should be the lesser work. */
int conv2d_wgrad_per_thread_fit(const conv2d_geometry *g, int32_t threads)
{
    const int64_t images = g->b * (g->h * g->w * g->c + g->oh * g->ow * g->o);
    return threads > 1 && g->b > 1 && threads * weights_of(g) <= images;
}

static tutti_status chunk_create(const conv2d_wgrad_per_thread *s, chunk *p, uint64_t *scratch,
                                 tutti_error *err)
{
    conv2d_geometry g = s->g;
    uint64_t bytes = 0;
    g.b = p->images;
    if (s->picks) {
        g.h = g.oh;
        g.w = g.ow;
        g.sh = g.sw = 1;
    }
    const dnn_call call = conv2d_call(DNN_CONV_GRAD_WEIGHT, &g, &s->dtypes, 1, DNN_DIRECT);
    const tutti_status status = dnn_create(&call, "conv2d", &p->conv, &bytes, err);
    p->sums = *scratch;
    *scratch += p->first ? conv2d_align(TUTTI_F32, s->weights) : 0;
    p->picked = *scratch;
    *scratch += s->picks ? conv2d_align(s->dtypes.x, g.b * g.h * g.w * g.c) : 0;
    p->scratch = *scratch;
    *scratch += (bytes + 63) / 64 * 64;
    return status;
}

tutti_status conv2d_wgrad_per_thread_create(const conv2d_geometry *g, const conv2d_dtypes *t,
                                            int32_t threads, conv2d_wgrad_per_thread **ret,
                                            uint64_t *ret_scratch, tutti_error *err)
{
    const int32_t count = g->b < threads ? (int32_t)g->b : threads;
    conv2d_wgrad_per_thread *s = calloc(1, sizeof *s + (size_t)count * sizeof *s->chunks);
    uint64_t scratch = 0;
    if (!s)
        return tutti_fail(err, TUTTI_E_NOMEM, "conv2d: no memory for its state");
    s->g = *g;
    s->dtypes = *t;
    s->weights = weights_of(g);
    s->count = count;
    s->picks = conv2d_1x1_fit(g) && conv2d_skips(g);
    for (int32_t k = 0; k < count; k++) {
        chunk *p = &s->chunks[k];
        p->first = g->b * k / count;
        p->images = g->b * (k + 1) / count - p->first;
        const tutti_status status = chunk_create(s, p, &scratch, err);
        if (status) {
            conv2d_wgrad_per_thread_destroy(s);
            return status;
        }
    }
    *ret = s;
    *ret_scratch = scratch;
    return TUTTI_OK;
}

void conv2d_wgrad_per_thread_destroy(conv2d_wgrad_per_thread *s)
{
    for (int32_t k = 0; s && k < s->count; k++)
        dnn_destroy(s->chunks[k].conv);
    free(s);
}

/* Of an array of `dtype`. */
static const void *element(const void *data, int32_t dtype, int64_t at)
{
    return (const char *)data + (uint64_t)at * tutti_dtype_size(dtype);
}

static tutti_status chunk_run(const conv2d_wgrad_per_thread *s, const chunk *p, const void *x,
                              const void *dy, float *dw, unsigned char *memory)
{
    const conv2d_geometry *g = &s->g;
    const void *from = element(x, s->dtypes.x, p->first * g->h * g->w * g->c);
    if (s->picks) {
        void *picked = memory + p->picked;
        for (int64_t r = 0; r < p->images * g->oh; r++)
            conv2d_pick(g, s->dtypes.x, r, from, picked);
        from = picked;
    }
    void *const data[DNN_SLOTS] = {[DNN_SRC] = (void *)(uintptr_t)from,
                                   [DNN_WEIGHTS] = dw,
                                   [DNN_DST] = (void *)(uintptr_t)element(
                                       dy, s->dtypes.y, p->first * g->oh * g->ow * g->o)};
    return dnn_run(p->conv, data, memory + p->scratch);
}

tutti_status conv2d_wgrad_per_thread_run(const conv2d_wgrad_per_thread *s, const void *x,
                                         const void *dy, float *dw, void *scratch)
{
    unsigned char *memory = scratch;
    int failed = 0;
#pragma omp parallel for schedule(static, 1) num_threads(s->count) reduction(| : failed)
    for (int32_t k = 0; k < s->count; k++) {
        const chunk *p = &s->chunks[k];
        float *sums = k ? (float *)(void *)(memory + p->sums) : dw;
        failed |= chunk_run(s, p, x, dy, sums, memory) != TUTTI_OK;
    }
    if (failed)
        return TUTTI_E_FAIL;
    const int threads = s->weights < OP_SERIAL_BELOW ? 1 : s->count;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++) {
        int64_t first;
        const int64_t n = op_chunk(s->weights, t, threads, &first);
        for (int32_t k = 1; k < s->count; k++) {
            const float *from =
                (const float *)(const void *)(memory + s->chunks[k].sums) + first;
            float *to = dw + first;
            OP_LOOP
            for (int64_t j = 0; j < n; j++)
                to[j] += from[j];
        }
    }
    return TUTTI_OK;
}
