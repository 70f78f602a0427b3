/* logger.h - tutti.logger/1: a destination for metrics, settings, traces, messages, tables and images. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_LOGGER_H
#define TUTTI_LOGGER_H

#include "base.h"

#if TUTTI_USE_MINOR >= 1
#include "tensor.h" /* since 1.1: images */
#endif

TUTTI_C_BEGIN

#define TUTTI_LOGGER_V1 "tutti.logger/1"

/* No struct_size, as tutti_named_text: calls take arrays of them, so they never grow. */
typedef struct tutti_named_value {
    const char *name; /* "loss/train/total" */
    double value;
} tutti_named_value;

typedef struct tutti_named_text {
    const char *name; /* "enabled_algorithms/mixup" */
    const char *text; /* a JSON value: 3, "x", true */
} tutti_named_text;

/* One algorithm at one event. */
typedef struct tutti_trace {
    uint32_t struct_size;
    int32_t event;
    const char *name;       /* the algorithm's instance name */
    const char *event_name; /* "before_loss" */
    uint64_t step;
    int64_t exit_code; /* TUTTI_EXIT_NONE for none */
    int32_t order;     /* place in the event; -1 when it did not run */
    int32_t ran;
    uint64_t duration_ns;
} tutti_trace;

#if TUTTI_USE_MINOR >= 1
/* Rows of cells under columns.  since 1.1 */
typedef struct tutti_table {
    uint32_t struct_size;
    uint32_t ncolumns;          /* at least 1 */
    const char *name;           /* "eval_outputs/eval"; never empty */
    const char *const *columns; /* their names */
    const char *const *cells;   /* nrows * ncolumns JSON values, row by row: 3, "x", [1, 2] */
    uint64_t nrows;
} tutti_table;

/* A class for each pixel of images.  No struct_size, as tutti_named_value.  since 1.1 */
typedef struct tutti_image_mask {
    const char *name;   /* "prediction", "ground_truth" */
    const int32_t *map; /* (N, H, W), each at least 0 */
} tutti_image_mask;

/* Images of one size.  since 1.1 */
typedef struct tutti_images {
    uint32_t struct_size;
    uint32_t nmasks;  /* 0: there are none */
    const char *name; /* "Images/Train"; never empty */
    /* (N, H, W, C) in memory of the host, none of them 0, C 1 (grey), 3 (RGB) or 4 (RGB and alpha); U8, or F32 with
     * 0 for none of a colour and 1 for all of it. */
    const tutti_tensor *pixels;
    const tutti_image_mask *masks;
    const char *const *class_labels; /* names of the classes 0 to nlabels - 1 */
    uint32_t nlabels;                /* 0: classes have no names */
    uint32_t reserved;               /* write 0 */
    /* (N) classes that a model gives the images, and those that are right; -1: not known.  NULL: there are none. */
    const int32_t *predicted;
    const int32_t *expected;
} tutti_images;
#endif

enum { TUTTI_LOG_DEBUG = 0, TUTTI_LOG_INFO = 1, TUTTI_LOG_WARNING = 2, TUTTI_LOG_ERROR = 3 };

/* Calls that a logger does not care for are NULL.  Everything is borrowed for the call.  [step] */
typedef struct tutti_logger_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    tutti_status (*metrics)(void *self, const tutti_named_value *values, uint32_t n,
                            uint64_t step, tutti_error *err);
    tutti_status (*hyperparameters)(void *self, const tutti_named_text *values, uint32_t n,
                                    tutti_error *err);
    tutti_status (*trace)(void *self, const tutti_trace *trace, tutti_error *err);
    /* A message of the host or of a plugin, one line without its newline. */
    tutti_status (*message)(void *self, int32_t level, const char *component, const char *text,
                            tutti_error *err);
    /* All that was logged is on the disk when it
     * returns: a checkpoint counts from then on.  Loggers without a file leave it NULL.  [step] */
    tutti_status (*sync)(void *self, tutti_error *err);
    /* The run begins anew, though an earlier attempt at it, which left no checkpoint, may have logged
     * to the same place: that is to be set aside.  Between INIT and FIT_START.  [control] */
    tutti_status (*begin_again)(void *self, tutti_error *err);
#if TUTTI_USE_MINOR >= 1
    /* since 1.1: a table as of batch `step`; one of a name that came before takes its place.  The host has checked it. */
    tutti_status (*table)(void *self, const tutti_table *table, uint64_t step,
                          tutti_error *err);
    /* since 1.1: images as of batch `step`.  The host has checked them. */
    tutti_status (*images)(void *self, const tutti_images *images, uint64_t step,
                           tutti_error *err);
    /* since 1.1: where what was logged is to be found: a path, or an address without passwords and tokens; one line,
     * for people.  NULL, and a NULL call: nowhere.  The text is the logger's, good until its next call.  Cannot fail.
     * From INIT on.  [control] */
    const char *(*location)(void *self);
#endif
} tutti_logger_v1;

TUTTI_C_END
#endif
