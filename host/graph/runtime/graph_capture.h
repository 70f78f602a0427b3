/* graph_capture.h - work gathered into graphs of the device, done again while nothing moves. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_GRAPH_RUNTIME_GRAPH_CAPTURE_H
#define HOST_GRAPH_RUNTIME_GRAPH_CAPTURE_H

#include "tutti_host/device.h"

#include <stdbool.h>

enum { REPLAYS_KEPT = 4 };

/* Work on `places`, as the device does it again. */
typedef struct replayed {
    const void **places; /* NULL: free */
    void *graph;         /* NULL: not yet, or never */
    uint64_t used;       /* when: the clock of its list */
    uint32_t nplaces;
    uint32_t runs;
    bool failed; /* it cannot be gathered */
} replayed;

/* The same work on other places; zero to begin with. */
typedef struct replays {
    replayed kept[REPLAYS_KEPT];
    uint64_t clock;
} replays;

/* Whether graphs can be had of `d`; NULL is the host. */
bool replays_can(const tutti_device *d);
/* Whether such a graph may hold blocks that the device leaves out. */
bool replays_have_blocks(const tutti_device *d);

/* What is asked of the device by this must depend on the places alone. */
typedef tutti_status (*replay_work)(void *ctx, tutti_error *err);

/* Has `work` done on `d`, of which replays_can is true: by calling it twice, since libraries prepare
 * themselves in their first runs; then once more while the device gathers; from then on without
 * it.  What cannot be gathered is called each time.  [step] */
TUTTI_NODISCARD tutti_status replays_run(replays *r, const tutti_device *d,
                                         const void *const *places, uint32_t nplaces,
                                         const tutti_step *now, replay_work work, void *ctx,
                                         tutti_error *err);
void replays_drop(replays *r, const tutti_device *d);

#endif
