/* json.h - a parsed JSON text whose every value knows its line and path. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_JSON_H
#define HOST_BASE_JSON_H

#include "tutti/base.h"

#include <stdbool.h>

typedef struct json_doc json_doc;   /* opaque; owns all nodes */
typedef struct json_node json_node; /* borrowed from its document */

enum { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* Parses `text` (strict JSON; duplicate keys, NUL in strings, and nesting over 64 are errors).
 * `name` stands in messages: "run.json:12: ...".  The caller owns *ret_doc.  [any]
 * Errors: E_FORMAT with name and line; E_NOMEM. */
TUTTI_NODISCARD tutti_status json_parse(const char *name, const char *text, size_t size,
                                        json_doc **ret_doc, tutti_error *err);

/* The same for a file of at most `limit` bytes.  Errors also: E_IO; E_RANGE when it is larger. */
TUTTI_NODISCARD tutti_status json_read(const char *path, size_t limit, json_doc **ret_doc,
                                       tutti_error *err);

void json_free(json_doc *doc); /* NULL is allowed */

json_node *json_root(const json_doc *doc);    /* never NULL */
const char *json_name(const json_node *node); /* the document's name */

int json_type(const json_node *node);              /* JSON_* */
const char *json_type_name(const json_node *node); /* "an object", "a string" ... */
const char *json_type_text(int type);              /* the same of JSON_* */
int json_line(const json_node *node);              /* from 1; 0 for a value set by override */
const char *json_path(const json_node *node); /* "train.dataset.path", "eval[0].label"; "" */
const char *json_key(const json_node *node);  /* its key in the parent object, or NULL */

/* NULL, a member that is not there, is of no type and has no members. */
bool json_bool(const json_node *node);          /* of a BOOL, else false */
int64_t json_int(const json_node *node);        /* of an INT, else 0 */
double json_real(const json_node *node);        /* of an INT or REAL, else 0 */
const char *json_string(const json_node *node); /* of a STRING, else NULL */

size_t json_count(const json_node *node);                    /* items or members */
json_node *json_at(const json_node *node, size_t k);         /* k-th item or member, or NULL */
json_node *json_get(const json_node *node, const char *key); /* member, or NULL */

/* Sets the value at a dotted path ("train.dataset.path", "eval.0.label", "callbacks[1].every") to
 * `value`, which is read as JSON and, failing that, as a plain string.  Missing members are made;
 * array items must be there, or be the next one.
 * Errors: E_ARG names the part of the path that does not fit. */
TUTTI_NODISCARD tutti_status json_override(json_doc *doc, const char *path, const char *value,
                                           tutti_error *err);

/* The value as compact JSON text with keys in document order; the caller frees it.  NULL when out
 * of memory. */
char *json_text(const json_node *node);

#endif
