/* store.h - a run in a folder, as MLflow's FileStore has it: found or made, fed, ended. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_STORE_H
#define MLFLOW_STORE_H

#include "../common/outbox.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct store {
    char root[640];    /* absolute; "": what is logged goes to a server */
    char id_path[800]; /* file in the run's folder that keeps run_id for later processes */
    const tutti_log_v1 *log; /* may be NULL */
    char run_id[80];         /* "": none yet */
    char run[800];           /* its folder */
    char next_run[40];       /* ids of what is being made, which further tries keep; "": none */
    char next_experiment[24];
    bool is_under_way; /* a record behind the run's begin is there: those ids are used up */
    size_t done;       /* metrics of the record that was sent last which are in their files */
    uint64_t refused;  /* values whose names are no files */
} store;

/* Reads a path, or an address file:PATH; writes nothing.  Errors: E_ARG it is neither, or too long; E_UNSUPPORTED this
 * build has no store in files. */
TUTTI_NODISCARD tutti_status store_open(store *s, const char *uri, tutti_error *err);

/* Sends one record of tracking.h.  Errors: those of outbox_config.send.  On the outbox's thread. */
TUTTI_NODISCARD tutti_status store_send(store *s, const outbox_record *record,
                                        tutti_error *err);

#endif
