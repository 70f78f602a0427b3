/* generate_run.h - the run that tutti generate takes: of a checkpoint, of a run file, or made for a published folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_GENERATE_RUN_H
#define HOST_CLI_GENERATE_RUN_H

#include "cli/cli.h"

/* The run, and *ret_weights, the file to take weights from, which the caller frees.  `tokens` is how long a text can
 * become.  NULL after saying why there is none. */
run_file *generate_run(const cli_options *o, registry *r, uint64_t tokens, char **ret_weights);

#endif
