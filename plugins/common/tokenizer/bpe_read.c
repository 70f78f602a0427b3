/* bpe_read.c - the merges of a byte-pair encoding. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bpe.h"

bpe_merge *bpe_find(const bpe *b, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t mask = ((uint64_t)1 << b->bits) - 1;
    uint64_t k = (key * 0x9E3779B97F4A7C15u) >> (64 - b->bits);
    while (b->merges[k].left >= 0 && (b->merges[k].left != left || b->merges[k].right != right))
        k = (k + 1) & mask;
    return &b->merges[k];
}

/* The two halves of a merge, "left right" or ["left", "right"]; false: neither. */
static bool bpe_halves(const json_t *merge, const char *half[2], uint64_t size[2])
{
    if (json_is_array(merge) && json_array_size(merge) == 2) {
        for (int k = 0; k < 2; k++) {
            half[k] = json_string_value(json_array_get(merge, (size_t)k));
            size[k] = half[k] ? strlen(half[k]) : 0;
        }
        return half[0] && half[1];
    }
    const char *line = json_string_value(merge), *space = line ? strchr(line, ' ') : NULL;
    if (!space)
        return false;
    half[0] = line;
    size[0] = (uint64_t)(space - line);
    half[1] = space + 1;
    size[1] = strlen(half[1]);
    return true;
}

static void bpe_read_merge(tokenizer *t, const part *p, const json_t *merge, size_t rank,
                           bytes *both)
{
    const char *half[2] = {NULL, NULL};
    uint64_t size[2] = {0, 0};
    if (!bpe_halves(merge, half, size)) {
        part_fail(p, TUTTI_E_FORMAT, "merge %zu of \"merges\" is not two tokens", rank);
        return;
    }
    const uint64_t prefix = strlen(t->bpe.prefix);
    const uint64_t cut = prefix <= size[1] ? prefix : 0;
    both->size = 0;
    bytes_add(both, half[0], size[0]);
    bytes_add(both, half[1] + cut, size[1] - cut);
    const int32_t left = words_find(&t->words, half[0], size[0]);
    const int32_t right = words_find(&t->words, half[1], size[1]);
    const int32_t id = both->size ? words_find(&t->words, both->data, both->size) : -1;
    if (both->lacks)
        part_fail(p, TUTTI_E_NOMEM, "no memory");
    else if (left < 0 || right < 0 || id < 0)
        part_fail(p, TUTTI_E_FORMAT,
                  "merge %zu of \"merges\" names a token that \"vocab\" does not have", rank);
    else
        *bpe_find(&t->bpe, left, right) = (bpe_merge){left, right, (int32_t)rank, id};
}

static void bpe_read_merges(tokenizer *t, const part *p)
{
    const json_t *list = part_list(p, "merges", true);
    const size_t count = json_array_size(list);
    bytes both = {0};
    t->bpe.bits = 4;
    while ((uint64_t)1 << t->bpe.bits < 2 * (uint64_t)count)
        t->bpe.bits++;
    t->bpe.merges = malloc(((size_t)1 << t->bpe.bits) * sizeof *t->bpe.merges);
    if (!t->bpe.merges || count > INT32_MAX) {
        part_fail(p, TUTTI_E_NOMEM, "no memory for its merges");
        return;
    }
    for (uint64_t k = 0; k < (uint64_t)1 << t->bpe.bits; k++)
        t->bpe.merges[k].left = -1;
    for (size_t k = 0; k < count && *p->status == TUTTI_OK; k++)
        bpe_read_merge(t, p, json_array_get(list, k), k, &both);
    bytes_free(&both);
}

void bpe_read(tokenizer *t, const part *p)
{
    const json_t *dropout = json_object_get(p->json, "dropout");
    if (dropout && !json_is_null(dropout) && json_number_value(dropout) > 0)
        part_fail(p, TUTTI_E_UNSUPPORTED,
                  "\"dropout\" is set, which draws other ids each time; want null");
    t->bpe.prefix = part_text(p, "continuing_subword_prefix", "");
    t->bpe.suffix = part_text(p, "end_of_word_suffix", "");
    t->bpe.fuse_unknown = part_bool(p, "fuse_unk", false);
    t->bpe.byte_fallback = part_bool(p, "byte_fallback", false);
    t->bpe.ignore_merges = part_bool(p, "ignore_merges", false);
    if (*p->status == TUTTI_OK)
        bpe_read_merges(t, p);
}
