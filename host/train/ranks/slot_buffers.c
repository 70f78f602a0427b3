/* slot_buffers.c - buffers that the net's forward pass assigns: as a batch found them, and what a slot gives to their sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/slot_buffers.h"

#include "graph/runtime/device_memory.h"

#include <string.h>

static bool is_buffer(const tutti_weight *w)
{
    return !(w->flags & TUTTI_WEIGHT_TRAINABLE);
}

void buffers_list(slot_gradients *g, const plan *p)
{
    net *n = g->run->net;
    g->numbers = g->ngradients;
    g->nbuffers = 0;
    g->before_bytes = 0;
    for (uint32_t k = 0; k < net_weight_count(n); k++) {
        const tutti_weight *w = net_weight(n, k);
        if (!is_buffer(w))
            continue;
        g->before_bytes += tutti_nbytes(&w->data.desc);
        if (w->data.desc.dtype != TUTTI_F32 || !plan_assigns(p, k))
            continue;
        g->buffers[g->nbuffers++] = k;
        g->numbers += tutti_numel(&w->data.desc);
    }
}

/* Between the net's buffers, which may be on a device, and the host.  A failure is the batch's. */
static void move(slot_gradients *g, void *to, const void *from, uint64_t bytes, int32_t how)
{
    tutti_error error = TUTTI_ERROR_INIT;
    if (device_copy(context_device(g->run), to, from, bytes, how, &error) && !g->error.status)
        g->error = error;
}

void buffers_copy(slot_gradients *g, bool back)
{
    unsigned char *at = g->before;
    for (uint32_t k = 0; k < net_weight_count(g->run->net); k++) {
        const tutti_weight *w = net_weight(g->run->net, k);
        if (!is_buffer(w))
            continue;
        const uint64_t bytes = tutti_nbytes(&w->data.desc);
        move(g, back ? w->data.data : at, back ? at : w->data.data, bytes,
             back ? TUTTI_COPY_TO_DEVICE : TUTTI_COPY_FROM_DEVICE);
        at += bytes;
    }
}

void buffers_pack(slot_gradients *g, int64_t slot, double share, float *to)
{
    if (g->rules.first_buffers && slot > 0) {
        memset(to, 0, (size_t)(g->numbers - g->ngradients) * sizeof *to);
        return;
    }
    if (g->rules.first_buffers)
        share = 1.0;
    for (uint32_t k = 0; k < g->nbuffers; k++) {
        const tutti_tensor *t = &net_weight(g->run->net, g->buffers[k])->data;
        move(g, to, t->data, tutti_nbytes(&t->desc), TUTTI_COPY_FROM_DEVICE);
        for (int64_t i = 0; i < tutti_numel(&t->desc); i++, to++)
            *to = (float)share * *to;
    }
}

void gradients_take_buffers(slot_gradients *g)
{
    const float *from = g->tail;
    buffers_copy(g, true);
    for (uint32_t k = 0; k < g->nbuffers; k++) {
        const tutti_tensor *t = &net_weight(g->run->net, g->buffers[k])->data;
        move(g, t->data, from, tutti_nbytes(&t->desc), TUTTI_COPY_TO_DEVICE);
        from += tutti_numel(&t->desc);
    }
}
