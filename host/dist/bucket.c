/* bucket.c - one bucket on its way: its memory, its parts by rank, and the operation that is under way. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dist/world_internal.h"

#include <stdlib.h>

tutti_status bucket_reserve(bucket *b, world *w, tutti_error *err)
{
    const size_t size = (size_t)w->info.size;
    b->w = w;
    if (b->offsets[0])
        return TUTTI_OK;
    uint64_t *all = calloc(4 * size, sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the world of ranks");
    for (size_t k = 0; k < 2; k++) {
        b->offsets[k] = all + 2 * k * size;
        b->bytes[k] = all + (2 * k + 1) * size;
    }
    return TUTTI_OK;
}

void bucket_fini(bucket *b)
{
    free(b->offsets[0]);
    free(b->memory.data);
    free(b->gathered.data);
}

uint64_t bucket_part(bucket *b, int side, int32_t r, uint64_t at, uint64_t numbers)
{
    b->offsets[side][r] = at * b->unit;
    b->bytes[side][r] = numbers * b->unit;
    return at + numbers;
}

/* ---- operations ---- */

static tutti_parts parts_of(const bucket *b, int side, void *data)
{
    return (tutti_parts){.struct_size = sizeof(tutti_parts),
                         .data = data,
                         .offsets = b->offsets[side],
                         .bytes = b->bytes[side]};
}

tutti_status bucket_all_to_all(bucket *b, void *send, void *receive, tutti_error *err)
{
    world *w = b->w;
    b->out = parts_of(b, 0, send);
    b->in = parts_of(b, 1, receive);
    world_count_sent(w, &b->out);
    instance_call c = instance_enter(w->options.comm, "all_to_all");
    const tutti_status s = w->table->all_to_all(w->self, &b->out, &b->in, &b->request, err);
    instance_leave(&c);
    b->waits = s ? NULL : "all_to_all";
    return world_note(w, s);
}

tutti_status bucket_all_gather(bucket *b, void *data, tutti_error *err)
{
    world *w = b->w;
    b->out = parts_of(b, 0, data);
    world_count_told(w, b->bytes[0][w->info.rank]);
    instance_call c = instance_enter(w->options.comm, "all_gather");
    const tutti_status s = w->table->all_gather(w->self, &b->out, &b->request, err);
    instance_leave(&c);
    b->waits = s ? NULL : "all_gather";
    return world_note(w, s);
}

tutti_status bucket_wait(bucket *b, tutti_error *err)
{
    world *w = b->w;
    if (!b->waits)
        return TUTTI_OK;
    instance_call c = instance_enter(w->options.comm, b->waits);
    const tutti_status s = w->table->wait(w->self, b->request, err);
    instance_leave(&c);
    b->waits = NULL;
    return world_note(w, s);
}

bool bucket_can_be_asked(const bucket *b)
{
    const tutti_collectives_v1 *t = b->w->table;
    return TUTTI_HAS(t, tutti_collectives_v1, test) && t->test;
}

tutti_status bucket_ask(bucket *b, tutti_error *err)
{
    world *w = b->w;
    int32_t done = 0;
    instance_call c = instance_enter(w->options.comm, b->waits);
    const tutti_status s = w->table->test(w->self, b->request, &done, err);
    instance_leave(&c);
    return s ? world_note(w, s) : done ? bucket_wait(b, err) : TUTTI_OK;
}
