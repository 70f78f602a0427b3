/* texts.h - the shell of a metric plugin over texts: what tokens that a model predicts stand for, beside what those of
 * the target do.  The including file defines METRIC_NAME, the object's name, and TEXT_SUMS, how many sums it has, first;
 * text_split, text_add and text_value after.  It may define TEXT_INT, TEXT_WHICH, TEXT_SCORE and TEXT_ACCUMULATE, names
 * of settings; TEXT_WEIGHTS, the most that the setting "weights" has; TEXT_ONE_REFERENCE where a sample has but one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_TEXTS_H
#define METRIC_TEXTS_H

#include "refusal.h"
#include "tutti/metric.h"
#include "tutti/train.h"
#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A word of a text: bytes that are not ended by a zero. */
typedef struct text_word {
    const char *at;
    uint64_t size;
} text_word;

/* A text and its words, which point into it. */
typedef struct text {
    char *bytes;
    text_word *words;
    uint64_t size, room;
    uint64_t count, words_room;
} text;

typedef struct texts {
    tutti_metric_v1 table;
    double sums[TEXT_SUMS];
    const tutti_train_v1 *train;      /* who knows the data set; or NULL */
    const tutti_vocabulary_v1 *names; /* of the batch; NULL: tokens are words, their numbers */
    void *names_self;
    text guess;               /* of one sample */
    text *targets;            /* (references) of it, of which there are 1 or more */
    int64_t references, room; /* those of this sample, and those with memory */
    uint64_t *work;           /* for text_work */
    uint64_t work_room;
    int64_t ignored, blank;
    int64_t n;          /* the metric's int */
    int32_t which;      /* its first enum or bool */
    int32_t score;      /* its second */
    int32_t accumulate; /* its third */
#ifdef TEXT_WEIGHTS
    double weights[TEXT_WEIGHTS];
#endif
    int32_t ignores, has_blank;
} texts;

/* The plugin's own: finds the words of a text, whose bytes it may change; adds a sample; the metric.  Those that return
 * an int return 0 where there is no memory. */
static int text_split(const texts *m, text *t);
static int text_add(texts *m);
static double text_value(const texts *m);

/* At least `count` numbers, of any value; NULL: no memory. */
static inline uint64_t *text_work(texts *m, uint64_t count)
{
    if (count > m->work_room) {
        uint64_t *more = (uint64_t *)realloc(m->work, (size_t)(2 * count) * sizeof *more);
        if (!more)
            return NULL;
        m->work = more;
        m->work_room = 2 * count;
    }
    return m->work;
}

static inline int text_same(text_word a, text_word b)
{
    return a.size == b.size && memcmp(a.at, b.at, (size_t)a.size) == 0;
}

static inline int text_append(text *t, const char *bytes, uint64_t size)
{
    if (t->size + size > t->room) {
        const uint64_t room = 2 * (t->size + size);
        char *more = (char *)realloc(t->bytes, (size_t)room);
        if (!more)
            return 0;
        t->bytes = more;
        t->room = room;
    }
    if (size)
        memcpy(t->bytes + t->size, bytes, (size_t)size);
    t->size += size;
    return 1;
}

static inline int text_add_word(text *t, const char *at, uint64_t size)
{
    if (t->count == t->words_room) {
        const uint64_t room = 2 * t->count + 16;
        text_word *more = (text_word *)realloc(t->words, (size_t)room * sizeof *more);
        if (!more)
            return 0;
        t->words = more;
        t->words_room = room;
    }
    t->words[t->count++] = (text_word){at, size};
    return 1;
}

/* Words as Python's str.split() finds them in ASCII: between spaces and control characters that break lines. */
static inline int text_split_at_spaces(text *t)
{
    uint64_t begin = 0;
    for (uint64_t k = 0; k <= t->size; k++) {
        const char c = k < t->size ? t->bytes[k] : ' ';
        if (c != ' ' && !(c >= '\t' && c <= '\r') && !(c >= 0x1c && c <= 0x1f))
            continue;
        if (k > begin && !text_add_word(t, t->bytes + begin, k - begin))
            return 0;
        begin = k + 1;
    }
    return 1;
}

static inline int text_add_token(const texts *m, text *t, int64_t token)
{
    char number[32];
    uint64_t size = 0;
    const char *bytes = m->names ? m->names->token(m->names_self, token, &size) : NULL;
    if (bytes)
        return text_append(t, bytes, size);
    size = (uint64_t)snprintf(number, sizeof number, " %lld ", (long long)token);
    return text_append(t, number, size);
}

/* The token at position k of a sample: the place of the largest logit of a row, or a whole number. */
static inline int64_t text_guess(const tutti_tensor *x, int64_t k)
{
    const tutti_desc *d = &x->desc;
    if (d->dtype != TUTTI_F32)
        return (int64_t)metric_number(x, k);
    const int64_t n = d->dim[2];
    const float *row = (const float *)x->data + k * n;
    int64_t best = 0;
    for (int64_t j = 1; j < n; j++)
        best = row[j] > row[best] ? j : best;
    return best;
}

static inline int text_counts(const texts *m, int64_t token)
{
    return token >= 0 && !(m->ignores && token == m->ignored);
}

static inline tutti_status text_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
}

/* The tokens of row `row` of y that count. */
static int text_take_target(const texts *m, text *t, const tutti_tensor *y, int64_t row)
{
    const int64_t length = y->desc.dim[y->desc.rank - 1];
    t->size = t->count = 0;
    for (int64_t k = 0; k < length; k++) {
        const int64_t token = (int64_t)metric_number(y, row * length + k);
        if (text_counts(m, token) && !text_add_token(m, t, token))
            return 0;
    }
    return 1;
}

/* The references of sample b; of several rows those without a token are none, but for the first where all are. */
static tutti_status text_take_targets(texts *m, const tutti_tensor *y, int64_t b,
                                      tutti_error *err)
{
    const int64_t rows = y->desc.rank == 3 ? y->desc.dim[1] : 1;
    if (rows > m->room) {
        text *more = (text *)realloc(m->targets, (size_t)rows * sizeof *more);
        if (!more)
            return text_no_memory(err);
        memset(more + m->room, 0, (size_t)(rows - m->room) * sizeof *more);
        m->targets = more;
        m->room = rows;
    }
    m->references = 0;
    for (int64_t r = 0; r < rows; r++) {
        if (!text_take_target(m, &m->targets[m->references], y, b * rows + r))
            return text_no_memory(err);
        m->references += m->targets[m->references].size > 0;
    }
    m->references += m->references == 0;
#ifdef TEXT_ONE_REFERENCE
    if (m->references > 1)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          METRIC_NAME
                          ": a sample has %lld references, want one; bleu_score and "
                          "rouge_score take several",
                          (long long)m->references);
#endif
    return TUTTI_OK;
}

/* Whether position k of sample b says something: with a blank, what changes and is none; of logits without, what
 * stands beside a target that counts; of tokens, each of them. */
static inline int text_says(const texts *m, const tutti_metric_input *in, int64_t b, int64_t k,
                            int64_t token, int64_t before)
{
    const tutti_tensor *x = &in->outputs[0], *y = &in->targets[0];
    const int64_t steps = x->desc.dim[1];
    if (m->has_blank)
        return token != before && token != m->blank;
    if (!text_counts(m, token))
        return 0;
    return x->desc.dtype != TUTTI_F32 || y->desc.rank != 2 || y->desc.dim[1] != steps ||
           text_counts(m, (int64_t)metric_number(y, b * steps + k));
}

static int text_take_guess(texts *m, const tutti_metric_input *in, int64_t b)
{
    const int64_t steps = in->outputs[0].desc.dim[1];
    int64_t before = -1;
    m->guess.size = m->guess.count = 0;
    for (int64_t k = 0; k < steps; k++) {
        const int64_t token = text_guess(&in->outputs[0], b * steps + k);
        if (text_says(m, in, b, k, token, before) && !text_add_token(m, &m->guess, token))
            return 0;
        before = token;
    }
    return 1;
}

static tutti_status text_take(texts *m, const tutti_metric_input *in, int64_t b,
                              tutti_error *err)
{
    const tutti_status s = text_take_targets(m, &in->targets[0], b, err);
    if (s)
        return s;
    int kept = text_take_guess(m, in, b) && text_split(m, &m->guess);
    for (int64_t r = 0; r < m->references && kept; r++)
        kept = text_split(m, &m->targets[r]);
    return kept && text_add(m) ? TUTTI_OK : text_no_memory(err);
}

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
    for (int64_t r = 0; r < m->room; r++) {
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
