/* moments.c - where an optimizer's first moments lie, and the launches that sum their squares. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* slot */
#include "moments.h"

#include <stdlib.h>

/* Numbers between the moments of two weights, for alignment, that do not end a run. */
enum { MOST_PADDING = 64 };

void moments_fini(moments *m)
{
    if (m->squares && m->squares->view)
        m->squares->view->give(m->squares->view->ctx, m->table);
    free(m->runs);
    free(m->pieces);
    *m = (moments){.squares = m->squares};
}

static tutti_status moments_make_room(moments *m, tutti_error *err)
{
    const squares *s = m->squares;
    const size_t n = (size_t)s->count + 1;
    void *memory = NULL;
    if (m->pieces && m->version == s->version)
        return TUTTI_OK;
    moments_fini(m);
    m->runs = calloc(n, sizeof *m->runs);
    m->pieces = calloc(n, 2 * sizeof *m->pieces);
    if (!m->runs || !m->pieces) {
        moments_fini(m);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for lists of moments", s->who);
    }
    const tutti_status status =
        s->view->take(s->view->ctx, n * 2 * sizeof *m->table, &memory, err);
    if (status) {
        moments_fini(m);
        return status;
    }
    m->table = memory;
    m->version = s->version;
    return TUTTI_OK;
}

/* As Adam's kin and those of descent with momentum call it. */
static int32_t is_first_moment(const char *name)
{
    return strcmp(name, "exp_avg") == 0 || strcmp(name, "momentum") == 0 ||
           strcmp(name, "momentum_buffer") == 0;
}

/* The first moment of a weight of n numbers; NULL: its optimizer keeps none. */
static tutti_status moments_find(const squares *s, uint32_t weight, int64_t n, float **ret,
                                 tutti_error *err)
{
    const uint32_t nslots = s->weights->slots(s->weights->ctx, weight);
    *ret = NULL;
    for (uint32_t k = 0; k < nslots && !*ret; k++) {
        tutti_slot slot = {.struct_size = sizeof slot};
        const tutti_status status = s->view->slot(s->view->ctx, weight, k, &slot, err);
        if (status)
            return status;
        if (is_first_moment(slot.name) && tutti_numel(&slot.data.desc) == n)
            *ret = slot.data.data;
    }
    return TUTTI_OK;
}

/* Pieces [first, end) are of a weight of n numbers, whose moment is `x`. */
static void moments_add(moments *m, uint32_t first, uint32_t end, int64_t n, float *x)
{
    moment_run *run = m->nruns ? &m->runs[m->nruns - 1] : NULL;
    const int64_t *last = first ? m->pieces + 2 * ((size_t)first - 1) : NULL;
    const uintptr_t after = run && last ? (uintptr_t)(run->x + last[0] + last[1]) : 0;
    const uintptr_t at = (uintptr_t)x;
    if (run && run->end == first && at >= after && at - after < MOST_PADDING * sizeof *x)
        run->end = end;
    else
        m->runs[m->nruns++] = (moment_run){x, first, end};
    run = &m->runs[m->nruns - 1];
    for (uint32_t k = first; k < end; k++) {
        const int64_t from = (int64_t)(k - first) * SQUARES_PIECE;
        m->pieces[2 * (size_t)k] = (x - run->x) + from;
        m->pieces[2 * (size_t)k + 1] = n - from < SQUARES_PIECE ? n - from : SQUARES_PIECE;
    }
}

static tutti_status moments_gather(moments *m, tutti_error *err)
{
    const squares *s = m->squares;
    m->nruns = 0;
    memset(m->pieces, 0, s->count * 2 * sizeof *m->pieces);
    for (uint32_t first = 0, end = 0; first < s->count; first = end) {
        const uint32_t weight = s->pieces[first].weight;
        tutti_weight w = {.struct_size = sizeof w};
        float *x = NULL;
        while (end < s->count && s->pieces[end].weight == weight)
            end++;
        tutti_status status = s->weights->describe(s->weights->ctx, weight, &w, err);
        const int64_t n = status ? 0 : tutti_numel(&w.data.desc);
        if (status || (status = moments_find(s, weight, n, &x, err)))
            return status;
        if (x)
            moments_add(m, first, end, n, x);
    }
    return TUTTI_OK;
}

tutti_status moments_launch(moments *m, tutti_error *err)
{
    squares *s = m->squares;
    tutti_status status = squares_fit(s, err);
    if (status || (status = moments_make_room(m, err)) || (status = moments_gather(m, err)) ||
        (status = s->view->copy(s->view->ctx, m->table, m->pieces,
                                s->count * 2 * sizeof *m->pieces, TUTTI_COPY_TO_DEVICE, err)))
        return status;
    for (uint32_t k = 0; k < m->nruns && !status; k++) {
        const moment_run *run = &m->runs[k];
        int64_t pieces = run->end - run->first, threads = pieces * SQUARES_LANES;
        float *x = run->x, *less = NULL;
        int64_t *table = m->table + 2 * (int64_t)run->first;
        double *parts = s->parts + run->first;
        void *args[] = {&x, &less, &table, &parts, &pieces, &threads};
        status = s->kernels->launch(s->kernels->ctx, s->kernel, args,
                                    sizeof args / sizeof *args, err);
    }
    return status;
}
