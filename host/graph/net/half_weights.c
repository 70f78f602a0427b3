/* half_weights.c - trained and frozen weights in 16 bits, beside those in f32. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/net_internal.h"

#include <stdlib.h>

int32_t half_weights_dtype(const net *n)
{
    const bool wanted =
        n->options.half != NET_HALF_BEST || device_can(n->options.device, TUTTI_DEVICE_HALVES);
    return !wanted                                ? TUTTI_DTYPE_NONE
           : n->options.precision == NET_AMP_BF16 ? TUTTI_BF16
           : n->options.precision == NET_AMP_FP16 ? TUTTI_F16
                                                  : TUTTI_DTYPE_NONE;
}

bool half_weights_exist(const net *n)
{
    return half_weights_dtype(n) && n->options.half != NET_HALF_NODES;
}

static bool area_init(const net *n, half_area *a, int64_t count)
{
    *a = (half_area){.count = count, .old = true};
    if (count)
        a->copies = device_alloc(n->options.device, (uint64_t)count * sizeof *a->copies);
    return !count || a->copies;
}

tutti_status half_weights_create(const net *n, int64_t ntrained, int64_t nfrozen,
                                 half_weights **ret_half, tutti_error *err)
{
    if (!half_weights_exist(n))
        return TUTTI_OK;
    half_weights *l = calloc(1, sizeof *l);
    if (!l || !area_init(n, &l->areas[HALF_TRAINED], ntrained) ||
        !area_init(n, &l->areas[HALF_FROZEN], nfrozen)) {
        half_weights_destroy(n, l);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the model's weights in 16 bits");
    }
    l->dtype = half_weights_dtype(n);
    *ret_half = l;
    return TUTTI_OK;
}

void half_weights_destroy(const net *n, half_weights *l)
{
    for (int k = 0; k < HALF_AREAS && l; k++) {
        compiled_graph_fini(&l->areas[k].cast);
        device_free(n->options.device, l->areas[k].copies);
    }
    free(l);
}

float *half_weights_source(const net *n, int area)
{
    return area == HALF_TRAINED ? n->storage.trainable : n->storage.buffers;
}

/* The area that `at` is in, and where; HALF_AREAS: in none. */
static int area_of(const net *n, const float *at, int64_t *ret_offset)
{
    int k = n->storage.half ? 0 : HALF_AREAS;
    for (; k < HALF_AREAS; k++) {
        const float *first = half_weights_source(n, k);
        if (at >= first && at < first + n->storage.half->areas[k].count) {
            *ret_offset = at - first;
            break;
        }
    }
    return k;
}

void *half_weights_address(const net *n, uint32_t id)
{
    int64_t offset = 0;
    const int k = area_of(n, n->tree.weights[id]->data, &offset);
    return k < HALF_AREAS ? n->storage.half->areas[k].copies + offset : NULL;
}

uint16_t *net_half_weights(const net *n, int32_t *ret_dtype)
{
    *ret_dtype = n->storage.half ? n->storage.half->dtype : TUTTI_DTYPE_NONE;
    return n->storage.half ? n->storage.half->areas[HALF_TRAINED].copies : NULL;
}

net_half_counts net_count_half(const net *n)
{
    net_half_counts c = {.dtype = n->storage.half ? n->storage.half->dtype : TUTTI_DTYPE_NONE};
    for (uint32_t k = 0; k < n->tree.norder; k++) {
        int64_t unused;
        const int area = area_of(n, n->tree.order[k]->data, &unused);
        c.trained += area == HALF_TRAINED;
        c.frozen += area == HALF_FROZEN;
    }
    for (int k = 0; k < HALF_AREAS && n->storage.half; k++)
        c.bytes += (uint64_t)n->storage.half->areas[k].count *
                   sizeof *n->storage.half->areas[k].copies;
    return c;
}

bool net_has_half(const net *n, const float *at)
{
    int64_t unused;
    return area_of(n, at, &unused) < HALF_AREAS;
}

void net_touch_packed(net *n)
{
    n->storage.packed.version++;
}

void net_touch_trained(net *n)
{
    net_touch_packed(n);
    if (n->storage.half)
        n->storage.half->areas[HALF_TRAINED].old = true;
}

void net_touch_weights(net *n)
{
    net_touch_trained(n);
    n->storage.packed.frozen_version++;
    if (n->storage.half)
        n->storage.half->areas[HALF_FROZEN].old = true;
}

void net_expose_weights(net *n)
{
    n->storage.packed.exposed = true;
    if (n->storage.half)
        n->storage.half->exposed = true;
}
