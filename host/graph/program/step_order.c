/* step_order.c - the order of the steps: takes the schedule and what is rematerialized into the program. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/schedule.h"

#include <stdlib.h>
#include <string.h>

static tutti_status take_memory(schedule *s, tutti_error *err)
{
    const program *p = s->p;
    const size_t n = (size_t)p->nsteps + 3;
    s->keys = calloc((size_t)p->nslots + 1, sizeof *s->keys);
    s->alias_set_of = calloc(p->nvalues, sizeof *s->alias_set_of);
    s->alias_sets = calloc(p->nvalues, sizeof *s->alias_sets);
    s->steps = calloc(n, sizeof *s->steps);
    s->first = calloc(n, sizeof *s->first);
    s->live = calloc(n, sizeof *s->live);
    s->scratch = calloc(n, sizeof *s->scratch);
    return s->keys && s->alias_set_of && s->alias_sets && s->steps && s->first && s->live &&
                   s->scratch
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
}

tutti_status builder_order_steps(builder *b, tutti_error *err)
{
    program *p = b->p;
    schedule s = {.b = b, .p = p};
    rematerialization *a = NULL;
    tutti_status status = take_memory(&s, err);
    if (!status) {
        memcpy(s.alias_set_of, p->alias_set_of, sizeof *s.alias_set_of * p->nvalues);
        memcpy(s.alias_sets, p->alias_sets, sizeof *s.alias_sets * p->nvalues);
        status = rematerialize_begin(&s, &a, err);
    }
    if (!status) {
        schedule_find_keys(&s);
        schedule_search(&s);
        rematerialize_choose(a);
    }
    rematerialize_end(a);
    free(s.keys);
    free(s.alias_set_of);
    free(s.alias_sets);
    free(s.steps);
    free(s.first);
    free(s.live);
    free(s.scratch);
    return status;
}
