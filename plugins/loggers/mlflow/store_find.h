/* store_find.h - experiments and runs of a store: found, or made. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_STORE_FIND_H
#define MLFLOW_STORE_FIND_H

#include "store.h"

#include <jansson.h>
#include <stdbool.h>

/* What a run begins with. */
typedef struct store_begin {
    const char *experiment, *name; /* their names */
    json_int_t start_ms;
    const json_t *tags; /* [{"key", "value"}] */
    bool resume;
} store_begin;

/* Sets the folder of the run `run_id`; false: the store has no such run. */
bool store_find_run(store *s);
/* Sets run_id and run: of the run that goes on, or of a new one.  Errors: E_EXISTS the experiment or run is deleted;
 * those of store_write. */
TUTTI_NODISCARD tutti_status store_take_run(store *s, const store_begin *b, tutti_error *err);
/* The run is under way: the ids that were chosen for it, in id_path with .next behind it, are used up. */
void store_forget_ids(store *s);

#endif
