/* run_log_each.h - the loggers at work, one after the other, each under the name of the call that it gets.  No signal leaves
 * one of these calls: a row would be there in part. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_RUN_LOG_EACH_H
#define HOST_TRAIN_CONTEXT_RUN_LOG_EACH_H

#include "train/context/run_log.h"

/* Loggers begin to work at INIT; before that only the operator's terminal hears messages. */
static inline const tutti_logger_v1 *run_log_at_work(const run_log *l, size_t k)
{
    if (!l->ready && !(l->has_begun && l->has_begun(l->begun_ctx, k)))
        return NULL;
    return instance_query(l->loggers[k], TUTTI_LOGGER_V1);
}

#define FOR_EACH_LOGGER(l, i, table, call)                                                     \
    for (size_t k_ = 0; k_ < (l)->nloggers; k_++)                                              \
        for (const tutti_logger_v1 *table = run_log_at_work(l, k_); table; table = NULL)       \
            for (instance *i = (l)->loggers[k_]; i; i = NULL)                                  \
                for (instance_call call_ = instance_enter_whole(i, call); call_.instance;      \
                     instance_leave(&call_))

/* A logger that fails is reported and does not stop the training. */
static inline void run_log_failed(run_log *l, instance *i, const tutti_error *e)
{
    if (l->message)
        l->message(l->message_ctx, TUTTI_LOG_WARNING, instance_name(i), e->text);
}

#endif
