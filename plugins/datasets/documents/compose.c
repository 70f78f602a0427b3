/* compose.c - texts, prompts with completions, and conversations by a template. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "compose.h"

#include <stdlib.h>
#include <string.h>

static const char role_mark[] = "{role}", content_mark[] = "{content}";

void composed_free(composed *c)
{
    free(c->text);
    free(c->begin);
    free(c->end);
    memset(c, 0, sizeof *c);
}

static tutti_status composed_add(composed *c, const char *text, uint64_t size, tutti_error *err)
{
    if (c->size + size > c->capacity) {
        const uint64_t capacity = 2 * (c->size + size) + 256;
        char *grown = realloc(c->text, capacity);
        if (!grown)
            return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory for a text");
        c->text = grown;
        c->capacity = capacity;
    }
    if (size)
        memcpy(c->text + c->size, text, size);
    c->size += size;
    return TUTTI_OK;
}

static tutti_status composed_answer(composed *c, uint64_t begin, tutti_error *err)
{
    if (c->answers == c->answers_capacity) {
        const uint64_t capacity = 2 * c->answers_capacity + 8;
        uint64_t *begins = realloc(c->begin, capacity * sizeof *begins);
        c->begin = begins ? begins : c->begin;
        uint64_t *ends = begins ? realloc(c->end, capacity * sizeof *ends) : NULL;
        c->end = ends ? ends : c->end;
        if (!ends)
            return tutti_fail(err, TUTTI_E_NOMEM, "documents: no memory for a text");
        c->answers_capacity = capacity;
    }
    c->begin[c->answers] = begin;
    c->end[c->answers++] = c->size;
    return TUTTI_OK;
}

/* The value of a field, which must be a string. */
static tutti_status compose_string(const json_t *value, const char *key, const char *where,
                                   const char **ret, uint64_t *ret_size, tutti_error *err)
{
    if (!json_is_string(value))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the field \"%s\" is %s, want a string",
                          where, key, value ? "no string" : "missing");
    *ret = json_string_value(value);
    *ret_size = json_string_length(value);
    return TUTTI_OK;
}

static tutti_status compose_field(const json_t *record, const char *key, const char *where,
                                  const char **ret, uint64_t *ret_size, tutti_error *err)
{
    return compose_string(json_object_get(record, key), key, where, ret, ret_size, err);
}

static tutti_status compose_field_into(const json_t *record, const char *key, const char *where,
                                       composed *ret, tutti_error *err)
{
    const char *text = NULL;
    uint64_t size = 0;
    const tutti_status s = compose_field(record, key, where, &text, &size, err);
    return s ? s : composed_add(ret, text, size, err);
}

/* One message by the template; what is between its role's and its content's place is prompt, the rest answer. */
static tutti_status compose_message(const compose *how, const json_t *message,
                                    const char *where, composed *ret, tutti_error *err)
{
    const char *role = NULL, *content = NULL;
    uint64_t role_size = 0, content_size = 0, begin = 0;
    tutti_status s = compose_field(message, "role", where, &role, &role_size, err);
    if (s == TUTTI_OK)
        s = compose_field(message, "content", where, &content, &content_size, err);
    for (const char *at = how->message_template; *at && s == TUTTI_OK;) {
        if (strncmp(at, role_mark, sizeof role_mark - 1) == 0) {
            s = composed_add(ret, role, role_size, err);
            at += sizeof role_mark - 1;
        } else if (strncmp(at, content_mark, sizeof content_mark - 1) == 0) {
            begin = ret->size;
            s = composed_add(ret, content, content_size, err);
            at += sizeof content_mark - 1;
        } else {
            s = composed_add(ret, at++, 1, err);
        }
    }
    if (s == TUTTI_OK && strcmp(role, how->answer_role) == 0)
        s = composed_answer(ret, begin, err);
    return s;
}

static tutti_status compose_messages(const compose *how, const json_t *record,
                                     const char *where, composed *ret, tutti_error *err)
{
    const json_t *list = json_object_get(record, how->messages_field);
    tutti_status s = TUTTI_OK;
    if (!json_array_size(list))
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: the field \"%s\" is no list of messages",
                          where, how->messages_field);
    for (size_t k = 0; k < json_array_size(list) && s == TUTTI_OK; k++)
        s = compose_message(how, json_array_get(list, k), where, ret, err);
    if (s == TUTTI_OK && !ret->answers)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: no message has the role \"%s\", so there is nothing to learn",
                          where, how->answer_role);
    return s;
}

const json_t *compose_completion(const compose *how, const json_t *record, size_t k)
{
    const json_t *value = json_object_get(record, how->completion_field);
    if (how->several && json_array_size(value) > 0)
        return json_array_get(value, k);
    return k ? NULL : value;
}

static tutti_status compose_answer(const compose *how, const json_t *record, const char *where,
                                   composed *ret, tutti_error *err)
{
    const uint64_t begin = ret->size;
    const char *text = NULL;
    uint64_t size = 0;
    tutti_status s = compose_string(compose_completion(how, record, 0), how->completion_field,
                                    where, &text, &size, err);
    if (s == TUTTI_OK)
        s = composed_add(ret, text, size, err);
    return s ? s : composed_answer(ret, begin, err);
}

tutti_status compose_record(const compose *how, const json_t *record, const char *where,
                            composed *ret, tutti_error *err)
{
    ret->size = 0;
    ret->answers = 0;
    if (how->kind == COMPOSE_MESSAGES)
        return compose_messages(how, record, where, ret, err);
    if (how->kind == COMPOSE_TEXT || how->kind == COMPOSE_CLASSES)
        return compose_field_into(record, how->text_field, where, ret, err);
    const tutti_status s = compose_field_into(record, how->prompt_field, where, ret, err);
    return s ? s : compose_answer(how, record, where, ret, err);
}

tutti_status compose_check(const compose *how, tutti_error *err)
{
    const char *content = strstr(how->message_template, content_mark);
    if (how->kind == COMPOSE_MESSAGES && (!content || strstr(content + 1, content_mark)))
        return tutti_fail(err, TUTTI_E_ARG,
                          "documents: template \"%s\" does not have {content} once",
                          how->message_template);
    return TUTTI_OK;
}
