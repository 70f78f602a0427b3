/* nearest.c - edit distance, and the one wording of "did you mean". */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static size_t min3(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Edit distance with transpositions (optimal string alignment), letters of either case alike. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t rows[3][NEAREST_WORD_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++)
        last[j] = j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            const int x = tolower((unsigned char)a[i - 1]);
            const int y = tolower((unsigned char)b[j - 1]);
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[nb];
}

const char *nearest_word(const char *word, const char *const *words)
{
    const size_t n = strlen(word);
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    if (n > NEAREST_WORD_MAX || !n)
        return NULL;
    for (; words && *words; words++) {
        const size_t m = strlen(*words);
        if (m > NEAREST_WORD_MAX)
            continue;
        const size_t longer = n > m ? n : m;
        size_t d = distance(word, n, *words, m);
        /* "weight" is meant for "weight_decay", however much is missing. */
        const bool prefix = n >= 3 && strncasecmp(word, *words, n) == 0;
        if ((d > (longer + 2) / 3 || d >= n) && !prefix)
            continue;
        if (d < best_distance) {
            best_distance = d;
            best = *words;
        }
    }
    return best;
}

suggestion suggest_word(const char *word, const char *const *words)
{
    suggestion s = {.word = word ? nearest_word(word, words) : NULL};
    if (s.word)
        (void)snprintf(s.text, sizeof s.text, "; did you mean %.*s?", NEAREST_WORD_MAX, s.word);
    return s;
}
