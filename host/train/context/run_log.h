/* run_log.h - what a run logs: the last value of each metric, and every logger that hears of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_RUN_LOG_H
#define HOST_TRAIN_CONTEXT_RUN_LOG_H

#include "plugin/instance.h"
#include "train/context/log_units.h"
#include "tutti/files.h"
#include "tutti/history.h"
#include "tutti/log.h"
#include "tutti/logger.h"
#include "tutti/metrics.h"
#include "tutti/time.h"

#include <pthread.h>
#include <stdbool.h>

/* The component of messages of functions, which have no instance. */
#define RUN_LOG_FUNCTIONS "plugin"

typedef struct logged_value {
    char *name;
    double value;
    double least, most; /* of all that were logged; NaN: none was a number */
    bool restored;      /* of a checkpoint, and not logged since */
} logged_value;

/* tutti.log/1 of one plugin. */
typedef struct log_service log_service;
typedef struct waiting_message waiting_message; /* run_log_messages.c */

typedef struct run_log {
    logged_value *values; /* the last of each name */
    uint32_t nvalues;
    uint32_t capacity;
    bool lacks_memory;  /* a value could not be kept, which ends the run at its next event */
    instance **loggers; /* borrowed */
    size_t nloggers;
    const tutti_timestamp *now; /* borrowed: metrics are logged as of its batch */
    /* Loggers work once they have heard INIT: asked of loggers[k] while `ready` is false. */
    bool (*has_begun)(void *ctx, size_t k);
    void *begun_ctx;
    bool ready; /* INIT is over: all of them have */
    log_service *services;
    pthread_t owner; /* the thread whose calls loggers get, once run_log_own has been called */
    bool is_owned;
    waiting_message *waiting; /* of other threads */
    log_units units;          /* rows that loggers have of an attempt before this one */
    tutti_files_v1 files;
    bool told_tables, told_images; /* which loggers take none, log_media.h */
    bool tells_all;                /* to the terminal, not only warnings and errors */
    /* The operator's terminal: warnings and errors, whatever loggers there are; may be NULL. */
    void (*message)(void *ctx, int level, const char *component, const char *text);
    void *message_ctx;
} run_log;

void run_log_fini(run_log *l);

/* From here on loggers hear the calling thread alone: messages of others wait for its next call.  [control] */
void run_log_own(run_log *l);

/* Keeps the values and sends them to every logger; the second as of batch `step`.  A logger that fails is
 * reported to the terminal and does not stop the training.  [step] */
void run_log_metrics(run_log *l, const tutti_named_value *values, uint32_t n);
void run_log_metrics_at(run_log *l, const tutti_named_value *values, uint32_t n, uint64_t step);
/* Keeps what was logged of that name before the checkpoint from which the run goes on; loggers have had it.  [step] */
void run_log_restore(run_log *l, const char *name, const logged_value *value);
/* Whether it is a checkpoint's, and not logged since: what a run that was stopped in between logs again. */
bool run_log_has(const run_log *l, const char *name, double value);
/* Nothing of what follows was logged before. */
void run_log_forget_restored(run_log *l);
/* The last value of that name; NULL when there is none. */
const double *run_log_value(const run_log *l, const char *name);

/* Of the first logger that keeps all that it hears; NULL: there is none. */
const tutti_history_v1 *run_log_history(const run_log *l);

/* Gives a file to every logger that takes files, and asks them for files; run_log_files.c. */
const tutti_files_v1 *run_log_files(run_log *l);

/* `level` is TUTTI_LOG_*.  The terminal has it at once.  [any] */
void run_log_message(run_log *l, int level, const char *component, const char *text);
void run_log_hyperparameter(run_log *l, const char *name, const char *json);
/* Loggers get what other threads have said so far; nothing on another thread than the owner.  [step] */
void run_log_hand_over(run_log *l);
/* Before a checkpoint: all that was logged is on the disk. */
void run_log_sync(run_log *l);
/* What an attempt without a checkpoint has logged is set aside. */
void run_log_begin_again(run_log *l);
void run_log_trace(run_log *l, const tutti_trace *trace);
/* Tells the place of each logger that names one, in the order of the run file; both texts are borrowed for the
 * call.  [control] */
void run_log_locations(const run_log *l,
                       void (*tell)(void *ctx, const char *logger, const char *location),
                       void *ctx);

/* The tutti.log/1 of `i`, or of an unnamed plugin for NULL; lives as long as the log.  NULL: out of
 * memory.  [control] */
const tutti_log_v1 *run_log_service(run_log *l, instance *i);

#endif
