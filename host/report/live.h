/* live.h - runs that go on: what is new of them since the last look. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_LIVE_H
#define HOST_REPORT_LIVE_H

#include "base/text.h"
#include "report/run_folder.h"

/* How much of a run has been told. */
typedef struct live_mark {
    size_t *values; /* of each series */
    size_t nseries, nmessages, nmedia;
    char status[16];
} live_mark;

/* Opaque but for who owns it: live_init to live_fini. */
typedef struct live_runs {
    run_list *runs; /* borrowed, with their logs read */
    live_mark *marks;
} live_runs;

enum {
    LIVE_NOTHING,
    LIVE_MORE,
    LIVE_AGAIN
}; /* LIVE_AGAIN: what was told has not happened; a new page is wanted */

/* All that the runs have by now counts as told.  Errors: E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status live_init(live_runs *l, run_list *runs, tutti_error *err);
void live_fini(live_runs *l);

/* Looks at the records and logs again.  With LIVE_MORE in *ret_what `b` gets a JSON object on one line, which report.js
 * takes in: of each run its state, and the curves' new points, new messages, tables and images.  Errors: those of
 * run_folder_look_again.  [any] */
TUTTI_NODISCARD tutti_status live_look(live_runs *l, text_buffer *b, int *ret_what,
                                       tutti_error *err);
/* Whether any of them goes on. */
bool live_goes_on(const live_runs *l);

#endif
