/* weight.c - a weight's life, and when it is initialized: at the commit, or later (deferred initialization). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/first_values.h"
#include "graph/net/net_internal.h"
#include "graph/runtime/host_memory.h"
#include "tutti/rng.h"

#include <stdlib.h>
#include <string.h>

tutti_status weight_create(net *n, const tutti_desc *desc, const tutti_init *init,
                           uint32_t flags, weight **ret, tutti_error *err)
{
    weight *w = calloc(1, sizeof *w);
    weight **grown = realloc(n->tree.weights, sizeof *grown * (n->tree.nweights + 1u));
    if (grown)
        n->tree.weights = grown;
    if (w)
        *w = (weight){.desc = *desc,
                      .init = *init,
                      .offset = -1,
                      .previous = -1,
                      .id = n->tree.nweights,
                      .flags = flags,
                      .parameter = (flags & TUTTI_WEIGHT_TRAINABLE) != 0};
    if (w && init->kind == TUTTI_INIT_DATA) {
        w->data = host_memory_alloc(tutti_nbytes(desc));
        w->owned = true;
        if (w->data)
            memcpy(w->data, init->data, tutti_nbytes(desc));
    }
    if (!w || !grown || (init->kind == TUTTI_INIT_DATA && !w->data)) {
        free(w);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a weight of %llu bytes",
                          (unsigned long long)tutti_nbytes(desc));
    }
    w->init.data = NULL;
    n->tree.weights[n->tree.nweights++] = w;
    *ret = w;
    return TUTTI_OK;
}

void weight_name(weight *w, const char *path)
{
    if (!w->named)
        w->key = tutti_hash(path);
    w->named = true;
}

tutti_status weight_start(const net *n, weight *w, const char *path, tutti_error *err)
{
    weight_name(w, path);
    if (w->data)
        return w->blank ? weight_fill(n, w, path, err) : TUTTI_OK;
    void *data = host_memory_alloc(tutti_nbytes(&w->desc));
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", path,
                          (unsigned long long)tutti_nbytes(&w->desc));
    first_values_draw(&w->init, &w->desc, n->options.seed, w->key, n->options.threads, data);
    w->data = data;
    w->owned = true;
    return TUTTI_OK;
}

tutti_status weight_draw(const net *n, const weight *w, void *to, const char *path,
                         tutti_error *err)
{
    const tutti_device *d = n->options.device;
    const uint64_t bytes = tutti_nbytes(&w->desc);
    void *data = device_is_host(d) ? to : host_memory_alloc(bytes);
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", path,
                          (unsigned long long)bytes);
    first_values_draw(&w->init, &w->desc, n->options.seed, w->key, n->options.threads, data);
    if (data == to)
        return TUTTI_OK;
    const tutti_status s = device_copy(d, to, data, bytes, TUTTI_COPY_TO_DEVICE, err);
    free(data);
    return s;
}

tutti_status weight_fill(const net *n, weight *w, const char *path, tutti_error *err)
{
    const tutti_status s = weight_draw(n, w, w->data, path, err);
    w->blank = w->blank && s;
    return s;
}

tutti_status net_fill_weights(net *n, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    if (!n->options.deferred_init)
        return s;
    for (uint32_t k = 0; k < n->tree.norder && !s; k++)
        if (n->tree.order[k]->blank)
            s = weight_fill(n, n->tree.order[k], n->tree.order[k]->path, err);
    n->options.deferred_init = s != TUTTI_OK;
    return s;
}

void net_overwrites(net *n, const void *at)
{
    for (uint32_t k = 0; k < n->tree.norder && n->options.deferred_init; k++)
        if (n->tree.order[k]->data == at)
            n->tree.order[k]->blank = false;
}

bool net_is_blank(const net *n)
{
    return n->options.deferred_init;
}
