/* unigram.c - SentencePiece's language model of pieces: of all ways to part a text the likeliest, by Viterbi. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

/* ---- the trie ---- */

static uint64_t unigram_place(const unigram *u, uint64_t node, unsigned char byte)
{
    const uint64_t edge = (node << 8 | byte) + 1, mask = ((uint64_t)1 << u->bits) - 1;
    uint64_t k = (edge * 0x9E3779B97F4A7C15u) >> (64 - u->bits);
    while (u->edges[k] && u->edges[k] != edge)
        k = (k + 1) & mask;
    return k;
}

static void unigram_insert(unigram *u, const char *text, uint64_t size, int32_t id)
{
    uint64_t node = 0;
    for (uint64_t k = 0; k < size; k++) {
        const uint64_t at = unigram_place(u, node, (unsigned char)text[k]);
        if (!u->edges[at]) {
            u->edges[at] = (node << 8 | (unsigned char)text[k]) + 1;
            u->to[at] = (uint32_t)u->nodes;
            u->ids[u->nodes++] = -1;
        }
        node = u->to[at];
    }
    u->ids[node] = id;
}

static void unigram_read_trie(unigram *u, const part *p, const json_t *list)
{
    uint64_t most = 1;
    for (size_t k = 0; k < json_array_size(list); k++)
        most += json_string_length(json_array_get(json_array_get(list, k), 0));
    u->bits = 4;
    while ((uint64_t)1 << u->bits < 2 * most)
        u->bits++;
    u->edges = calloc((size_t)1 << u->bits, sizeof *u->edges);
    u->to = calloc((size_t)1 << u->bits, sizeof *u->to);
    u->ids = malloc(most * sizeof *u->ids);
    u->scores = malloc(json_array_size(list) * sizeof *u->scores);
    if (!u->edges || !u->to || !u->ids || !u->scores || most > UINT32_MAX) {
        part_fail(p, TUTTI_E_NOMEM, "no memory for its tokens");
        return;
    }
    u->nodes = 1;
    u->ids[0] = -1;
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *pair = json_array_get(list, k), *text = json_array_get(pair, 0);
        u->scores[k] = json_number_value(json_array_get(pair, 1));
        unigram_insert(u, json_string_value(text), json_string_length(text), (int32_t)k);
    }
}

void unigram_read(tokenizer *t, const part *p)
{
    unigram *u = &t->unigram;
    const json_t *list = part_list(p, "vocab", true);
    const int64_t unknown = part_int(p, "unk_id", -1);
    if (unknown >= (int64_t)json_array_size(list)) {
        part_fail(p, TUTTI_E_FORMAT, "\"unk_id\" is %lld, \"vocab\" has %zu tokens",
                  (long long)unknown, json_array_size(list));
        return;
    }
    t->unknown = (int32_t)(unknown < 0 ? -1 : unknown);
    u->byte_fallback = part_bool(p, "byte_fallback", false);
    unigram_read_trie(u, p, list);
    if (*p->status)
        return;
    double least = u->scores[0];
    for (size_t k = 0; k < json_array_size(list); k++)
        least = u->scores[k] < least ? u->scores[k] : least;
    u->unknown_score = least - 10.0; /* SentencePiece's penalty */
}

void unigram_free(unigram *u)
{
    free(u->edges);
    free(u->to);
    free(u->ids);
    free(u->scores);
}

/* ---- the likeliest path ---- */

static void unigram_offer(unigram_best *to, double score, uint64_t from, int32_t id)
{
    if (to->id < 0 || score > to->score)
        *to = (unigram_best){score, from, id};
}

/* Every token that begins at `at`, where a character of n bytes is. */
static void unigram_step(const tokenizer *t, unigram_best *best, const char *text,
                         uint64_t size, uint64_t at, uint32_t n)
{
    const unigram *u = &t->unigram;
    const double here = best[at].score;
    bool single = false;
    uint64_t node = 0;
    for (uint64_t k = at; k < size; k++) {
        const uint64_t place = unigram_place(u, node, (unsigned char)text[k]);
        if (!u->edges[place])
            break;
        node = u->to[place];
        const int32_t id = u->ids[node];
        if (id < 0)
            continue;
        single = single || k + 1 - at == n;
        unigram_offer(&best[k + 1], here + u->scores[id], at, id);
    }
    if (!single)
        unigram_offer(&best[at + n], here + u->unknown_score, at,
                      t->unknown < 0 ? INT32_MAX : t->unknown);
}

/* What the vocabulary does not have, characters that follow each other taken together: by bytes, or one id. */
static tutti_status unigram_unknown(tokenizer_encoder *e, const char *text, uint64_t size,
                                    tutti_error *err)
{
    const int32_t id = e->t->unknown;
    bool all = e->t->unigram.byte_fallback;
    for (uint64_t k = 0; all && k < size; k++)
        all = e->t->of_byte[(unsigned char)text[k]] >= 0;
    if (!all && id < 0)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "the vocabulary has neither \"%.*s\" nor an \"unk_id\"",
                          (int)(size < 80 ? size : 80), text);
    for (uint64_t k = 0; k < (all ? size : 1); k++)
        if (!ids_add(e->ids, all ? e->t->of_byte[(unsigned char)text[k]] : id))
            return tokenizer_no_memory(err);
    return TUTTI_OK;
}

/* Turns the way back from the end around: best[k].from becomes where the part that begins at k ends, and .id
 * its token. */
static void unigram_turn(unigram_best *best, uint64_t size)
{
    uint64_t end = size, begin = best[size].from;
    int32_t id = best[size].id;
    while (end > 0) {
        const unigram_best before = best[begin];
        best[begin].from = end;
        best[begin].id = id;
        end = begin;
        begin = before.from;
        id = before.id;
    }
}

static bool unigram_reserve(tokenizer_encoder *e, uint64_t size)
{
    if (size > e->best_capacity) {
        unigram_best *best = realloc(e->best, size * sizeof *best);
        if (!best)
            return false;
        e->best = best;
        e->best_capacity = size;
    }
    return true;
}

static bool unigram_is_unknown(const tokenizer *t, int32_t id)
{
    return id == INT32_MAX || id == t->unknown;
}

tutti_status unigram_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                            tutti_error *err)
{
    uint32_t n;
    if (!unigram_reserve(e, size + 1))
        return tokenizer_no_memory(err);
    for (uint64_t k = 0; k <= size; k++)
        e->best[k] = (unigram_best){0.0, 0, -1};
    for (uint64_t at = 0; at < size; at += n) {
        (void)unicode_read(text, size, at, &n);
        unigram_step(e->t, e->best, text, size, at, n);
    }
    unigram_turn(e->best, size);
    for (uint64_t at = 0, end; at < size; at = end) {
        tutti_status s = TUTTI_OK;
        end = e->best[at].from;
        const int32_t id = e->best[at].id;
        const bool unknown = unigram_is_unknown(e->t, id);
        while (unknown && end < size && unigram_is_unknown(e->t, e->best[end].id))
            end = e->best[end].from;
        if (unknown)
            s = unigram_unknown(e, text + at, end - at, err);
        else if (!ids_add(e->ids, id))
            s = tokenizer_no_memory(err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}
