/* write_behind.h - one piece of writing at a time, by a thread, while training goes on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_WRITE_BEHIND_H
#define HOST_TRAIN_STEP_WRITE_BEHIND_H

#include "tutti/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* All functions are called by the step thread. */
typedef struct write_behind {
    tutti_status (*write)(const void *what, tutti_error *err); /* by the thread */
    void (*drop)(void *what);
    void *what; /* owned; NULL: nothing is under way */
    pthread_t thread;
    atomic_bool ended;
    tutti_error error; /* the thread's, once it has ended */
    bool lost;         /* something could not be written */
} write_behind;

/* Takes `what`, which write_behind_join drops; nothing is under way.  False: there is no thread to be had, and `what`
 * stays the caller's. */
bool write_behind_start(write_behind *b, tutti_status (*write)(const void *, tutti_error *),
                        void (*drop)(void *), void *what);
/* Waits for what is under way.  The failure of each is returned once. */
TUTTI_NODISCARD tutti_status write_behind_join(write_behind *b, tutti_error *err);
/* The failure of what has ended, as write_behind_join; TUTTI_OK while it is under way. */
TUTTI_NODISCARD tutti_status write_behind_failed(write_behind *b, tutti_error *err);
/* Whether nothing is under way and everything was written. */
bool write_behind_is_whole(const write_behind *b);

#endif
