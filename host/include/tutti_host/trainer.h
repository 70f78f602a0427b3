/* trainer.h - Composer's trainer for programs of your own: a run file is trained, and what it logged is read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HOST_TRAINER_H
#define TUTTI_HOST_TRAINER_H

#include "tutti/history.h"
#include "tutti/time.h"

TUTTI_C_BEGIN
#pragma GCC visibility push(default)

typedef struct tutti_trainer tutti_trainer; /* opaque */

typedef struct tutti_trainer_options {
    uint32_t struct_size;
    uint32_t reserved;
    const char *run_file; /* its path; relative paths in it count from its folder */
    /* "path=value" texts as `tutti train --set` takes them, NULL at the end; may be NULL. */
    const char *const *sets;
    /* Folders of plugins before those of the search path, NULL at the end; may be NULL.  The search
     * path is the program's, with lib/tutti/plugins beside libtutti. */
    const char *const *plugin_paths;
    /* One line for what somebody should know: each fault of the run file, a plugin that cannot be used, warnings
     * and errors of the run; level is TUTTI_LOG_*.  May be NULL.  [any] */
    void (*report)(void *ctx, int32_t level, const char *text);
    void *report_ctx;
} tutti_trainer_options;

#define TUTTI_TRAINER_INIT                                                                     \
    {                                                                                          \
        (uint32_t)sizeof(tutti_trainer_options), 0, NULL, NULL, NULL, NULL, NULL               \
    }

/* Reads the run file, opens what it names and builds the model.  The caller ends it with
 * tutti_trainer_close.  No signal is caught.  [control]
 * Errors: E_ARG the first fault of the options or of the run file; those of what it names. */
TUTTI_NODISCARD tutti_status tutti_trainer_open(const tutti_trainer_options *options,
                                                tutti_trainer **ret_trainer, tutti_error *err);
/* Closes every object, loggers too, and frees all; NULL is allowed.  [control] */
void tutti_trainer_close(tutti_trainer *t);

/* Trains until the run's max_duration, which `duration` ("2ep", "100ba"; NULL: as it is) makes so much more than
 * now.  May be called again, and goes on then.  [control]
 * Errors: E_ARG or E_FORMAT for the duration; E_STATE max_duration is over already; what ended the run. */
TUTTI_NODISCARD tutti_status tutti_trainer_fit(tutti_trainer *t, const char *duration,
                                               tutti_error *err);
const tutti_timestamp *tutti_trainer_time(const tutti_trainer *t); /* live */

/* The last number logged under `name` ("metrics/eval/accuracy"); NaN: there is none.  [control] */
double tutti_trainer_metric(const tutti_trainer *t, const char *name);
/* All that was logged, where the run file has the logger in_memory; else NULL.  It lives until the trainer is
 * closed, and is read between fits.  [control] */
const tutti_history_v1 *tutti_trainer_history(const tutti_trainer *t);

#pragma GCC visibility pop
TUTTI_C_END
#endif
