/* plugin.c - rouge_score: words, runs of words or a common order that predictions share with targets, mean of samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "rouge_score"
#define TEXT_WHICH "rouge_key"
#define TEXT_SCORE "score"
enum { SUM_SCORES, SUM_SAMPLES, TEXT_SUMS };
enum { ROUGE_LONGEST = 9 }; /* behind rouge1 to rouge9 */
enum {
    SCORE_FMEASURE,
    SCORE_PRECISION,
    SCORE_RECALL
}; /* in the order of the manifest's words */
#include "../text_runs.h"
#include "../texts.h"

/* Lower case; words are runs of the letters a to z and of digits. */
static int text_split(const texts *m, text *t)
{
    (void)m;
    for (uint64_t k = 0; k < t->size; k++) {
        char *c = &t->bytes[k];
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + ('a' - 'A'));
        else if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9'))
            *c = ' ';
    }
    return text_split_at_spaces(t);
}

/* The length of the longest common subsequence of words, a row of it at a time. */
static int longest_common(texts *m, uint64_t *ret_length)
{
    const text *a = &m->guess, *b = &m->target;
    uint64_t *row = text_work(m, b->count + 1);
    if (!row)
        return 0;
    memset(row, 0, (size_t)(b->count + 1) * sizeof *row);
    for (uint64_t i = 0; i < a->count; i++) {
        uint64_t corner = 0;
        for (uint64_t j = 1; j <= b->count; j++) {
            const uint64_t above = row[j];
            if (text_same(a->words[i], b->words[j - 1]))
                row[j] = corner + 1;
            else if (row[j - 1] > above)
                row[j] = row[j - 1];
            corner = above;
        }
    }
    *ret_length = row[b->count];
    return 1;
}

static double rouge_of(const texts *m, double shared, double guessed, double wanted)
{
    if (shared == 0.0)
        return 0.0;
    const double precision = shared / guessed, recall = shared / wanted;
    if (m->score == SCORE_FMEASURE)
        return 2.0 * precision * recall / (precision + recall);
    return m->score == SCORE_PRECISION ? precision : recall;
}

static int text_add(texts *m)
{
    const uint64_t n = m->which == ROUGE_LONGEST ? 1 : (uint64_t)m->which + 1;
    uint64_t shared = 0;
    if (m->which == ROUGE_LONGEST ? !longest_common(m, &shared)
                                  : !text_shared_runs(m, n, &shared))
        return 0;
    m->sums[SUM_SCORES] += rouge_of(m, (double)shared, (double)text_runs(&m->guess, n),
                                    (double)text_runs(&m->target, n));
    m->sums[SUM_SAMPLES] += 1.0;
    return 1;
}

static double text_value(const texts *m)
{
    return m->sums[SUM_SAMPLES] > 0.0 ? m->sums[SUM_SCORES] / m->sums[SUM_SAMPLES]
                                      : (double)NAN;
}
