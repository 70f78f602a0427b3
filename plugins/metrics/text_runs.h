/* text_runs.h - runs of words that two texts have in common; after texts.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_TEXT_RUNS_H
#define METRIC_TEXT_RUNS_H

#include "texts.h"

/* How many runs of n words a text has. */
static inline uint64_t text_runs(const text *t, uint64_t n)
{
    return t->count >= n ? t->count - n + 1 : 0;
}

static inline uint64_t text_run_hash(const text_word *words, uint64_t n)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (uint64_t k = 0; k < n; k++) {
        for (uint64_t j = 0; j < words[k].size; j++)
            h = (h ^ (unsigned char)words[k].at[j]) * 1099511628211u;
        h = (h ^ 0xffu) * 1099511628211u;
    }
    return h;
}

static inline int text_same_run(const text_word *a, const text_word *b, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++)
        if (!text_same(a[k], b[k]))
            return 0;
    return 1;
}

/* How many runs of n words of `a` b has, each run of b taken once.  Where `ret_marks` is not NULL, ret_marks[k] becomes 1
 * for run k of `a` that is one of them, the earlier of equal ones first.  Returns 0: no memory. */
static inline int text_shared_runs(texts *m, const text *a, const text *b, uint64_t n,
                                   unsigned char *ret_marks, uint64_t *ret_shared)
{
    /* Open addressing: a slot is a run of b, its place plus 1; a run that is taken stays, with the highest bit. */
    const uint64_t taken = (uint64_t)1 << 63, have = text_runs(b, n);
    uint64_t slots = 16;
    while (slots < 2 * have)
        slots *= 2;
    uint64_t *slot = text_work(m, slots);
    if (!slot)
        return 0;
    memset(slot, 0, (size_t)slots * sizeof *slot);
    for (uint64_t k = 0; k < have; k++) {
        uint64_t at = text_run_hash(b->words + k, n) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = k + 1;
    }
    *ret_shared = 0;
    for (uint64_t k = 0; k < text_runs(a, n); k++) {
        const text_word *run = a->words + k;
        uint64_t at = text_run_hash(run, n) & (slots - 1);
        while (slot[at] &&
               (slot[at] & taken || !text_same_run(run, b->words + slot[at] - 1, n)))
            at = (at + 1) & (slots - 1);
        if (!slot[at])
            continue;
        slot[at] |= taken;
        ++*ret_shared;
        if (ret_marks)
            ret_marks[k] = 1;
    }
    return 1;
}

#endif
