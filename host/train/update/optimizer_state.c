/* optimizer_state.c - where the state of each range of weights lies in the slots, and how it moves with its weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/update/optimizer_state.h"

#include "graph/runtime/device_memory.h"

#include <string.h>

/* Numbers from one range's state to the next: they are aligned as the weights are. */
enum { STATE_ALIGN = 32 };

/* The shape of a slot of the whole weight of `r`. */
static tutti_status ask_shape(const updater *u, const param_range *r, uint32_t slot,
                              tutti_desc *ret_shape, tutti_error *err)
{
    const optimizer_group *g = &u->groups[r->group];
    const tutti_weight *w = net_weight(u->run->net, (uint32_t)r->weight);
    tutti_error cause = TUTTI_ERROR_INIT;
    *ret_shape = w->data.desc;
    if (!TUTTI_HAS(g->table, tutti_optimizer_v1, slot_shape) || !g->table->slot_shape)
        return TUTTI_OK;
    instance_call c = instance_enter(g->optimizer, "slot_shape");
    const tutti_status s = g->table->slot_shape(instance_self(g->optimizer), &w->data.desc,
                                                slot, ret_shape, &cause);
    instance_leave(&c);
    if (s)
        return tutti_fail(err, s, "optimizer %s: weight %s: %s",
                          object_describe(instance_object(g->optimizer))->name, w->path,
                          cause.status ? cause.text : "it has no shape for its slot");
    if (!tutti_desc_check(ret_shape, 0, &cause) && ret_shape->dtype != TUTTI_F32)
        (void)tutti_fail(&cause, TUTTI_E_ARG, "dtype %s, want f32",
                         tutti_dtype_name(ret_shape->dtype));
    return cause.status
               ? tutti_fail(err, cause.status, "optimizer %s: its slot %s of weight %s has %s",
                            object_describe(instance_object(g->optimizer))->name,
                            g->table->slot_names[slot], w->path, cause.text)
               : TUTTI_OK;
}

tutti_status state_lay_out(const updater *u, update_layout *l, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t j = 0; j < u->nslots; j++) {
        l->counts[j] = 0;
        for (size_t k = 0; k < l->nranges && !s; k++) {
            param_range *r = &l->ranges[k];
            state_place *p = &r->state[j];
            *p = (state_place){l->counts[j], {{0}, 1, TUTTI_F32}};
            if (j >= u->groups[r->group].table->nslots)
                continue;
            p->shape.dim[0] = r->count;
            if (r->weight >= 0)
                s = ask_shape(u, r, j, &p->shape, err);
            l->counts[j] +=
                (tutti_numel(&p->shape) + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
        }
    }
    return s;
}

/* Numbers of state of the `count` weights from `first` of the arena on, which lie in `r`. */
static int64_t find_numbers(const param_range *r, uint32_t slot, int64_t first, int64_t count,
                            int64_t *ret_at)
{
    const state_place *p = &r->state[slot];
    const int64_t all = tutti_numel(&p->shape);
    *ret_at = p->at + (r->weight < 0 ? first - r->first : 0);
    return r->weight < 0 && all ? count : all;
}

/* NULL: the weights were not trained. */
static const param_range *range_at(const updater *u, int64_t first, int64_t count)
{
    for (size_t k = 0; k < u->layout.nranges && first >= 0; k++) {
        const param_range *r = &u->layout.ranges[k];
        if (first >= r->first && first + count <= r->first + r->count)
            return r;
    }
    return NULL;
}

/* What a slot has of the weights that are still there, to its place in `next`. */
static tutti_status carry(const updater *u, const update_layout *l, uint32_t slot, float *next,
                          tutti_error *err)
{
    const net *n = u->run->net;
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < net_weight_count(n) && !s; k++) {
        const int64_t count = tutti_numel(&net_weight(n, k)->data.desc);
        const int64_t before = net_previous_offset(n, k);
        const param_range *old = l->range_of[k] < 0 ? NULL : range_at(u, before, count);
        int64_t from, to;
        if (!old)
            continue;
        const int64_t size =
            find_numbers(&l->ranges[l->range_of[k]], slot, net_offset(n, k), count, &to);
        if (size && size == find_numbers(old, slot, before, count, &from))
            s = device_copy(u->device, next + to, u->slots[slot] + from,
                            (uint64_t)size * sizeof(float), TUTTI_COPY_ON_DEVICE, err);
    }
    return s;
}

tutti_status state_move(updater *u, const update_layout *l, bool first, tutti_error *err)
{
    float *next[TUTTI_OPTIMIZER_MAX_SLOTS] = {NULL};
    tutti_status s = TUTTI_OK;
    for (uint32_t j = 0; j < u->nslots && !s; j++) {
        const uint64_t bytes = (uint64_t)l->counts[j] * sizeof(float);
        if (bytes && !(next[j] = device_alloc(u->device, bytes)))
            s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of optimizer state",
                           (unsigned long long)bytes);
        if (next[j] && !first)
            s = carry(u, l, j, next[j], err);
    }
    for (uint32_t j = 0; j < u->nslots; j++) {
        device_free(u->device, s ? next[j] : u->slots[j]);
        u->slots[j] = s ? u->slots[j] : next[j];
    }
    return s;
}

tutti_tensor state_find(const updater *u, uint32_t weight, uint32_t slot)
{
    tutti_tensor t = net_weight(u->run->net, weight)->data;
    const param_range *r = &u->layout.ranges[u->layout.range_of[weight]];
    int64_t at;
    const int64_t count =
        find_numbers(r, slot, net_offset(u->run->net, weight), tutti_numel(&t.desc), &at);
    if (r->weight >= 0)
        t.desc = r->state[slot].shape;
    t.data = count ? u->slots[slot] + at : NULL;
    return t;
}

uint64_t state_bytes_of(const updater *u, uint32_t weight)
{
    const uint64_t own = tutti_nbytes(&net_weight(u->run->net, weight)->data.desc);
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < u->nslots && !u->world; j++) {
        const tutti_tensor t = state_find(u, weight, j);
        bytes += t.data ? tutti_nbytes(&t.desc) : 0;
    }
    return u->world ? u->nslots * own : bytes;
}

uint64_t state_bytes(const updater *u)
{
    uint64_t numbers = 0;
    for (uint32_t j = 0; j < u->nslots; j++)
        numbers += (uint64_t)(u->world ? u->count : u->layout.counts[j]);
    return numbers * sizeof(float);
}
