/* run.h - a run of an engine file: Ignite's loop, over a trainer that has all that the file names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_RUN_RUN_H
#define HOST_RUN_RUN_H

#include "train/trainer/trainer.h"
#include "tutti_host/loop.h"

typedef struct loop_run loop_run; /* opaque */

/* A loop whose events are heard by everybody in the trainer's engine: callbacks, handlers, evaluations,
 * loggers.  `run` is an engine file's; it and `t` must outlive the result.  Loads the plugins of the
 * process function.  [control] */
TUTTI_NODISCARD tutti_status loop_run_create(run_file *run, trainer *t, registry *r,
                                             loop_run **ret_run, tutti_error *err);
void loop_run_destroy(loop_run *l); /* NULL is allowed */

/* To the file's limit, of a file with "distributed" on all ranks.  `resume` and `accept_bits` as in
 * fit_options.  [control]
 * Errors: E_INTERRUPTED a caught signal ended it, after which a checkpoint has been written if the run
 * has a saver; E_STATE a resumed run has reached its limit already; those of functions and data. */
TUTTI_NODISCARD tutti_status loop_run_go(loop_run *l, const char *resume, bool accept_bits,
                                         tutti_error *err);

bool loop_run_interrupted(const loop_run *l); /* a function has asked for it; it is saved */
const tutti_loop_state *loop_run_state(const loop_run *l);
/* service.c: what the process function gave last, of a supervised process the loss; NaN: nothing. */
double loop_run_output(const loop_run *l);

#endif
