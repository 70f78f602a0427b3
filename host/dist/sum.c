/* sum.c - pieces begin, and are waited for: the sum over all slots by one tree (an all-reduce), what ranks tell each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include <stdio.h>
#include <string.h>

/* A world of one adds up its blocks. */
static void sum_alone(const world *w, const world_piece *p)
{
    slot_stack stack = {.rounded = p->half ? p->n : 0};
    for (uint32_t k = 0; k < p->count; k++)
        if (p->mine[k].data)
            slot_stack_push(&stack, (slot_sum){p->mine[k].data + p->at, p->mine[k].span}, p->n,
                            w->options.threads);
    const float *sum = slot_stack_finish(&stack, p->n, w->options.threads);
    if (sum && sum != p->result + p->at)
        memcpy(p->result + p->at, sum, (size_t)p->n * sizeof(float));
}

tutti_status world_start(world *w, const world_piece *one, tutti_error *err)
{
    if (w->info.size > 1)
        return background_start(&w->background, &pipeline_work, w, one, err);
    sum_alone(w, one);
    return TUTTI_OK;
}

tutti_status world_start_exchange(world *w, const void *mine, void *all, uint64_t bytes,
                                  tutti_error *err)
{
    const world_piece one = {.told = mine, .all = all, .bytes = bytes};
    return w->info.size > 1 ? background_start(&w->background, &pipeline_work, w, &one, err)
                            : world_tell_all(w, mine, all, bytes, err);
}

tutti_status world_start_watch(world *w, atomic_int *heard, tutti_error *err)
{
    const world_piece one = {.heard = heard};
    return w->info.size > 1 ? background_start(&w->background, &pipeline_work, w, &one, err)
                            : TUTTI_OK;
}

void world_post_phase(world *w, const world_piece *one, tutti_error *err)
{
    if (!background_is_over(&w->background, w->background.started) &&
        !background_start(&w->background, &pipeline_work, w, one, err))
        return;
    background_drain(&w->background);
    world_begin_phase(w, one);
}

void world_tell(world *w, uint64_t step, const char *phase)
{
    tutti_error unheard = TUTTI_ERROR_INIT;
    world_piece one = {.step = step, .begins_step = true};
    w->told_step = step;
    (void)snprintf(one.phase, sizeof one.phase, "%s", phase);
    world_post_phase(w, &one, &unheard);
}

uint64_t world_started(const world *w)
{
    return w->background.started;
}

void world_flush(world *w)
{
    background_flush(&w->background);
}

bool world_is_over(world *w, uint64_t n)
{
    return background_is_over(&w->background, n);
}

void world_wait(world *w, uint64_t n)
{
    background_wait(&w->background, n);
}

tutti_status world_finish(world *w, tutti_error *err)
{
    return background_finish(&w->background, err);
}

int64_t world_waited_ns(const world *w)
{
    return w->background.waited_ns;
}
