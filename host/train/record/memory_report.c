/* memory_report.c - what the memory of a run goes to: weights, gradients, optimizer state, results and their modules. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/record/memory_report.h"

#include "base/text.h"
#include "dist/shards.h"
#include "graph/plan/plan_workspace.h"
#include "train/step/trainer_state.h"
#include "train/update/optimizer_shards.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_MODULES = 40 };

typedef struct module_bytes {
    const char *name; /* borrowed from the plan; "" for what belongs to none */
    uint64_t bytes;
} module_bytes;

/* The step at which most of the arena is in use, the first of them.  False: no memory. */
static bool fullest_step(const program *q, uint32_t *ret_step)
{
    const uint32_t steps = program_nsteps(q) + 1;
    int64_t now = 0, most = -1;
    uint32_t found = 0;
    int64_t *change = calloc((size_t)steps + 1, sizeof *change);
    if (!change)
        return false;
    for (uint32_t k = 0; k < program_nplaces(q); k++) {
        const program_place at = program_place_at(q, k);
        change[at.first < steps ? at.first : steps] += (int64_t)at.bytes;
        change[at.last < steps ? at.last + 1 : steps] -= (int64_t)at.bytes;
    }
    for (uint32_t k = 0; k < steps; k++) {
        now += change[k];
        found = now > most ? k : found;
        most = now > most ? now : most;
    }
    free(change);
    *ret_step = found;
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    const module_bytes *x = a, *y = b;
    const int order = (x->bytes < y->bytes) - (x->bytes > y->bytes);
    return order ? order : strcmp(x->name, y->name);
}

/* Sums of the places in use at `step` by module, the largest first; the caller frees *ret, NULL: no
 * memory. */
static size_t sum_modules(const program *q, uint32_t step, module_bytes **ret)
{
    size_t n = 0;
    module_bytes *list = calloc((size_t)program_nplaces(q) + 1, sizeof *list);
    *ret = list;
    for (uint32_t k = 0; list && k < program_nplaces(q); k++) {
        const program_place at = program_place_at(q, k);
        const char *name = at.scope ? at.scope : "";
        size_t i = 0;
        if (at.first > step || at.last < step)
            continue;
        while (i < n && strcmp(list[i].name, name) != 0)
            i++;
        list[i].name = name;
        list[i].bytes += at.bytes;
        n += i == n;
    }
    if (n > 1)
        qsort(list, n, sizeof *list, by_bytes);
    return n;
}

static void add_modules(text_buffer *b, const program *q)
{
    module_bytes *list = NULL;
    uint32_t step;
    const size_t n = fullest_step(q, &step) ? sum_modules(q, step, &list) : 0;
    b->failed = b->failed || !list;
    text_add(b, ", \"modules\": [");
    for (size_t k = 0; k < n && k < MOST_MODULES; k++) {
        text_add(b, "%s{\"name\": ", k ? ", " : "");
        text_add_quoted(b, list[k].name);
        text_add(b, ", \"bytes\": %llu}", (unsigned long long)list[k].bytes);
    }
    text_add(b, "]");
    free(list);
}

/* Bytes of the gradients of `count` numbers that a rank keeps. */
static uint64_t count_gradients(const trainer *t, int64_t count)
{
    const distributed *d = &t->distributed;
    const bool sharded = distributed_shards_gradients(d) && !d->reads;
    return (uint64_t)(sharded ? world_own(d->world, count) : count) * sizeof(float);
}

/* Slots of a batch whose results and gradients are in memory at once, on the rank that has most. */
static uint64_t slots_at_once(const trainer *t, const plan *p)
{
    const slot_sums *s = &t->distributed.sums;
    const int64_t all = t->run.file->train.batch_size, each = t->tensors.microbatch_size;
    if (!s->on || each < 1 || plan_sums(p, NULL, 0) == 0)
        return 1;
    return (uint64_t)sums_most_slots(s, (all + each - 1) / each);
}

char *memory_text(const trainer *t, const plan *p)
{
    text_buffer b = {.data = NULL};
    float *weights, *grads;
    int64_t count;
    uint64_t buffers = 0;
    const updater *u = &t->updater;
    net_arena(t->run.net, &weights, &grads, &count);
    for (uint32_t k = 0; k < net_weight_count(t->run.net); k++)
        if (net_offset(t->run.net, k) < 0)
            buffers += tutti_nbytes(&net_weight(t->run.net, k)->data.desc);
    const uint64_t arena = (uint64_t)count * sizeof(float), slots = slots_at_once(t, p);
    const uint64_t gradients = slots * count_gradients(t, count);
    const uint64_t results = slots * plan_bytes(p);
    const uint64_t state = u->world ? optimizer_shards_bytes(u) : (uint64_t)u->nslots * arena;
    text_add(&b,
             "{\"weights\": %llu, \"gradients\": %llu, \"buffers\": %llu, \"halves\": %llu, "
             "\"optimizer\": %llu, \"results\": %llu, \"peak\": %llu",
             (unsigned long long)arena, (unsigned long long)gradients,
             (unsigned long long)buffers, (unsigned long long)net_count_half(t->run.net).bytes,
             (unsigned long long)state, (unsigned long long)results,
             (unsigned long long)program_peak(plan_program(p)));
    add_modules(&b, plan_program(p));
    text_add(&b, "}");
    if (b.failed)
        free(b.data);
    return b.failed ? NULL : b.data;
}
