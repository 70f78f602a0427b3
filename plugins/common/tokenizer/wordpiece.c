/* wordpiece.c - BERT's model: of a word the longest beginning that is a token, then the same of the rest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

void wordpiece_read(tokenizer *t, const part *p)
{
    wordpiece *w = &t->wordpiece;
    w->prefix = part_text(p, "continuing_subword_prefix", "##");
    const int64_t most = part_int(p, "max_input_chars_per_word", 100);
    if (most < 0)
        part_fail(p, TUTTI_E_FORMAT, "\"max_input_chars_per_word\" is below 0");
    w->most = (uint64_t)most;
    const uint64_t n = strlen(w->prefix);
    for (uint64_t k = 0; k < (uint64_t)1 << t->words.bits; k++) {
        const word *one = &t->words.places[k];
        if (one->text && one->size >= n && memcmp(one->text, w->prefix, n) == 0 &&
            !words_put(&w->rest, one->text + n, one->size - n, one->id)) {
            part_fail(p, TUTTI_E_NOMEM, "no memory for its tokens");
            return;
        }
    }
}

static bool wordpiece_is_inside(char c) /* of a character */
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static uint64_t wordpiece_characters(const char *text, uint64_t size)
{
    uint64_t count = 0;
    for (uint64_t k = 0; k < size; k++)
        count += !wordpiece_is_inside(text[k]);
    return count;
}

/* The longest token at `at`, its length in *ret_size; -1: none. */
static int32_t wordpiece_longest(const tokenizer *t, const char *text, uint64_t size,
                                 uint64_t at, uint64_t *ret_size)
{
    const words *w = at ? &t->wordpiece.rest : &t->words;
    uint64_t n = size - at;
    if (n > w->longest) {
        n = w->longest;
        while (n && wordpiece_is_inside(text[at + n]))
            n--;
    }
    while (n) {
        const int32_t id = words_find(w, text + at, n);
        if (id >= 0) {
            *ret_size = n;
            return id;
        }
        do
            n--;
        while (n && wordpiece_is_inside(text[at + n]));
    }
    return -1;
}

tutti_status wordpiece_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                              tutti_error *err)
{
    const tokenizer *t = e->t;
    const uint64_t from = e->ids->count;
    bool known = wordpiece_characters(text, size) <= t->wordpiece.most;
    uint64_t n = 0;
    for (uint64_t at = 0; known && at < size; at += n) {
        const int32_t id = wordpiece_longest(t, text, size, at, &n);
        known = id >= 0;
        if (known && !ids_add(e->ids, id))
            return tokenizer_no_memory(err);
    }
    if (known)
        return TUTTI_OK;
    e->ids->count = from;
    return ids_add(e->ids, t->unknown) ? TUTTI_OK : tokenizer_no_memory(err);
}
