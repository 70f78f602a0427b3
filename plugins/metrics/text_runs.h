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

/* Runs of n words of the prediction that the target has, each of its runs taken once.  Open addressing: a slot is a
 * run of the target, its place plus 1; a run that is taken stays, as its place with the highest bit. */
static inline int text_shared_runs(texts *m, uint64_t n, uint64_t *ret_shared)
{
    const uint64_t taken = (uint64_t)1 << 63, have = text_runs(&m->target, n);
    uint64_t slots = 16;
    while (slots < 2 * have)
        slots *= 2;
    uint64_t *slot = text_work(m, slots);
    if (!slot)
        return 0;
    memset(slot, 0, (size_t)slots * sizeof *slot);
    for (uint64_t k = 0; k < have; k++) {
        uint64_t at = text_run_hash(m->target.words + k, n) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = k + 1;
    }
    *ret_shared = 0;
    for (uint64_t k = 0; k < text_runs(&m->guess, n); k++) {
        const text_word *run = m->guess.words + k;
        uint64_t at = text_run_hash(run, n) & (slots - 1);
        while (slot[at] &&
               (slot[at] & taken || !text_same_run(run, m->target.words + slot[at] - 1, n)))
            at = (at + 1) & (slots - 1);
        *ret_shared += slot[at] != 0;
        slot[at] |= slot[at] ? taken : 0;
    }
    return 1;
}

#endif
