/* child.h - work of a check in a child process with limits, and what it has to say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_CHILD_H
#define HOST_CHECK_CHILD_H

#include "check/check.h"

typedef struct child child;

/* One sentence about a check.  The first failure of a check stands; NOT_TRIED gives way to others.  [any] */
TUTTI_PRINTF(4, 5)
void child_say(child *c, int check, int outcome, const char *format, ...);
/* The check is not tried, because of this error.  Where memory was out, the whole work has failed: child_run says so.  [any] */
void child_give_up(child *c, int check, const char *what, const tutti_error *why);
/* Work for this check begins: a crash from here on is its failure.  It passes unless more is said. */
void child_begin(child *c, int check);

/* What the checks of one child came to, told to the parent. */
typedef struct child_report {
    int outcome[CHECKS_COUNT]; /* CHECK_*, or -1: not begun */
    char text[CHECKS_COUNT][640];
} child_report;

/* Runs `work` in a child, in `folder`, for at most `seconds`.  The end of the child before that of the work is a
 * failure of the check under way, and *ret_ended false; so is what it writes to standard output.  Errors: E_IO; E_NOMEM, also of a
 * check that child_give_up was called for. */
TUTTI_NODISCARD tutti_status child_run(const char *folder, double seconds, bool may_print,
                                       void (*work)(child *c, void *ctx), void *ctx,
                                       child_report *report, bool *ret_ended, tutti_error *err);

#endif
