/* loop_place.h - where a run stands in its epochs, which iteration / epoch_length tells only while no epoch was cut. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_LOOP_LOOP_PLACE_H
#define HOST_LOOP_LOOP_PLACE_H

#include "tutti_host/loop.h"

#include <stdbool.h>

/* An iteration that is under way is not counted: a run that goes on makes it again. */
typedef struct loop_place {
    int64_t iteration; /* over all epochs */
    int64_t epochs;    /* that have ended */
    int64_t
        iterations; /* of the epoch under way, or of that which the run goes on in; 0 between epochs */
} loop_place;

/* [step] */
loop_place loop_get_place(const tutti_loop *l);

/* Of a loop that does not run: it goes on in the epoch behind `epochs`, of which `iterations` have been made.  [control] */
void loop_set_place(tutti_loop *l, int64_t epochs, int64_t iterations);

/* tutti_loop_load_state_dict, whose epoch is not computed, and loop_set_place.  [control] */
TUTTI_NODISCARD tutti_status loop_load_at(tutti_loop *l, const char *text, int64_t epochs,
                                          int64_t iterations, tutti_error *err);

/* Of a loaded state, in `started`: the epoch that it goes on in is under way; loop_set_place ends that.  [step] */
void loop_open_epoch(tutti_loop *l);
/* Behind it: that epoch ends, as it does behind its last iteration; with `cut` as it does
 * behind terminate_epoch, `skip` of which leaves out epoch_completed.  [step] */
TUTTI_NODISCARD tutti_status loop_end_epoch(tutti_loop *l, bool cut, bool skip,
                                            tutti_error *err);

#endif
