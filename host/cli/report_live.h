/* report_live.h - tutti report --live: the page while runs train. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_REPORT_LIVE_H
#define HOST_CLI_REPORT_LIVE_H

#include "report/report.h"

/* Serves the page of the runs, whose logs are read, on `port`, NULL for any, until none goes on or a signal comes; says
 * what is wrong.  Returns the exit status. */
int report_live(run_list *runs, const report_parts *parts, const char *port);

#endif
