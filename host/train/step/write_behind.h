/* write_behind.h - one piece of writing at a time, by a thread, while training goes on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_WRITE_BEHIND_H
#define HOST_TRAIN_STEP_WRITE_BEHIND_H

#include "tutti/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct write_behind_job {
    tutti_status (*write)(const void *what, tutti_error *err);
    tutti_status (*finish)(const void *what, tutti_error *err); /* what makes it count */
    void (*drop)(void *what);
    void *what; /* NULL: none */
} write_behind_job;

/* All functions are called by the step thread. */
typedef struct write_behind {
    write_behind_job job;
    bool together;  /* all ranks write: `finish` is due once all have */
    bool running;   /* the thread is there */
    unsigned steps; /* of the job, that it does */
    pthread_t thread;
    atomic_bool ended;
    tutti_error error; /* the thread's, once it has ended */
    bool lost;         /* something could not be written */
} write_behind;

/* Takes job->what and writes it, then finishes it unless ranks do so `together`; nothing is under way.  Errors:
 * E_NOMEM there is no thread to be had; what stays the caller's. */
TUTTI_NODISCARD tutti_status write_behind_start(write_behind *b, const write_behind_job *job,
                                                bool together, tutti_error *err);
/* Whether this rank's writing has ended well, where all ranks write. */
bool write_behind_is_written(const write_behind *b);
/* All ranks' has: the thread goes on to finish it.  Errors as write_behind_start. */
TUTTI_NODISCARD tutti_status write_behind_go_on(write_behind *b, tutti_error *err);
/* Waits for the thread.  The failure of each job is returned once.  What ranks finish together stays for
 * write_behind_finish, by this thread, and write_behind_drop. */
TUTTI_NODISCARD tutti_status write_behind_join(write_behind *b, tutti_error *err);
TUTTI_NODISCARD tutti_status write_behind_finish(write_behind *b, tutti_error *err);
void write_behind_drop(write_behind *b);
/* The failure of what has ended, as write_behind_join; TUTTI_OK while it is under way. */
TUTTI_NODISCARD tutti_status write_behind_failed(write_behind *b, tutti_error *err);
/* Whether everything that was begun was written and finished. */
bool write_behind_is_whole(const write_behind *b);

#endif
