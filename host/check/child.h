/* child.h - work of a check in a child process with limits, and what it has to say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_CHILD_H
#define HOST_CHECK_CHILD_H

#include "check/check.h"

typedef struct child child;

/* One sentence about a check.  The first failure of a check stands; NOT_TRIED gives way to others.  [any] */
TUTTI_PRINTF(4, 5)
void child_say(child *c, int check, int outcome, const char *format, ...);
/* Work for this check begins: a crash from here on is its failure.  It passes unless more is said. */
void child_begin(child *c, int check);

/* What the checks of one child came to, told to the parent. */
typedef struct child_report {
    int outcome[CHECKS_COUNT]; /* CHECK_*, or -1: not begun */
    char text[CHECKS_COUNT][640];
} child_report;

/* Runs `work` in a child, in `folder`, for at most `seconds`.  The end of the child before that of the work is a
 * failure of the check under way, and *ret_ended false; so is what it writes to standard output.  Errors: E_IO, E_NOMEM. */
TUTTI_NODISCARD tutti_status child_run(const char *folder, double seconds, bool may_print,
                                       void (*work)(child *c, void *ctx), void *ctx,
                                       child_report *report, bool *ret_ended, tutti_error *err);

#endif
