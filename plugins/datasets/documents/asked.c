/* asked.c - prompts and what may be answered, for evaluations that generate. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "asked.h"

#include <stdlib.h>
#include <string.h>

void asked_free(asked *a)
{
    free(a->tokens.data);
    free(a->end);
    memset(a, 0, sizeof *a);
}

static tutti_status asked_place(asked *a, tutti_error *err)
{
    if (a->count == a->capacity) {
        const uint64_t capacity = 2 * a->capacity + 64;
        uint64_t *end = realloc(a->end, capacity * sizeof *end);
        if (!end)
            return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory for references");
        a->end = end;
        a->capacity = capacity;
    }
    a->end[a->count++] = a->tokens.count;
    return TUTTI_OK;
}

static tutti_status asked_text(asked *a, tokenizer_encoder *encoder, const compose *how,
                               const json_t *text, int64_t length, const char *where,
                               tutti_error *err)
{
    const uint64_t before = a->tokens.count;
    if (!json_is_string(text))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the field \"%s\" has what is no string",
                          where, how->completion_field);
    const tutti_status s = tokenizer_encode(encoder, where, json_string_value(text),
                                            json_string_length(text), 0, &a->tokens, err);
    if (s)
        return s;
    if (a->tokens.count - before > (uint64_t)length)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: a reference has %llu tokens, a row takes %lld", where,
                          (unsigned long long)(a->tokens.count - before), (long long)length);
    return asked_place(a, err);
}

tutti_status asked_add(asked *a, tokenizer_encoder *encoder, const compose *how,
                       const json_t *record, int64_t length, const char *where,
                       tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    int64_t n = 0;
    for (const json_t *text; !s && (text = compose_completion(how, record, (size_t)n)); n++)
        if (n < a->most)
            s = asked_text(a, encoder, how, text, length, where, err);
    if (!s && n > a->most)
        s = tutti_fail(err, TUTTI_E_RANGE,
                       "%s: has %lld completions, want %lld at most: \"references\" says it",
                       where, (long long)n, (long long)a->most);
    for (; n < a->most && !s; n++)
        s = asked_place(a, err);
    return s;
}

static void asked_fill(int32_t *to, const int32_t *from, uint64_t n, int64_t length)
{
    if (n)
        memcpy(to, from, n * sizeof *to);
    for (int64_t k = (int64_t)n; k < length; k++)
        to[k] = -1;
}

void asked_read(const asked *a, const pack *p, const pack_source *from, int64_t row,
                int32_t *prompt, int32_t *references)
{
    const pack_piece *piece = &p->pieces[p->rows[row]];
    uint64_t n = 0;
    while (n < piece->size && !from->learnt[piece->at + n])
        n++;
    asked_fill(prompt, from->tokens + piece->at, n, p->length);
    for (int64_t r = 0; r < a->most; r++) {
        const uint64_t k = (uint64_t)(row * a->most + r), begin = k ? a->end[k - 1] : 0;
        asked_fill(references + r * p->length, a->tokens.data + begin, a->end[k] - begin,
                   p->length);
    }
}
