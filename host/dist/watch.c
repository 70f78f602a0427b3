/* watch.c - ranks tell each other of signals, a few times a second, while their callers compute. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include <stdlib.h>

/* Callers come to what they want next at different times, such as behind parts of an evaluation.  So the exchanges are
 * those of the world's threads alone, as many on each rank: the last one is that in which any rank says that its caller
 * wants something, or has a signal.  A caller waits for none of them, unless it comes first: then it would wait for the
 * other callers anyway. */

enum { WATCH_MS = 200 };

typedef struct watch_record {
    int32_t signal; /* that has come to the rank, or 0 */
    int32_t wanted; /* its caller waits */
} watch_record;

/* Whether this exchange is the last one. */
static bool read_records(const watch_record *all, int32_t size, atomic_int *heard)
{
    int32_t signal = 0;
    bool over = false;
    for (int32_t r = 0; r < size; r++) {
        signal = signal ? signal : all[r].signal;
        over = over || all[r].signal || all[r].wanted;
    }
    if (signal)
        atomic_store(heard, signal);
    return over;
}

tutti_status world_watch(world *w, atomic_int *heard, tutti_error *err)
{
    watch_record *all = calloc((size_t)w->info.size, sizeof *all);
    tutti_status s = TUTTI_OK;
    bool over = false;
    if (!all) /* the others find this rank gone */
        s = world_note(w, tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks"));
    while (!s && !over) {
        const bool wanted = background_is_wanted(&w->background, WATCH_MS);
        const watch_record mine = {w->options.stopped ? w->options.stopped() : 0, wanted};
        s = world_tell_all(w, &mine, all, sizeof mine, err);
        over = !s && read_records(all, w->info.size, heard);
    }
    if (s)
        atomic_store(heard, -1);
    free(all);
    return s;
}
