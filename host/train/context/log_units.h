/* log_units.h - rows that units of training have logged before their end, which a run that goes on from within one of them
 * logs again: loggers have them already. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_LOG_UNITS_H
#define HOST_TRAIN_CONTEXT_LOG_UNITS_H

#include "base/json.h"
#include "base/text.h"
#include "engine/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_METRIC, LOG_TABLE, LOG_IMAGES, LOG_TRACE };

typedef struct log_row {
    int32_t kind;     /* LOG_* */
    int32_t event;    /* of a trace, else 0 */
    const char *name; /* of what is logged */
    uint64_t step;
} log_row;

typedef struct log_rows {
    log_row *items; /* their names are owned */
    size_t count;
    size_t capacity;
} log_rows;

/* By unit of trace.h. */
typedef struct log_units {
    log_rows logged[TRACE_UNITS]; /* since it began */
    log_rows before[TRACE_UNITS]; /* by the attempt before, and not logged again so far */
    bool open[TRACE_UNITS];
    bool muted; /* what is logged now, a run that is not stopped does not log */
} log_units;

/* It begins, unless it is open. */
void log_units_open(log_units *u, int unit);
/* It has come to its end. */
void log_units_close(log_units *u, int unit);
/* It is done again where the run goes on. */
void log_units_leave(log_units *u, int unit);
/* Takes a row of the units that are open; whether an attempt before this one has logged it.  Without memory it is given out
 * as one that is new. */
bool log_units_take(log_units *u, const log_row *row);

/* Whether one of those rows is still to come. */
bool log_units_repeats(const log_units *u);

/* Adds the member "logged" of the text of a checkpoint; false: there are no rows, and nothing is added. */
bool log_units_write(const log_units *u, text_buffer *b);
/* Takes up its value. */
void log_units_read(log_units *u, const json_node *logged);
void log_units_fini(log_units *u);

#endif
