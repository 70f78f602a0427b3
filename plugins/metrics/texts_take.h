/* texts_take.h - what a metric over texts takes of a batch: the texts of its guesses and of their targets, behind the
 * definitions that texts.h asks for. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_TEXTS_TAKE_H
#define METRIC_TEXTS_TAKE_H

#include "refusal.h"
#include "text_words.h"
#include "tutti/metric.h"
#include "tutti/train.h"
#include "tutti/tutti.h"
#include "tutti/vocabulary.h"

#include <stdio.h>

typedef struct texts {
    tutti_metric_v1 table;
    double sums[TEXT_SUMS];
    const tutti_train_v1 *train;      /* who knows the data set; or NULL */
    const tutti_vocabulary_v1 *names; /* of the batch; NULL: tokens are words, their numbers */
    void *names_self;
    text guess;                   /* of one sample */
    text *targets;                /* (references) of it, of which there are 1 or more */
    int64_t references, capacity; /* those of this sample, and those with memory */
    uint64_t *work;               /* for text_work */
    uint64_t work_capacity;
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
    if (count > m->work_capacity) {
        uint64_t *more = (uint64_t *)realloc(m->work, (size_t)(2 * count) * sizeof *more);
        if (!more)
            return NULL;
        m->work = more;
        m->work_capacity = 2 * count;
    }
    return m->work;
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
    if (rows > m->capacity) {
        text *more = (text *)realloc(m->targets, (size_t)rows * sizeof *more);
        if (!more)
            return text_no_memory(err);
        memset(more + m->capacity, 0, (size_t)(rows - m->capacity) * sizeof *more);
        m->targets = more;
        m->capacity = rows;
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

#endif
