/* run_summary.h - what a run is, at its start, and what came of it, at its end; all on stdout. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_RUN_SUMMARY_H
#define HOST_CLI_RUN_SUMMARY_H

#include "train/trainer/trainer.h"

#include <stdio.h>

/* Whether text on that stream may be coloured: a terminal that can, and no NO_COLOR. */
bool cli_has_colours(FILE *stream);

/* Model, device, data, algorithms, folder; for trainer_on_begin, `ctx` is the run file. */
void cli_print_start(void *ctx, const trainer *t);
/* One more row of it. */
void cli_print_fact(void *ctx, const char *key, const char *text);
/* What was trained, then the last value of every metric, one a line. */
void cli_print_training(const trainer *t, const run_file *run);
/* The last value of every metric of the evaluations, one a line. */
void cli_print_metrics(const trainer *t, const run_file *run);
/* Where things lie: the newest checkpoint, logs, the run's folder.  Found while the run is open, printed and freed when
 * it is closed, for what its loggers still write or remove.  NULL is allowed. */
typedef struct cli_places cli_places;
cli_places *cli_find_places(const trainer *t);
void cli_print_places(cli_places *p);

#endif
