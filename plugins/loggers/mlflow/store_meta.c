/* store_meta.c - meta.yaml by libyaml. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "store_meta.h"

#include "store_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory");
}

/* ---- reading ---- */

/* The file's only document, to be deleted by the caller. */
static bool meta_load(const char *path, yaml_document_t *ret)
{
    yaml_parser_t parser;
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    bool good = yaml_parser_initialize(&parser) == 1;
    if (good) {
        yaml_parser_set_input_file(&parser, in);
        good = yaml_parser_load(&parser, ret) == 1;
        yaml_parser_delete(&parser);
    }
    (void)fclose(in);
    return good;
}

/* The scalar of a key in the document's mapping; NULL: there is none. */
static yaml_node_t *meta_find(yaml_document_t *d, const char *key)
{
    yaml_node_t *root = yaml_document_get_root_node(d);
    if (!root || root->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(d, p->key);
        yaml_node_t *v = yaml_document_get_node(d, p->value);
        if (k->type == YAML_SCALAR_NODE && v->type == YAML_SCALAR_NODE &&
            strcmp((const char *)k->data.scalar.value, key) == 0)
            return v;
    }
    return NULL;
}

char *meta_get(const char *path, const char *key)
{
    yaml_document_t d;
    if (!meta_load(path, &d))
        return NULL;
    const yaml_node_t *node = meta_find(&d, key);
    char *value = node ? strdup((const char *)node->data.scalar.value) : NULL;
    yaml_document_delete(&d);
    return value;
}

/* ---- writing ---- */

/* Writes the document to the file, and deletes it. */
static tutti_status meta_dump(const char *path, yaml_document_t *d, tutti_error *err)
{
    yaml_emitter_t emitter;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out && yaml_emitter_initialize(&emitter) == 1;
    if (good) {
        yaml_emitter_set_output_file(&emitter, out);
        yaml_emitter_set_unicode(&emitter, 1);
        yaml_emitter_set_width(&emitter, -1);
        good = yaml_emitter_open(&emitter) == 1 && yaml_emitter_dump(&emitter, d) == 1 &&
               yaml_emitter_close(&emitter) == 1;
        yaml_emitter_delete(&emitter);
    } else
        yaml_document_delete(d);
    if (out && fclose(out) != 0)
        good = false;
    const tutti_status s = good ? store_write(path, text, size, err) : no_memory(err);
    free(text);
    return s;
}

/* The text is copied; libyaml before 0.2.3 takes it without const. */
static int add_scalar(yaml_document_t *d, const char *text, yaml_scalar_style_t style)
{
    return yaml_document_add_scalar(d, NULL, (yaml_char_t *)(uintptr_t)text, -1, style);
}

/* A node of the document; 0: none. */
static int add_value(yaml_document_t *d, const meta_entry *e)
{
    if (e->form == META_LIST)
        return yaml_document_add_sequence(d, NULL, YAML_FLOW_SEQUENCE_STYLE);
    return add_scalar(d, e->value,
                      e->form == META_TEXT ? YAML_SINGLE_QUOTED_SCALAR_STYLE
                                           : YAML_PLAIN_SCALAR_STYLE);
}

tutti_status meta_write(const char *path, const meta_entry *entries, size_t n, tutti_error *err)
{
    yaml_document_t d;
    if (yaml_document_initialize(&d, NULL, NULL, NULL, 1, 1) != 1)
        return no_memory(err);
    const int root = yaml_document_add_mapping(&d, NULL, YAML_BLOCK_MAPPING_STYLE);
    for (size_t k = 0; k < n; k++) {
        const int key = add_scalar(&d, entries[k].key, YAML_PLAIN_SCALAR_STYLE);
        const int value = add_value(&d, &entries[k]);
        if (root && key && value &&
            yaml_document_append_mapping_pair(&d, root, key, value) == 1)
            continue;
        yaml_document_delete(&d);
        return tutti_fail(err, TUTTI_E_ARG, "mlflow: %s of %s is no text in UTF-8",
                          entries[k].key, path);
    }
    return meta_dump(path, &d, err);
}

tutti_status meta_set(const char *path, const meta_entry *entries, size_t n, tutti_error *err)
{
    yaml_document_t d;
    if (!meta_load(path, &d))
        return tutti_fail(err, TUTTI_E_IO, "mlflow: cannot read %s as YAML", path);
    for (size_t k = 0; k < n; k++) {
        yaml_node_t *node = meta_find(&d, entries[k].key);
        char *value = node ? strdup(entries[k].value) : NULL;
        if (!value) {
            yaml_document_delete(&d);
            return node ? no_memory(err)
                        : tutti_fail(err, TUTTI_E_IO, "mlflow: %s has no %s", path,
                                     entries[k].key);
        }
        free(node->data.scalar.value); /* libyaml's memory is malloc's */
        node->data.scalar.value = (yaml_char_t *)value;
        node->data.scalar.length = strlen(value);
    }
    return meta_dump(path, &d, err);
}
