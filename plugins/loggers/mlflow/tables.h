/* tables.h - the tag by which MLflow's page knows the tables among a run's files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_TABLES_H
#define MLFLOW_TABLES_H

#include "../../common/json_memory.h"
#include "tutti/tutti.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_TAG "mlflow.loggedArtifacts"
/* Characters that MLflow before 2.17 takes as a tag; later releases take 8000. */
enum { TABLES_TAG_LARGEST = 5000 };

/* The tag's list out of its text; an empty one where there is none, NULL for want of memory.  The caller's. */
static inline json_t *tables_read(const char *text)
{
    tutti_error lacks = TUTTI_ERROR_INIT;
    const unsigned long before = json_memory_watch();
    json_t *tables = text ? json_loads(text, 0, NULL) : NULL;
    if (json_memory_told(before, &tables, "mlflow", &lacks))
        return NULL;
    if (json_is_array(tables))
        return tables;
    json_decref(tables);
    return json_array();
}

/* Adds the table at `path`; the oldest go where MLflow would not take as long a tag.  *ret_text is the tag's new text, which
 * the caller frees, or NULL: it has that table. */
static inline tutti_status tables_add(json_t *tables, const char *path, char **ret_text,
                                      tutti_error *err)
{
    json_t *one;
    size_t k;
    *ret_text = NULL;
    json_array_foreach(tables, k, one)
    {
        const char *known = json_string_value(json_object_get(one, "path"));
        if (known && strcmp(known, path) == 0)
            return TUTTI_OK;
    }
    if (json_array_append_new(tables, json_pack("{ssss}", "path", path, "type", "table")) == 0)
        *ret_text = json_dumps(tables, 0); /* with blanks: MLflow looks for such a text */
    while (*ret_text && strlen(*ret_text) > TABLES_TAG_LARGEST && json_array_size(tables) > 1) {
        free(*ret_text);
        (void)json_array_remove(tables, 0);
        *ret_text = json_dumps(tables, 0);
    }
    return *ret_text ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory");
}

#endif
