/* mlflow.h - the logger's state, and the records that it hands to its outbox. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLFLOW_MLFLOW_H
#define MLFLOW_MLFLOW_H

#include "store.h"
#include "tracking.h"
#include "tutti/logger.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What was sent last of a metric. */
typedef struct sent_value {
    char *name;
    double value;
    uint64_t step;
} sent_value;

/* JSON that is being written. */
typedef struct text {
    char *data;
    size_t size;
    FILE *out;
} text;

/* Texts of a setting, which live until close. */
typedef struct words {
    const char **items;
    uint64_t count;
} words;

struct tutti_table;
struct tutti_images;

typedef struct mlflow {
    outbox *outbox;
    tracking tracking; /* the outbox's thread has these: a server, */
    store store;       /* or a folder */
    words tags, ignored_metrics, ignored_given;
    char *location;                                /* of what is logged, for people */
    const char *experiment, *run_name, *run_group; /* the group may be NULL */
    char host_run_name[256];
    bool resume, again;                /* a setting; a run of the same folder goes on */
    bool has_begun, trains, has_ended; /* its begin is in the outbox; FIT_START; FIT_END */
    int64_t flush_interval;
    uint64_t every; /* batches between equal values */
    text metrics;   /* records, or what becomes one: since the last flush */
    uint32_t nmetrics;
    text given; /* hyperparameters before the run has begun: whole records, a line
                 each */
    sent_value *sent;
    uint32_t nsent, capacity;
} mlflow;

static inline tutti_status fail_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "mlflow: no memory");
}

/* Milliseconds since 1970. */
static inline int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline void text_free(text *t)
{
    if (t->out)
        (void)fclose(t->out);
    free(t->data);
    *t = (text){0};
}

static inline bool text_begin(text *t)
{
    if (!t->out)
        t->out = open_memstream(&t->data, &t->size);
    return t->out != NULL;
}

/* Hands it over as a record, and starts over. */
static inline tutti_status text_put(text *t, outbox *o, tutti_error *err)
{
    const bool whole = fclose(t->out) == 0;
    t->out = NULL;
    if (whole)
        outbox_put(o, t->data, t->size);
    text_free(t);
    return whole ? TUTTI_OK : fail_memory(err);
}

/* The run begins with its first event behind INIT, or with its end.  [step] */
TUTTI_NODISCARD tutti_status mlflow_begin(mlflow *m, bool resume, tutti_error *err);

/* As tutti.logger/1 has them: files among the run's artifacts. */
TUTTI_NODISCARD tutti_status mlflow_table(void *self, const struct tutti_table *table,
                                          uint64_t step, tutti_error *err);
TUTTI_NODISCARD tutti_status mlflow_images(void *self, const struct tutti_images *images,
                                           uint64_t step, tutti_error *err);

#endif
