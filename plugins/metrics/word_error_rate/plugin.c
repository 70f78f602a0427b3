/* plugin.c - word_error_rate: words to replace, add or take away, over those of the target. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "word_error_rate"
enum { SUM_ERRORS, SUM_WORDS, TEXT_SUMS };
#define TEXT_ONE_REFERENCE
#include "../texts.h"

static int text_split(const texts *m, text *t)
{
    (void)m;
    return text_split_at_spaces(t);
}

static uint64_t text_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The edit distance (Levenshtein), a row of it at a time. */
static int text_add(texts *m)
{
    const text *a = &m->guess, *b = &m->targets[0];
    uint64_t *row = text_work(m, b->count + 1);
    if (!row)
        return 0;
    for (uint64_t j = 0; j <= b->count; j++)
        row[j] = j;
    for (uint64_t i = 1; i <= a->count; i++) {
        uint64_t corner = row[0];
        row[0] = i;
        for (uint64_t j = 1; j <= b->count; j++) {
            const uint64_t above = row[j];
            const uint64_t swap = corner + !text_same(a->words[i - 1], b->words[j - 1]);
            row[j] = text_least(swap, text_least(above, row[j - 1]) + 1);
            corner = above;
        }
    }
    m->sums[SUM_ERRORS] += (double)row[b->count];
    m->sums[SUM_WORDS] += (double)b->count;
    return 1;
}

static double text_value(const texts *m)
{
    return m->sums[SUM_WORDS] > 0.0 ? m->sums[SUM_ERRORS] / m->sums[SUM_WORDS] : (double)NAN;
}
