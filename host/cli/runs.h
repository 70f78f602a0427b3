/* runs.h - what the commands share that look at runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_RUNS_H
#define HOST_CLI_RUNS_H

#include "base/text.h"
#include "cli/options.h"
#include "report/run_folder.h"

/* The runs of the folders among the arguments from the `first` on, of ./runs without any; false after saying what is
 * wrong.  The caller finishes *ret either way. */
bool runs_open(const cli_options *o, size_t first, run_list *ret);
/* What they have logged; false after saying what is wrong. */
bool runs_read_logs(run_list *l);
/* "1h03m"; returns `text`. */
const char *runs_duration(double seconds, char *text, size_t size);
/* Prints the text and frees it; the exit status. */
int runs_print(text_buffer *b);
/* runs_compare.c: `tutti runs compare`; the exit status. */
int runs_compare(run_list *l, bool json);

#endif
