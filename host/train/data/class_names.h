/* class_names.h - what classes are called by the data of a run and by a checkpoint, and where two of them differ. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_CLASS_NAMES_H
#define HOST_TRAIN_DATA_CLASS_NAMES_H

#include "base/json.h"
#include "train/data/data_source.h"

#define CLASS_NAMES_WHERE 352

/* Who knows names of classes.  It borrows what it was made of. */
typedef struct class_names {
    const data_source *data;       /* NULL: `root` has them */
    const json_node *root;         /* class_names_json's; both NULL: there are no names */
    char where[CLASS_NAMES_WHERE]; /* in sentences: "the training data" */
} class_names;

class_names class_names_of(const data_source *data, const char *where);
/* Of the parsed text of class_names_json. */
class_names class_names_in(const json_doc *doc, const char *where);
/* What class `k` of a column is called; NULL: it has no name.  [control] */
const char *class_names_at(const class_names *n, const char *column, int64_t k);
/* How many classes of a column have names, from 0 on. */
int64_t class_names_count(const class_names *n, const char *column);

/* {"target": ["ant", "bee"]}; *ret_json is NULL where no column's classes have names.  The caller frees it.
 * Errors: E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status class_names_json(const data_source *data, char **ret_json,
                                              tutti_error *err);

/* Whether a number stands for the same class in both, for each column of `data` whose classes both name.
 * Errors: E_ARG names the first class that does not.  [control] */
TUTTI_NODISCARD tutti_status class_names_agree(const class_names *known,
                                               const class_names *data, tutti_error *err);
/* Those that agree may differ in number, which `text` says then; false: they do not.  *ret_more: `data` name classes
 * that `known` does not. */
bool class_names_differ(const class_names *known, const class_names *data, char *text,
                        size_t size, bool *ret_more);

#endif
