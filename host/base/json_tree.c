/* json_tree.c - making and freeing nodes, and where in the document they are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_tree.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

json_node *tree_node(json_doc *doc, int type, int line)
{
    json_node *node = calloc(1, sizeof *node);
    if (node) {
        node->doc = doc;
        node->type = type;
        node->line = line;
    }
    return node;
}

void tree_free(json_node *node)
{
    if (!node)
        return;
    for (size_t k = 0; k < node->count; k++)
        tree_free(node->items[k]);
    free(node->items);
    free(node->key);
    free(node->path);
    free(node->string);
    free(node);
}

tutti_status tree_append(json_node *parent, const char *key, json_node *item)
{
    if (parent->count == parent->capacity) {
        const size_t capacity = parent->capacity ? 2 * parent->capacity : 8;
        json_node **items = realloc(parent->items, capacity * sizeof *items);
        if (!items)
            return TUTTI_E_NOMEM;
        parent->items = items;
        parent->capacity = capacity;
    }
    char *copy = key ? strdup(key) : NULL;
    if (key && !copy)
        return TUTTI_E_NOMEM;
    free(item->key);
    item->key = copy;
    parent->items[parent->count++] = item;
    return TUTTI_OK;
}

tutti_status tree_place(json_node *node, const char *parent_path, size_t index)
{
    text_buffer b = {0};
    if (node->key)
        text_add(&b, "%s%s%s", parent_path, *parent_path ? "." : "", node->key);
    else if (node != node->doc->root)
        text_add(&b, "%s[%zu]", parent_path, index);
    else
        text_add(&b, "%s", "");
    if (b.failed) {
        free(b.data);
        return TUTTI_E_NOMEM;
    }
    free(node->path);
    node->path = b.data;
    for (size_t k = 0; k < node->count; k++)
        if (tree_place(node->items[k], node->path, k))
            return TUTTI_E_NOMEM;
    return TUTTI_OK;
}
