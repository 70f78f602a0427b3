/* process.c - post-processors: the ids that stand before and after a text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

static void process_add(const part *p, tokenizer_ids *ids, int64_t id)
{
    if (id < 0 || id > INT32_MAX / 2)
        part_fail(p, TUTTI_E_FORMAT, "a special token has no id from 0 to %d", INT32_MAX / 2);
    else if (!ids_add(ids, (int32_t)id))
        part_fail(p, TUTTI_E_NOMEM, "no memory for its ids");
}

/* Puts an id in front of those that are there. */
static void process_add_first(const part *p, tokenizer_ids *ids, int64_t id)
{
    process_add(p, ids, id);
    if (*p->status == TUTTI_OK && ids->count > 1) {
        memmove(ids->data + 1, ids->data, (ids->count - 1) * sizeof *ids->data);
        ids->data[0] = (int32_t)id;
    }
}

/* [token, id] of BertProcessing and RobertaProcessing. */
static int64_t process_pair(const part *p, const char *key)
{
    const json_t *id = json_array_get(part_list(p, key, true), 1);
    return json_is_integer(id) ? json_integer_value(id) : -1;
}

/* The ids of one place of a template, {"SpecialToken": {"id": NAME}}. */
static void process_special(const part *p, const json_t *special, tokenizer_ids *to)
{
    const char *name = json_string_value(json_object_get(special, "id"));
    const json_t *ids = json_object_get(
        json_object_get(json_object_get(p->json, "special_tokens"), name ? name : ""), "ids");
    if (!json_array_size(ids))
        part_fail(p, TUTTI_E_FORMAT,
                  "\"special_tokens\" does not have \"%.80s\" with its \"ids\"",
                  name ? name : "");
    for (size_t k = 0; k < json_array_size(ids); k++) {
        const json_t *id = json_array_get(ids, k);
        process_add(p, to, json_is_integer(id) ? json_integer_value(id) : -1);
    }
}

static void process_template(tokenizer *t, const part *p)
{
    const json_t *list = part_list(p, "single", true);
    tokenizer_ids before = {0}, after = {0};
    int sequences = 0;
    for (size_t k = 0; k < json_array_size(list) && *p->status == TUTTI_OK; k++) {
        const json_t *item = json_array_get(list, k);
        const json_t *special = json_object_get(item, "SpecialToken");
        if (special)
            process_special(p, special, sequences ? &after : &before);
        else
            sequences++;
    }
    if (sequences != 1)
        part_fail(p, TUTTI_E_UNSUPPORTED, "\"single\" has the text %d times, want once",
                  sequences);
    for (uint64_t k = before.count; k-- > 0;)
        process_add_first(p, &t->before, before.data[k]);
    for (uint64_t k = 0; k < after.count; k++)
        process_add(p, &t->after, after.data[k]);
    free(before.data);
    free(after.data);
}

static void process_read_one(void *ctx, const part *p)
{
    process_read(ctx, p);
}

void process_read(tokenizer *t, const part *p)
{
    if (!p->json || *p->status)
        return;
    const char *type = part_type(p);
    if (strcmp(type, "Sequence") == 0) {
        part_each(p, "processors", t, process_read_one);
    } else if (strcmp(type, "TemplateProcessing") == 0) {
        process_template(t, p);
    } else if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        process_add_first(p, &t->before, process_pair(p, "cls"));
        process_add(p, &t->after, process_pair(p, "sep"));
    } else if (strcmp(type, "ByteLevel") != 0) { /* which moves offsets alone */
        part_fail(p, TUTTI_E_UNSUPPORTED, "the type \"%.80s\" is not known here", type);
    }
}
