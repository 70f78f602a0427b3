/* view_check.h - tutti.device_view/1 in the host's memory, over a test's own state and weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIEW_CHECK_H
#define VIEW_CHECK_H

#include "tutti/device_view.h"
#include "tutti/state.h"
#include "tutti_check.h"

#include <stdlib.h>

/* Not copyable: the table points to it. */
typedef struct view_check {
    tutti_device_view_v1 table;
    const tutti_state_v1 *state;
    const tutti_weights_v1 *weights;
} view_check;

static inline tutti_status view_check_get(void *ctx, const char *name, tutti_tensor *ret,
                                          tutti_error *err)
{
    const view_check *v = (const view_check *)ctx;
    return v->state->get(v->state->ctx, name, ret, err);
}

static inline tutti_status view_check_describe(void *ctx, const char *name, tutti_desc *ret,
                                               tutti_error *err)
{
    tutti_tensor t;
    const tutti_status s = view_check_get(ctx, name, &t, err);
    if (!s)
        *ret = t.desc;
    return s;
}

static inline tutti_status view_check_weight(void *ctx, uint32_t k, tutti_weight *ret,
                                             tutti_error *err)
{
    const view_check *v = (const view_check *)ctx;
    return v->weights->at(v->weights->ctx, k, ret, err);
}

/* Every weight is a span. */
static inline uint32_t view_check_spans(void *ctx)
{
    const view_check *v = (const view_check *)ctx;
    return v->weights->count(v->weights->ctx);
}

static inline tutti_status view_check_span(void *ctx, uint32_t k, tutti_span *ret,
                                           tutti_error *err)
{
    tutti_weight w;
    const tutti_status s = view_check_weight(ctx, k, &w, err);
    if (!s)
        *ret = (tutti_span){
            (uint32_t)sizeof *ret, k, 1, 0, tutti_numel(&w.data.desc), (float *)w.data.data,
            (float *)w.grad};
    return s;
}

#if TUTTI_USE_MINOR >= 1
static inline tutti_status view_check_slot(void *ctx, uint32_t k, uint32_t slot,
                                           tutti_slot *ret, tutti_error *err)
{
    const view_check *v = (const view_check *)ctx;
    return v->weights->slot(v->weights->ctx, k, slot, ret, err);
}
#endif

static inline tutti_status view_check_take(void *ctx, uint64_t bytes, void **ret,
                                           tutti_error *err)
{
    *ret = calloc(1, bytes + 1);
    ck_assert_ptr_nonnull(*ret);
    return TUTTI_OK;
}

static inline void view_check_give(void *ctx, void *memory)
{
    free(memory);
}

static inline tutti_status view_check_copy(void *ctx, void *to, const void *from,
                                           uint64_t bytes, int32_t how, tutti_error *err)
{
    if (bytes)
        memcpy(to, from, bytes);
    return TUTTI_OK;
}

static inline tutti_status view_check_peek(void *ctx, const void *memory, uint64_t bytes,
                                           void *to, int32_t *ret_known, tutti_error *err)
{
    ck_assert_uint_le(bytes, TUTTI_PEEK_BYTES);
    memcpy(to, memory, bytes);
    *ret_known = 1;
    return TUTTI_OK;
}

/* Without renew, which is the test's own. */
static inline void view_check_init(view_check *v, const tutti_state_v1 *state,
                                   const tutti_weights_v1 *weights)
{
    memset(v, 0, sizeof *v);
    v->state = state;
    v->weights = weights;
    v->table.struct_size = (uint32_t)sizeof v->table;
    v->table.device = TUTTI_DEVICE_CPU;
    v->table.ctx = v;
    v->table.describe = view_check_describe;
    v->table.get = view_check_get;
    v->table.weight = view_check_weight;
    v->table.spans = view_check_spans;
    v->table.span = view_check_span;
    v->table.take = view_check_take;
    v->table.give = view_check_give;
    v->table.copy = view_check_copy;
    v->table.peek = view_check_peek;
#if TUTTI_USE_MINOR >= 1
    v->table.slot = view_check_slot;
#endif
}

#endif
