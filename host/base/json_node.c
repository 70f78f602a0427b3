/* json_node.c - documents: reading them, looking at their nodes, writing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/input_file.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TUTTI_STATIC_ASSERT((int)NODE_NULL == (int)JSON_NULL && (int)NODE_BOOL == (int)JSON_BOOL &&
                        (int)NODE_INT == (int)JSON_INT && (int)NODE_REAL == (int)JSON_REAL &&
                        (int)NODE_STRING == (int)JSON_STRING &&
                        (int)NODE_ARRAY == (int)JSON_ARRAY &&
                        (int)NODE_OBJECT == (int)JSON_OBJECT,
                    "json_tree.h and json.h number the types alike");

tutti_status json_parse(const char *name, const char *text, size_t size, json_doc **ret_doc,
                        tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    json_doc *doc = calloc(1, sizeof *doc);
    if (doc)
        doc->name = strdup(name);
    if (!doc || !doc->name) {
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the document", name);
        goto fail;
    }
    status = tree_read(doc, text, size, false, &doc->root, err);
    if (status)
        goto fail;
    if (tree_place(doc->root, "", 0)) {
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its values", name);
        goto fail;
    }
    *ret_doc = doc;
    return TUTTI_OK;

fail:
    json_free(doc);
    return status;
}

tutti_status json_read(const char *path, size_t limit, json_doc **ret_doc, tutti_error *err)
{
    text_buffer b = {0};
    FILE *file;
    tutti_status status = input_file_open(path, &file, err);
    if (status)
        return status;
    char chunk[4096];
    size_t got;
    while (b.size <= limit && (got = fread(chunk, 1, sizeof chunk, file)) > 0)
        text_add_bytes(&b, chunk, got);
    if (ferror(file))
        status = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    else if (b.failed)
        status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the file", path);
    else if (b.size > limit)
        status = tutti_fail(err, TUTTI_E_RANGE, "%s: larger than the limit of %zu bytes", path,
                            limit);
    (void)fclose(file);
    if (!status)
        status = json_parse(path, b.data ? b.data : "", b.size, ret_doc, err);
    free(b.data);
    return status;
}

void json_free(json_doc *doc)
{
    if (!doc)
        return;
    tree_free(doc->root);
    free(doc->name);
    free(doc);
}

json_node *json_root(const json_doc *doc)
{
    return doc->root;
}

const char *json_name(const json_node *node)
{
    return node->doc->name;
}

int json_type(const json_node *node)
{
    return node->type;
}

const char *json_type_text(int type)
{
    static const char *const names[] = {"null",     "a boolean", "an integer", "a number",
                                        "a string", "an array",  "an object"};
    return names[type];
}

const char *json_type_name(const json_node *node)
{
    return json_type_text(node->type);
}

int json_line(const json_node *node)
{
    return node->line;
}

const char *json_path(const json_node *node)
{
    return node->path;
}

const char *json_key(const json_node *node)
{
    return node->key;
}

bool json_bool(const json_node *node)
{
    return node && node->type == JSON_BOOL && node->integer;
}

int64_t json_int(const json_node *node)
{
    return node && node->type == JSON_INT ? node->integer : 0;
}

double json_real(const json_node *node)
{
    return node && (node->type == JSON_INT || node->type == JSON_REAL) ? node->real : 0.0;
}

const char *json_string(const json_node *node)
{
    return node && node->type == JSON_STRING ? node->string : NULL;
}

size_t json_count(const json_node *node)
{
    return node ? node->count : 0;
}

json_node *json_at(const json_node *node, size_t k)
{
    return node && k < node->count ? node->items[k] : NULL;
}

json_node *json_get(const json_node *node, const char *key)
{
    if (!node || node->type != JSON_OBJECT)
        return NULL;
    for (size_t k = 0; k < node->count; k++)
        if (strcmp(node->items[k]->key, key) == 0)
            return node->items[k];
    return NULL;
}

static void write_node(text_buffer *b, const json_node *node)
{
    char number[TEXT_REAL_SIZE];
    const bool array = node->type == JSON_ARRAY;
    switch (node->type) {
    case JSON_BOOL:
        text_add(b, "%s", node->integer ? "true" : "false");
        return;
    case JSON_INT:
        text_add(b, "%lld", (long long)node->integer);
        return;
    case JSON_REAL:
        text_add(b, "%s", text_real(node->real, number));
        /* 1.0 must not come back as an integer. */
        if (!strpbrk(number, ".e"))
            text_add(b, ".0");
        return;
    case JSON_STRING:
        text_add_quoted(b, node->string);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        text_add(b, "%s", array ? "[" : "{");
        for (size_t k = 0; k < node->count; k++) {
            text_add(b, "%s", k ? "," : "");
            if (!array) {
                text_add_quoted(b, node->items[k]->key);
                text_add(b, ":");
            }
            write_node(b, node->items[k]);
        }
        text_add(b, "%s", array ? "]" : "}");
        return;
    default:
        text_add(b, "null");
    }
}

char *json_text(const json_node *node)
{
    text_buffer b = {0};
    write_node(&b, node);
    if (b.failed) {
        free(b.data);
        return NULL;
    }
    return b.data;
}
