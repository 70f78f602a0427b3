/* graph_capture.h - work gathered into graphs of the device, done again while nothing moves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_GRAPH_CAPTURE_H
#define HOST_GRAPH_RUNTIME_GRAPH_CAPTURE_H

#include "tutti_host/device.h"

#include <stdbool.h>

enum { CAPTURES_KEPT = 4 };

/* Work on `places`, as the device does it again. */
typedef struct captured_graph {
    const void **places; /* NULL: free */
    void *graph;         /* NULL: not yet, or never */
    uint64_t used;       /* when: the clock of its list */
    uint32_t nplaces;
    uint32_t runs;
    bool failed; /* it cannot be gathered */
} captured_graph;

/* What became of attempts to gather work, for people. */
typedef struct capture_log {
    uint32_t graphs;   /* gathered so far */
    uint32_t failed;   /* could not be gathered, and are launched one by one */
    uint32_t unwanted; /* the device is told to gather nothing */
    uint32_t reserved;
    uint64_t nodes;  /* of the newest graph; 0: not known */
    tutti_error why; /* of the newest that was not gathered */
} capture_log;

/* The same work on other places; zero to begin with, but for its log. */
typedef struct graph_captures {
    captured_graph kept[CAPTURES_KEPT];
    uint64_t clock;
    capture_log *log; /* borrowed; NULL: nobody asks */
} graph_captures;

/* Whether graphs can be had of `d`; NULL is the host. */
bool capture_is_supported(const tutti_device *d);
/* Whether such a graph may hold blocks that the device leaves out. */
bool capture_has_conditionals(const tutti_device *d);

/* What is asked of the device by this must depend on the places alone. */
typedef tutti_status (*capture_work)(void *ctx, tutti_error *err);

/* Has `work` done on `d`, of which capture_is_supported is true: by calling it twice, since libraries prepare
 * themselves in their first runs; then once more while the device gathers; from then on without
 * it.  What cannot be gathered is called each time.  [step] */
TUTTI_NODISCARD tutti_status capture_run(graph_captures *r, const tutti_device *d,
                                         const void *const *places, uint32_t nplaces,
                                         const tutti_step *now, capture_work work, void *ctx,
                                         tutti_error *err);
void captures_drop(graph_captures *r, const tutti_device *d);

#endif
