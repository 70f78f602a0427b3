/* bpe.c - byte-pair encoding: of all neighbours the pair of the least rank becomes one, the leftmost first,
 * until no pair is left that merges.  A heap holds the pairs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bpe.h"

#include "unicode.h"

#include <stdio.h>

/* ---- the heap ---- */

static bool bpe_goes_first(const bpe_entry *a, const bpe_entry *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void bpe_push(bpe_entry *heap, uint64_t *count, bpe_entry entry)
{
    uint64_t k = (*count)++;
    for (; k > 0 && bpe_goes_first(&entry, &heap[(k - 1) / 2]); k = (k - 1) / 2)
        heap[k] = heap[(k - 1) / 2];
    heap[k] = entry;
}

static bpe_entry bpe_pop(bpe_entry *heap, uint64_t *count)
{
    const bpe_entry first = heap[0], last = heap[--*count];
    uint64_t k = 0;
    for (uint64_t child; (child = 2 * k + 1) < *count; k = child) {
        child += child + 1 < *count && bpe_goes_first(&heap[child + 1], &heap[child]);
        if (!bpe_goes_first(&heap[child], &last))
            break;
        heap[k] = heap[child];
    }
    heap[k] = last;
    return first;
}

/* ---- symbols ---- */

/* A word of `size` bytes has at most so many symbols, and each gives at most three pairs. */
static bool bpe_reserve(tokenizer_encoder *e, uint64_t size)
{
    if (size <= e->symbols_capacity)
        return true;
    bpe_symbol *symbols = realloc(e->symbols, size * sizeof *symbols);
    e->symbols = symbols ? symbols : e->symbols;
    bpe_entry *heap = symbols ? realloc(e->heap, 3 * size * sizeof *heap) : NULL;
    e->heap = heap ? heap : e->heap;
    if (heap)
        e->symbols_capacity = size;
    return heap != NULL;
}

static void bpe_append(tokenizer_encoder *e, uint64_t *count, int32_t id)
{
    const int32_t k = (int32_t)(*count)++;
    e->symbols[k] = (bpe_symbol){id, k - 1, k + 1};
}

/* The bytes of a character by themselves; false: one of them has no token. */
static bool bpe_fall_back(tokenizer_encoder *e, const char *text, uint32_t n, uint64_t *count)
{
    for (uint32_t k = 0; k < n; k++)
        if (e->t->of_byte[(unsigned char)text[k]] < 0)
            return false;
    for (uint32_t k = 0; k < n; k++)
        bpe_append(e, count, e->t->of_byte[(unsigned char)text[k]]);
    return true;
}

/* The id of the character at `at`, with the prefix and suffix that its place in the word asks for. */
static int32_t bpe_character(const tokenizer *t, const char *text, uint64_t size, uint64_t at,
                             uint32_t code, uint32_t n)
{
    const char *prefix = at > 0 ? t->bpe.prefix : "";
    const char *suffix = at + n == size ? t->bpe.suffix : "";
    if (!*prefix && !*suffix)
        return code < sizeof t->of_code / sizeof *t->of_code
                   ? t->of_code[code]
                   : words_find(&t->words, text + at, n);
    char spelling[256];
    const int size_of =
        snprintf(spelling, sizeof spelling, "%s%.*s%s", prefix, (int)n, text + at, suffix);
    return size_of > 0 && (size_t)size_of < sizeof spelling
               ? words_find(&t->words, spelling, (uint64_t)size_of)
               : -1;
}

/* The characters of a word as symbols; returns how many. */
static uint64_t bpe_symbols(tokenizer_encoder *e, const char *text, uint64_t size)
{
    const bpe *b = &e->t->bpe;
    uint64_t count = 0;
    bool unknown = false; /* one is to be added before the next that is known */
    uint32_t n;
    for (uint64_t at = 0; at < size; at += n) {
        const uint32_t code = unicode_read(text, size, at, &n);
        const int32_t id = bpe_character(e->t, text, size, at, code, n);
        if (id < 0 && b->byte_fallback && bpe_fall_back(e, text + at, n, &count))
            continue;
        if (unknown && (id >= 0 || !b->fuse_unknown))
            bpe_append(e, &count, e->t->unknown);
        unknown = id < 0 && e->t->unknown >= 0;
        if (id >= 0)
            bpe_append(e, &count, id);
    }
    if (unknown)
        bpe_append(e, &count, e->t->unknown);
    if (count)
        e->symbols[count - 1].next = -1;
    return count;
}

static void bpe_look(tokenizer_encoder *e, uint64_t *pairs, int32_t left, int32_t right)
{
    const bpe_merge *m = bpe_find(&e->t->bpe, e->symbols[left].id, e->symbols[right].id);
    if (m->left >= 0)
        bpe_push(e->heap, pairs, (bpe_entry){m->rank, m->id, (uint32_t)left});
}

static void bpe_merge_all(tokenizer_encoder *e, uint64_t count)
{
    bpe_symbol *s = e->symbols;
    uint64_t pairs = 0;
    for (uint64_t k = 0; k + 1 < count; k++)
        bpe_look(e, &pairs, (int32_t)k, (int32_t)k + 1);
    while (pairs) {
        const bpe_entry best = bpe_pop(e->heap, &pairs);
        bpe_symbol *left = &s[best.at];
        if (left->id < 0 || left->next < 0)
            continue;
        bpe_symbol *right = &s[left->next];
        const bpe_merge *m = bpe_find(&e->t->bpe, left->id, right->id);
        if (m->left < 0 || m->id != best.id) /* a pair that is no more */
            continue;
        left->id = best.id;
        left->next = right->next;
        right->id = -1;
        if (left->before >= 0)
            bpe_look(e, &pairs, left->before, (int32_t)best.at);
        if (left->next >= 0) {
            s[left->next].before = (int32_t)best.at;
            bpe_look(e, &pairs, (int32_t)best.at, left->next);
        }
    }
}

tutti_status bpe_encode(tokenizer_encoder *e, const char *text, uint64_t size, tutti_error *err)
{
    const tokenizer *t = e->t;
    const int32_t whole = t->bpe.ignore_merges ? words_find(&t->words, text, size) : -1;
    if (whole >= 0)
        return ids_add(e->ids, whole) ? TUTTI_OK : tokenizer_no_memory(err);
    if (size > INT32_MAX / 4)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "a word of %llu bytes, want fewer than %d; the tokenizer has nothing "
                          "that parts the text",
                          (unsigned long long)size, INT32_MAX / 4);
    if (!bpe_reserve(e, size + 1))
        return tokenizer_no_memory(err);
    const uint64_t count = bpe_symbols(e, text, size);
    bpe_merge_all(e, count);
    for (int32_t k = count ? 0 : -1; k >= 0; k = e->symbols[k].next)
        if (!ids_add(e->ids, e->symbols[k].id))
            return tokenizer_no_memory(err);
    return TUTTI_OK;
}
