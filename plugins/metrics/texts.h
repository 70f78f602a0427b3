/* texts.h - the shell of a metric plugin over texts: what tokens that a model predicts stand for, beside what those of
 * the target do.  The including file defines METRIC_NAME, the object's name, and TEXT_SUMS, how many sums it has, first;
 * text_split, text_add and text_value after.  It may define TEXT_INT, TEXT_WHICH, TEXT_SCORE and TEXT_ACCUMULATE, names
 * of settings; TEXT_WEIGHTS, the most that the setting "weights" has; TEXT_ONE_REFERENCE where a sample has but one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_TEXTS_H
#define METRIC_TEXTS_H

#include "texts_take.h"

#include <math.h>
#include <stdlib.h>

static inline tutti_status text_check(const tutti_metric_input *in, tutti_error *err)
{
    if (in->noutputs < 1 || in->ntargets < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          METRIC_NAME ": got %u outputs and %u targets, want one of each",
                          in->noutputs, in->ntargets);
    const tutti_tensor *x = &in->outputs[0], *y = &in->targets[0];
    const int logits = x->desc.dtype == TUTTI_F32 && x->desc.rank == 3;
    const int tokens = metric_is_index(x->desc.dtype) && x->desc.rank == 2;
    if (x->device != TUTTI_DEVICE_CPU || y->device != TUTTI_DEVICE_CPU)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          METRIC_NAME ": outputs or targets are not in the host's memory");
    if ((!logits && !tokens) || !metric_is_index(y->desc.dtype) ||
        (y->desc.rank != 2 && y->desc.rank != 3) || x->desc.dim[0] != y->desc.dim[0] ||
        (logits && x->desc.dim[2] < 1))
        return metric_refuse(METRIC_NAME,
                             "logits F32 (B, T, N) or tokens (B, T), and tokens (B, S) or "
                             "(B, R, S)",
                             in, err);
    return TUTTI_OK;
}

/* Where a sample cannot be taken, nothing of the batch is counted. */
static tutti_status text_update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    texts *m = (texts *)self;
    double before[TEXT_SUMS];
    tutti_status s = text_check(in, err);
    if (s != TUTTI_OK)
        return s;
    m->names = m->train ? (const tutti_vocabulary_v1 *)m->train->dataset(
                              m->train->ctx, TUTTI_VOCABULARY_V1, &m->names_self)
                        : NULL;
    memcpy(before, m->sums, sizeof before);
    for (int64_t b = 0; b < in->outputs[0].desc.dim[0] && s == TUTTI_OK; b++)
        s = text_take(m, in, b, err);
    if (s != TUTTI_OK)
        memcpy(m->sums, before, sizeof before);
    return s;
}

static void text_reset(void *self)
{
    memset(((texts *)self)->sums, 0, sizeof((texts *)self)->sums);
}

static double text_compute(void *self)
{
    return text_value((const texts *)self);
}

static tutti_status text_close(void *self, tutti_error *err)
{
    texts *m = (texts *)self;
    (void)err;
    free(m->guess.bytes);
    free(m->guess.words);
    for (int64_t r = 0; r < m->capacity; r++) {
        free(m->targets[r].bytes);
        free(m->targets[r].words);
    }
    free(m->targets);
    free(m->work);
    free(m);
    return TUTTI_OK;
}

#ifdef TEXT_WEIGHTS
/* The setting "weights", one for each of m->n; equal ones where there is none. */
static tutti_status text_weights(texts *m, const tutti_params *params, tutti_error *err)
{
    const tutti_param *p = tutti_param_find(params, "weights");
    const int given = tutti_param_is_set(params, "weights");
    if (given && (int64_t)p->count != m->n)
        return tutti_fail(err, TUTTI_E_ARG,
                          METRIC_NAME ": weights has %u numbers, " TEXT_INT
                                      " is %lld: want one for each",
                          (unsigned)p->count, (long long)m->n);
    for (int64_t k = 0; k < m->n; k++)
        m->weights[k] = given ? p->items[k]->f : 1.0 / (double)m->n;
    return TUTTI_OK;
}
#endif

static tutti_status text_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    texts *m = (texts *)calloc(1, sizeof *m);
    if (!m)
        return text_no_memory(err);
    m->train = (const tutti_train_v1 *)host->query(host->ctx, TUTTI_TRAIN_V1);
    m->ignores = tutti_param_is_set(params, "ignore_index");
    m->ignored = tutti_param_i64(params, "ignore_index");
    m->has_blank = tutti_param_is_set(params, "blank");
    m->blank = tutti_param_i64(params, "blank");
#ifdef TEXT_INT
    m->n = tutti_param_i64(params, TEXT_INT);
#endif
#ifdef TEXT_WHICH
    m->which = (int32_t)tutti_param_i64(params, TEXT_WHICH);
#endif
#ifdef TEXT_SCORE
    m->score = (int32_t)tutti_param_i64(params, TEXT_SCORE);
#endif
#ifdef TEXT_ACCUMULATE
    m->accumulate = (int32_t)tutti_param_i64(params, TEXT_ACCUMULATE);
#endif
#ifdef TEXT_WEIGHTS
    const tutti_status s = text_weights(m, params, err);
    if (s != TUTTI_OK) {
        free(m);
        return s;
    }
#endif
    m->table = (tutti_metric_v1){.struct_size = (uint32_t)sizeof m->table,
                                 .nsums = TEXT_SUMS,
                                 .sums = m->sums,
                                 .name = METRIC_NAME,
                                 .reset = text_reset,
                                 .update = text_update,
                                 .compute = text_compute};
    *ret_self = m;
    return TUTTI_OK;
}

static const void *text_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const texts *)self)->table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = text_open, .close = text_close, .query = text_query);

#endif
