/* child.h - a program that reads lines from its standard input: started, fed, started again, ended. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PIPE_CHILD_H
#define PIPE_CHILD_H

#include "../common/outbox.h"

#include <sys/types.h>

typedef struct child {
    const char *const *argv; /* NULL-terminated */
    const char *output;      /* file for what it prints; may be NULL */
    pid_t pid;               /* 0: none runs */
    int in;                  /* the writing end of its standard input; -1 */
} child;

/* Starts the program unless it runs.  Errors: E_IO it cannot be started. */
TUTTI_NODISCARD tutti_status child_start(child *c, tutti_error *err);
/* Writes the records and waits until the program has read them; *ret_read of them, from the first on, were read
 * whole.  Returns early when outbox_must_end.  Errors: E_IO it has ended or has closed its input; nothing of it is
 * left then. */
TUTTI_NODISCARD tutti_status child_feed(child *c, outbox *o, const outbox_record *records,
                                        uint32_t n, uint32_t *ret_read, tutti_error *err);
/* Closes its input and waits for its end until outbox_must_end; then it is killed.  Errors: E_FAIL it did not
 * end well. */
TUTTI_NODISCARD tutti_status child_finish(child *c, outbox *o, tutti_error *err);

#endif
