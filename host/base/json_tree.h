/* json_tree.h - the nodes behind json.h, for its own sources.  jansson's names and those of json.h
 * clash, so the file that includes jansson.h sees this header only, and never calls jansson's
 * json_string and json_real: the linker takes ours. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_JSON_TREE_H
#define HOST_BASE_JSON_TREE_H

#include "tutti/base.h"

#include <stdbool.h>

#define TREE_MAX_DEPTH 64

typedef struct json_doc json_doc;
typedef struct json_node json_node;

/* The values of json.h's JSON_*. */
enum { NODE_NULL, NODE_BOOL, NODE_INT, NODE_REAL, NODE_STRING, NODE_ARRAY, NODE_OBJECT };

struct json_node {
    json_doc *doc;
    int type;
    int line;
    char *key;  /* NULL in arrays and at the root */
    char *path; /* never NULL once placed */
    int64_t integer;
    double real;
    char *string;
    json_node **items;
    size_t count;
    size_t capacity;
};

struct json_doc {
    char *name;
    json_node *root;
};

json_node *tree_node(json_doc *doc, int type, int line); /* NULL when out of memory */
void tree_free(json_node *node);                         /* NULL is allowed */
/* Appends `item`, which the parent owns from then on; on failure the caller still does.  `key` is
 * copied; NULL in arrays. */
TUTTI_NODISCARD tutti_status tree_append(json_node *parent, const char *key, json_node *item);
/* Gives `node` and all below it their paths, starting from the parent's path. */
TUTTI_NODISCARD tutti_status tree_place(json_node *node, const char *parent_path, size_t index);

/* Reads `text` into a tree without paths.  Lines count from 1, or are all 0 with `no_lines`.
 * Errors: E_FORMAT with the document's name and line; E_NOMEM. */
TUTTI_NODISCARD tutti_status tree_read(json_doc *doc, const char *text, size_t size,
                                       bool no_lines, json_node **ret_root, tutti_error *err);

/* Whether `text` is well-formed UTF-8. */
bool tree_utf8(const char *text);

#endif
