/* added_read.c - the list of added tokens, and what normalizers make of their texts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

static void added_read_one(void *ctx, const part *p)
{
    tokenizer *t = ctx;
    added_token *a = &t->added.tokens[t->added.count];
    const char *text = part_wanted_text(p, "content");
    const int64_t id = part_int(p, "id", -1);
    if (*p->status || !*text) /* as the package, which never finds an empty one */
        return;
    if (id < 0 || id > INT32_MAX / 2) {
        part_fail(p, TUTTI_E_FORMAT, "\"%.80s\" has no \"id\" from 0 to %d", text,
                  INT32_MAX / 2);
        return;
    }
    a->text = text;
    a->size = strlen(text);
    a->id = (int32_t)id;
    a->special = part_bool(p, "special", false);
    a->single_word = part_bool(p, "single_word", false);
    a->left = part_bool(p, "lstrip", false);
    a->right = part_bool(p, "rstrip", false);
    a->normalized = part_bool(p, "normalized", !a->special);
    if (!words_put(&t->specials, text, a->size, a->id))
        part_fail(p, TUTTI_E_NOMEM, "no memory for it");
    t->size = id >= t->size ? id + 1 : t->size;
    t->added.count++;
}

void added_read(tokenizer *t, const part *p)
{
    const json_t *list = part_list(p, "added_tokens", false);
    if (!json_array_size(list))
        return;
    t->added.tokens = calloc(json_array_size(list), sizeof *t->added.tokens);
    part tokens = *p;
    tokens.where = "added_tokens";
    if (!t->added.tokens)
        part_fail(&tokens, TUTTI_E_NOMEM, "no memory for them");
    else
        part_each(&tokens, "added_tokens", t, added_read_one);
}

static int added_longest(const void *a, const void *b)
{
    const added_token *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size ? 1 : -1) : 0;
}

tutti_status added_normalize(tokenizer *t, tutti_error *err)
{
    tokenizer_encoder *e = NULL;
    tutti_status s = tokenizer_encoder_create(t, &e, err);
    for (uint64_t k = 0; k < t->added.count && s == TUTTI_OK; k++) {
        added_token *a = &t->added.tokens[k];
        const char *text = a->text;
        uint64_t size = a->size;
        if (!a->normalized || !t->normalize.count)
            continue;
        s = normalize_run(e, &text, &size, err);
        if (s == TUTTI_OK && !(a->own = malloc(size + 1)))
            s = tokenizer_no_memory(err);
        if (s)
            break;
        memcpy(a->own, text, size);
        a->text = a->own;
        a->size = size;
    }
    tokenizer_encoder_destroy(e);
    if (t->added.count)
        qsort(t->added.tokens, t->added.count, sizeof *t->added.tokens, added_longest);
    for (uint64_t k = 0; k < t->added.count; k++)
        if (t->added.tokens[k].size)
            t->added.begins[t->added.tokens[k].normalized]
                           [(unsigned char)t->added.tokens[k].text[0]] = true;
    return s;
}
