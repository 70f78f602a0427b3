/* added.c - added tokens: cut out of a text before it is normalized, or behind that. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"
#include "unicode.h"

/* The longest token at `at`, or NULL. */
static const added_token *added_at(const added *a, const char *text, uint64_t size, uint64_t at,
                                   bool normalized)
{
    if (!a->begins[normalized][(unsigned char)text[at]])
        return NULL;
    for (uint64_t k = 0; k < a->count; k++) {
        const added_token *one = &a->tokens[k];
        if (one->normalized == normalized && one->size && one->size <= size - at &&
            memcmp(one->text, text + at, one->size) == 0)
            return one;
    }
    return NULL;
}

/* Where the character before `at` > 0 begins. */
static uint64_t added_before(const char *text, uint64_t at)
{
    do
        at--;
    while (at && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

static bool added_stands_alone(const char *text, uint64_t size, uint64_t begin, uint64_t end)
{
    uint32_t n;
    return (begin == 0 ||
            !unicode_is_word(unicode_read(text, size, added_before(text, begin), &n))) &&
           (end == size || !unicode_is_word(unicode_read(text, size, end, &n)));
}

/* Takes the white space on the sides that the token says (lstrip, rstrip); not past `least`. */
static void added_strip(const added_token *a, const char *text, uint64_t size, uint64_t least,
                        uint64_t *begin, uint64_t *end)
{
    uint32_t n;
    while (a->left && *begin > least) {
        const uint64_t before = added_before(text, *begin);
        if (!unicode_is_space(unicode_read(text, size, before, &n)))
            break;
        *begin = before;
    }
    while (a->right && *end < size && unicode_is_space(unicode_read(text, size, *end, &n)))
        *end += n;
}

/* What is between two tokens, and whether the text begins with it. */
typedef tutti_status added_rest(tokenizer_encoder *e, const char *text, uint64_t size,
                                bool first, tutti_error *err);

static tutti_status added_cut(tokenizer_encoder *e, const char *text, uint64_t size, bool first,
                              bool normalized, added_rest *rest, tutti_error *err)
{
    const added *all = &e->t->added;
    uint64_t done = 0;
    tutti_status s = TUTTI_OK;
    for (uint64_t at = 0; at < size && s == TUTTI_OK;) {
        const added_token *a = all->count ? added_at(all, text, size, at, normalized) : NULL;
        if (!a) {
            at++;
            continue;
        }
        uint64_t begin = at, end = at + a->size;
        at = end;
        if (begin < done || (a->single_word && !added_stands_alone(text, size, begin, end)))
            continue;
        added_strip(a, text, size, done, &begin, &end);
        if (begin > done)
            s = rest(e, text + done, begin - done, first && done == 0, err);
        if (s == TUTTI_OK && !ids_add(e->ids, a->id))
            s = tokenizer_no_memory(err);
        done = end;
        at = end > at ? end : at;
    }
    if (s == TUTTI_OK && size > done)
        s = rest(e, text + done, size - done, first && done == 0, err);
    return s;
}

static tutti_status added_pieces(tokenizer_encoder *e, const char *text, uint64_t size,
                                 bool first, tutti_error *err)
{
    return split_run(e, 0, text, size, first, err);
}

static tutti_status added_plain(tokenizer_encoder *e, const char *text, uint64_t size,
                                bool first, tutti_error *err)
{
    const tutti_status s = normalize_run(e, &text, &size, err);
    return s ? s : added_cut(e, text, size, first, true, added_pieces, err);
}

tutti_status added_encode(tokenizer_encoder *e, const char *text, uint64_t size,
                          tutti_error *err)
{
    return added_cut(e, text, size, true, false, added_plain, err);
}
