/* process_state.h - what a plugin's call leaves changed in the process, found by looking before and after. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_CRASH_PROCESS_STATE_H
#define HOST_PLUGIN_CRASH_PROCESS_STATE_H

#include "plugin/crash/crash.h"

#include <stddef.h>

/* What a call may not change; found after it, said, and put back as it was. */
#define PROCESS_CHANGES(X)                                                                     \
    X(ROUNDING, "changed the rounding of floating point numbers")                              \
    X(TRAPS, "switched floating point traps on")                                               \
    X(SUBNORMAL, "changed what becomes of subnormal numbers")                                  \
    X(LOCALE, "changed the locale")                                                            \
    X(FOLDER, "changed the working directory")                                                 \
    X(SIGNALS, "changed what signals do")                                                      \
    X(MASK, "changed the mask of signals")                                                     \
    X(STREAMS, "closed standard input, output or error")                                       \
    X(CLOCK, "wrote to the clock of the run")                                                  \
    X(FILES, "opens files that it does not close")                                             \
    X(THREADS, "starts threads that do not end")                                               \
    X(HEAP, "takes memory with each call that it does not give back")
enum {
#define PROCESS_X(name, text) PROCESS_##name,
    PROCESS_CHANGES(PROCESS_X)
#undef PROCESS_X
        PROCESS_CHANGES_COUNT
};

/* What the calls of one instance, or of a plugin's functions, have taken so far; zeros at first. */
typedef struct process_account {
    int64_t grown
        [3]; /* calls after which there was more, less those with less: files, threads, heap */
    int64_t taken[3]; /* in all, but of each call its share of too much at the most */
    int64_t most,
        files_grown; /* beside others: files that there were at the most, and how often there were more */
    uint32_t said; /* bits of PROCESS_*: told once */
} process_account;

/* Looks at the process as it is; NULL when out of memory.  [any] */
typedef struct process_state process_state;
process_state *process_look(void);
/* Compares, puts back what can be put back, and frees `before`.  Changes that are new to the account
 * are told to `say`.  A change of what all threads share is told once; its text says so where a call under
 * way on another thread may have made it.  Where others work beside it, on all threads but the process's first, only files
 * are counted, which are told once there were more than ever before behind 256 calls.  By the thread that looked; calls of one thread
 * nest. */
void process_compare(process_state *before, process_account *account,
                     void (*say)(void *ctx, int change, const char *text), void *ctx);

#endif
