/* plugin.c - bleu_score: runs of words that predictions have in common with targets, of all samples together. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "bleu_score"
#define TEXT_INT "n_gram"
#define TEXT_WHICH "smooth"
enum { MOST_WORDS = 8 };
#define TEXT_WEIGHTS MOST_WORDS
/* Runs of 1 to 8 words that are in both, then runs of the predictions, then words of the predictions and targets. */
enum {
    SUM_SHARED = 0,
    SUM_RUNS = MOST_WORDS,
    SUM_GUESSED = 2 * MOST_WORDS,
    SUM_WANTED,
    TEXT_SUMS
};
#include "../text_runs.h"
#include "../texts.h"

static int text_split(const texts *m, text *t)
{
    (void)m;
    return text_split_at_spaces(t);
}

/* Runs of n words of the prediction that a reference has, as often as the one that has them most often. */
static int shared_with_any(texts *m, uint64_t n, uint64_t *ret_shared)
{
    const uint64_t runs = text_runs(&m->guess, n);
    unsigned char *marks = (unsigned char *)calloc((size_t)runs + 1, 1);
    int kept = marks != NULL;
    uint64_t shared = 0;
    for (int64_t r = 0; r < m->references && kept; r++)
        kept = text_shared_runs(m, &m->guess, &m->targets[r], n, marks, &shared);
    *ret_shared = 0;
    for (uint64_t k = 0; k < runs && kept; k++)
        *ret_shared += marks[k];
    free(marks);
    return kept;
}

/* Words of the reference that is as long as the prediction, or nearly; the first of those that are as near. */
static uint64_t nearest_length(const texts *m)
{
    uint64_t best = m->targets[0].count, least = UINT64_MAX;
    for (int64_t r = 0; r < m->references; r++) {
        const uint64_t a = m->targets[r].count, b = m->guess.count, far = a > b ? a - b : b - a;
        best = far < least ? a : best;
        least = far < least ? far : least;
    }
    return best;
}

static int text_add(texts *m)
{
    for (int64_t n = 1; n <= m->n; n++) {
        uint64_t shared;
        if (!shared_with_any(m, (uint64_t)n, &shared))
            return 0;
        m->sums[SUM_SHARED + n - 1] += (double)shared;
        m->sums[SUM_RUNS + n - 1] += (double)text_runs(&m->guess, (uint64_t)n);
    }
    m->sums[SUM_GUESSED] += (double)m->guess.count;
    m->sums[SUM_WANTED] += (double)nearest_length(m);
    return 1;
}

/* The weighted geometric mean of the shares of runs, less where predictions are shorter than targets. */
static double text_value(const texts *m)
{
    const double guessed = m->sums[SUM_GUESSED], wanted = m->sums[SUM_WANTED];
    double sum = 0.0;
    if (wanted == 0.0)
        return (double)NAN;
    for (int64_t n = 0; n < m->n; n++) {
        const double more = m->which && n > 0 ? 1.0 : 0.0;
        if (m->sums[SUM_SHARED + n] == 0.0)
            return 0.0;
        sum += m->weights[n] *
               log((m->sums[SUM_SHARED + n] + more) / (m->sums[SUM_RUNS + n] + more));
    }
    return exp(sum) * (guessed > wanted ? 1.0 : exp(1.0 - wanted / guessed));
}
