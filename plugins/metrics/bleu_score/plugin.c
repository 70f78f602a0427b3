/* plugin.c - bleu_score: runs of words that predictions have in common with targets, of all samples together. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "bleu_score"
#define TEXT_INT "n_gram"
#define TEXT_WHICH "smooth"
enum { MOST_WORDS = 8 };
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

static int text_add(texts *m)
{
    for (int64_t n = 1; n <= m->n; n++) {
        uint64_t shared;
        if (!text_shared_runs(m, (uint64_t)n, &shared))
            return 0;
        m->sums[SUM_SHARED + n - 1] += (double)shared;
        m->sums[SUM_RUNS + n - 1] += (double)text_runs(&m->guess, (uint64_t)n);
    }
    m->sums[SUM_GUESSED] += (double)m->guess.count;
    m->sums[SUM_WANTED] += (double)m->target.count;
    return 1;
}

/* The geometric mean of the shares of runs, less where predictions are shorter than targets. */
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
        sum += log((m->sums[SUM_SHARED + n] + more) / (m->sums[SUM_RUNS + n] + more));
    }
    return exp(sum / (double)m->n) * (guessed > wanted ? 1.0 : exp(1.0 - wanted / guessed));
}
