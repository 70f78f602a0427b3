/* run_log_waiting.h - messages of other threads than the one that trains. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_RUN_LOG_WAITING_H
#define HOST_TRAIN_CONTEXT_RUN_LOG_WAITING_H

#include "train/context/run_log.h"

/* Keeps the message until the owner gives it out; false: the calling thread is the owner, or there is none.  Without memory
 * it is lost to loggers.  [any] */
bool run_log_waits(run_log *l, int level, const char *component, const char *text);
/* What waits goes to `give`, in order; NULL: it is forgotten.  Nothing on another thread than the owner.  [step] */
void run_log_give_out(run_log *l, void (*give)(run_log *l, int level, const char *component,
                                               const char *text));

#endif
