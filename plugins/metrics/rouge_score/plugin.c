/* plugin.c - rouge_score: words, runs of words or a common order that predictions share with targets, mean of samples. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "rouge_score"
#define TEXT_WHICH "rouge_key"
#define TEXT_SCORE "score"
#define TEXT_ACCUMULATE "accumulate"
enum { SUM_SCORES, SUM_SAMPLES, TEXT_SUMS };
enum { ROUGE_LONGEST = 9, ROUGE_SENTENCES }; /* behind rouge1 to rouge9 */
/* in the order of the manifest's words */
enum { SCORE_FMEASURE, SCORE_PRECISION, SCORE_RECALL, SCORES };
enum { ACCUMULATE_BEST, ACCUMULATE_AVG };
#include "../text_runs.h"
#include "../texts.h"

/* Lower case; words are runs of the letters a to z and of digits; ends of lines stay, which end sentences. */
static int text_split(const texts *m, text *t)
{
    (void)m;
    for (uint64_t k = 0; k < t->size; k++) {
        char *c = &t->bytes[k];
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c + ('a' - 'A'));
        else if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '\n')
            *c = ' ';
    }
    return text_split_at_spaces(t);
}

/* The length of the longest common subsequence of words, a row of it at a time. */
static int longest_common(texts *m, const text *b, uint64_t *ret_length)
{
    const text *a = &m->guess;
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

/* One behind the last word of the sentence that begins with word `first`. */
static uint64_t sentence_end(const text *t, uint64_t first)
{
    uint64_t k = first + 1;
    while (k < t->count) {
        const char *gap = t->words[k - 1].at + t->words[k - 1].size;
        if (memchr(gap, '\n', (size_t)(t->words[k].at - gap)))
            break;
        k++;
    }
    return k;
}

/* Sets marks[j] for the words j of a sentence b of the target that one of its longest common subsequences with
 * sentence a has: of several the one that upstream finds from the end. */
static int mark_common(texts *m, const text_word *a, uint64_t na, const text_word *b,
                       uint64_t nb, unsigned char *marks)
{
    const uint64_t width = na + 1;
    uint64_t *table = text_work(m, (nb + 1) * width);
    if (!table)
        return 0;
    memset(table, 0, (size_t)((nb + 1) * width) * sizeof *table);
    for (uint64_t j = 1; j <= nb; j++)
        for (uint64_t i = 1; i <= na; i++) {
            const uint64_t up = table[(j - 1) * width + i], left = table[j * width + i - 1];
            table[j * width + i] = text_same(a[i - 1], b[j - 1])
                                       ? table[(j - 1) * width + i - 1] + 1
                                       : (up > left ? up : left);
        }
    for (uint64_t i = na, j = nb; i > 0 && j > 0;) {
        if (text_same(a[i - 1], b[j - 1])) {
            marks[--j] = 1;
            i--;
        } else if (table[j * width + i - 1] > table[(j - 1) * width + i])
            i--;
        else
            j--;
    }
    return 1;
}

/* Sets marks[j] for the words of the target that its sentence and any sentence of the prediction have in common. */
static int mark_sentences(texts *m, const text *b, unsigned char *marks)
{
    const text *a = &m->guess;
    for (uint64_t j = 0, jend; j < b->count; j = jend) {
        jend = sentence_end(b, j);
        for (uint64_t i = 0, iend; i < a->count; i = iend) {
            iend = sentence_end(a, i);
            if (!mark_common(m, a->words + i, iend - i, b->words + j, jend - j, marks + j))
                return 0;
        }
    }
    return 1;
}

/* Words of the target that a sentence of it has in common with any of the prediction, in order; each word of the
 * prediction counts once. */
static int common_of_sentences(texts *m, const text *b, uint64_t *ret_shared)
{
    unsigned char *marks = (unsigned char *)calloc((size_t)b->count + 1, 1);
    text common = {.words_capacity = b->count};
    common.words = (text_word *)malloc((size_t)(b->count + 1) * sizeof *common.words);
    int kept = marks && common.words && mark_sentences(m, b, marks);
    for (uint64_t j = 0; j < b->count && kept; j++)
        if (marks[j])
            common.words[common.count++] = b->words[j];
    kept = kept && text_shared_runs(m, &m->guess, &common, 1, NULL, ret_shared);
    free(common.words);
    free(marks);
    return kept;
}

/* All scores of one reference; 0 each where nothing is shared. */
static int rouge_of(texts *m, const text *target, double *ret_scores)
{
    const uint64_t n = m->which >= ROUGE_LONGEST ? 1 : (uint64_t)m->which + 1;
    uint64_t shared = 0;
    const int kept = m->which == ROUGE_LONGEST ? longest_common(m, target, &shared)
                     : m->which == ROUGE_SENTENCES
                         ? common_of_sentences(m, target, &shared)
                         : text_shared_runs(m, &m->guess, target, n, NULL, &shared);
    memset(ret_scores, 0, SCORES * sizeof *ret_scores);
    if (!kept || shared == 0)
        return kept;
    const double precision = (double)shared / (double)text_runs(&m->guess, n);
    const double recall = (double)shared / (double)text_runs(target, n);
    ret_scores[SCORE_FMEASURE] = 2.0 * precision * recall / (precision + recall);
    ret_scores[SCORE_PRECISION] = precision;
    ret_scores[SCORE_RECALL] = recall;
    return 1;
}

/* Of several references the mean, or the scores of the first with the best fmeasure. */
static int text_add(texts *m)
{
    double best = -1.0, kept = 0.0, sum = 0.0, scores[SCORES];
    for (int64_t r = 0; r < m->references; r++) {
        if (!rouge_of(m, &m->targets[r], scores))
            return 0;
        sum += scores[m->score];
        if (scores[SCORE_FMEASURE] > best) {
            best = scores[SCORE_FMEASURE];
            kept = scores[m->score];
        }
    }
    m->sums[SUM_SCORES] += m->accumulate == ACCUMULATE_AVG ? sum / (double)m->references : kept;
    m->sums[SUM_SAMPLES] += 1.0;
    return 1;
}

static double text_value(const texts *m)
{
    return m->sums[SUM_SAMPLES] > 0.0 ? m->sums[SUM_SCORES] / m->sums[SUM_SAMPLES]
                                      : (double)NAN;
}
