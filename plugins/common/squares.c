/* squares.c - the pieces of all trained weights, and the launches that sum their squares. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "squares.h"

#include <stdlib.h>
#include <string.h>

/* The manifest's kernel. */
TUTTI_EXPORT void squares_cpu(const float *x, const float *less, const int64_t *table,
                              double *parts, int64_t pieces, int64_t threads);

void squares_cpu(const float *x, const float *less, const int64_t *table, double *parts,
                 int64_t pieces, int64_t threads)
{
    (void)threads; /* a GPU's */
    for (int64_t p = 0; p < pieces; p++) {
        const int64_t at = table[2 * p], n = table[2 * p + 1];
        parts[p] = squares_of(x + at, less ? less + at : NULL, n);
    }
}

tutti_status squares_init(squares *s, const tutti_host *host, const char *who, tutti_error *err)
{
    static const char *const ids[] = {TUTTI_DEVICE_VIEW_V1, TUTTI_KERNEL_V1, TUTTI_WEIGHTS_V1};
    const void *tables[3];
    for (int k = 0; k < 3; k++) {
        tables[k] = host->query(host->ctx, ids[k]);
        if (!tables[k])
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: this host has no %s", who, ids[k]);
    }
    *s = (squares){.who = who, .view = tables[0], .kernels = tables[1], .weights = tables[2]};
    return s->kernels->find(s->kernels->ctx, "squares", &s->kernel, err);
}

void squares_fini(squares *s)
{
    if (s->view) {
        s->view->give(s->view->ctx, s->table);
        s->view->give(s->view->ctx, s->parts);
    }
    free(s->pieces);
    free(s->first);
    s->table = NULL;
    s->parts = NULL;
    s->pieces = NULL;
    s->first = NULL;
    s->count = s->nspans = 0;
}

/* Pieces of weight k, `at` in its span: written where there are lists, counted always. */
static uint32_t squares_cut(const tutti_weight *w, uint32_t k, uint32_t span, int64_t at,
                            squares_piece *pieces, int64_t *table, uint32_t count)
{
    const int64_t n = tutti_numel(&w->data.desc);
    for (int64_t from = 0; from < n; from += SQUARES_PIECE, count++) {
        if (!pieces)
            continue;
        pieces[count] = (squares_piece){k, span};
        table[2 * count] = at + from;
        table[2 * count + 1] = n - from < SQUARES_PIECE ? n - from : SQUARES_PIECE;
    }
    return count;
}

/* Walks all trained weights; without lists it only counts. */
static tutti_status squares_walk(squares *s, uint32_t nspans, squares_piece *pieces,
                                 int64_t *table, uint32_t *first, uint32_t *ret_count,
                                 tutti_error *err)
{
    const tutti_device_view_v1 *v = s->view;
    uint32_t count = 0;
    for (uint32_t k = 0; k < nspans; k++) {
        tutti_span span = {.struct_size = sizeof span};
        const int32_t trained = squares_span(v, k, &span, err);
        first[k] = count;
        for (uint32_t j = 0; trained == 1 && j < span.count; j++) {
            tutti_weight w = {.struct_size = sizeof w};
            const tutti_status status = v->weight(v->ctx, span.first + j, &w, err);
            if (status)
                return status;
            count = squares_cut(&w, span.first + j, k, (const float *)w.data.data - span.w,
                                pieces, table, count);
        }
        if (trained < 0)
            return trained;
    }
    first[nspans] = count;
    *ret_count = count;
    return TUTTI_OK;
}

/* The lists on the host, then the device's memory. */
static tutti_status squares_fill(squares *s, tutti_error *err)
{
    const tutti_device_view_v1 *v = s->view;
    const uint32_t nspans = v->spans(v->ctx);
    uint32_t count = 0;
    int64_t *table = NULL;
    void *memory = NULL;
    tutti_status status = TUTTI_OK;
    s->first = calloc((size_t)nspans + 1, sizeof *s->first);
    if (s->first)
        status = squares_walk(s, nspans, NULL, NULL, s->first, &count, err);
    if (status)
        return status;
    s->pieces = calloc((size_t)count + 1, sizeof *s->pieces);
    table = calloc((size_t)count + 1, 2 * sizeof *table);
    if (!s->first || !s->pieces || !table) {
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for lists of weights", s->who);
        goto fail;
    }
    status = squares_walk(s, nspans, s->pieces, table, s->first, &count, err);
    if (status || (status = v->take(v->ctx, count * 2 * sizeof *table, &memory, err)))
        goto fail;
    s->table = memory;
    if ((status = v->take(v->ctx, count * sizeof *s->parts, &memory, err)))
        goto fail;
    s->parts = memory;
    status =
        v->copy(v->ctx, s->table, table, count * 2 * sizeof *table, TUTTI_COPY_TO_DEVICE, err);
    s->count = count;
    s->nspans = nspans;

fail:
    free(table);
    return status;
}

tutti_status squares_fit(squares *s, tutti_error *err)
{
    const uint64_t version = s->weights->version(s->weights->ctx);
    if (s->table && s->version == version)
        return TUTTI_OK;
    squares_fini(s);
    const tutti_status status = squares_fill(s, err);
    if (status)
        squares_fini(s);
    s->version = version;
    return status;
}

tutti_status squares_launch(squares *s, int what, float *const *less, tutti_error *err)
{
    tutti_status status = squares_fit(s, err);
    for (uint32_t k = 0; k < s->nspans && !status; k++) {
        tutti_span span = {.struct_size = sizeof span};
        int64_t pieces = s->first[k + 1] - s->first[k], threads = pieces * SQUARES_LANES;
        const int32_t trained = squares_span(s->view, k, &span, err);
        if (trained < 0)
            return trained;
        if (!trained || pieces == 0)
            continue;
        float *x = what == SQUARES_OF_GRADIENTS ? span.g : span.w;
        float *minus = less ? less[k] : NULL;
        int64_t *table = s->table + 2 * (int64_t)s->first[k];
        double *parts = s->parts + s->first[k];
        void *args[] = {&x, &minus, &table, &parts, &pieces, &threads};
        status = s->kernels->launch(s->kernels->ctx, s->kernel, args,
                                    sizeof args / sizeof *args, err);
    }
    return status;
}
