/* vocab_encode.c - byte-pair encoding: the pairs of a piece are merged, best rank first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "piece.h"
#include "vocab.h"

#include <stdlib.h>
#include <string.h>

/* The last piece with its hash, so that words that come again are copied. */
typedef struct memory {
    uint64_t at;    /* in the text */
    uint64_t first; /* of its tokens */
    uint32_t size;
    uint32_t count; /* of its tokens; 0: nothing here */
} memory;

enum { MEMORY_BITS = 15, MEMORY_MOST = 64 /* bytes of a piece that is worth it */ };

vocab_merge *vocab_merge_find(const vocab *v, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t mask = ((uint64_t)1 << v->bits) - 1;
    uint64_t k = (key * 0x9E3779B97F4A7C15u) >> (64 - v->bits);
    while (v->merges[k].left >= 0 && (v->merges[k].left != left || v->merges[k].right != right))
        k = (k + 1) & mask;
    return &v->merges[k];
}

/* As GPT-2: of all neighbours the pair of the best rank, everywhere from left to right, until no pair
 * is left that merges.  Returns how many tokens remain. */
static uint64_t vocab_encode_merge(const vocab *v, int32_t *tokens, uint64_t n)
{
    for (;;) {
        const vocab_merge *best = NULL;
        for (uint64_t k = 0; k + 1 < n; k++) {
            const vocab_merge *m = vocab_merge_find(v, tokens[k], tokens[k + 1]);
            if (m->left >= 0 && (!best || m->rank < best->rank))
                best = m;
        }
        if (!best)
            return n;
        uint64_t to = 0;
        for (uint64_t k = 0; k < n; to++) {
            const int here =
                k + 1 < n && tokens[k] == best->left && tokens[k + 1] == best->right;
            tokens[to] = here ? best->token : tokens[k];
            k += here ? 2 : 1;
        }
        n = to;
    }
}

static memory *vocab_encode_remember(memory *all, const char *piece, uint64_t size)
{
    uint64_t h = 14695981039346656037u;
    for (uint64_t k = 0; k < size; k++)
        h = (h ^ (unsigned char)piece[k]) * 1099511628211u;
    return &all[h >> (64 - MEMORY_BITS)];
}

tutti_status vocab_encode_pieces(const vocab *v, const char *data, uint64_t size,
                                 int32_t *tokens, uint64_t *ret_count, tutti_error *err)
{
    uint64_t count = 0;
    memory *all = calloc((size_t)1 << MEMORY_BITS, sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "vocabulary: no memory to encode");
    for (uint64_t at = 0, n; at < size; at += n) {
        n = piece_length(data + at, size - at);
        memory *m = n <= MEMORY_MOST ? vocab_encode_remember(all, data + at, n) : NULL;
        if (m && m->count && m->size == n && memcmp(data + m->at, data + at, n) == 0) {
            memcpy(tokens + count, tokens + m->first, m->count * sizeof *tokens);
            count += m->count;
            continue;
        }
        for (uint64_t k = 0; k < n; k++)
            tokens[count + k] = v->of_byte[(unsigned char)data[at + k]];
        const uint64_t merged = vocab_encode_merge(v, tokens + count, n);
        if (m)
            *m = (memory){at, count, (uint32_t)n, (uint32_t)merged};
        count += merged;
    }
    free(all);
    *ret_count = count;
    return TUTTI_OK;
}
