/* commit.c - the end of a surgery: weights gathered into flat arenas. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/host_memory.h"
#include "graph/surgery/rebuild.h"
#include "graph/surgery/surgery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements from one weight to the next: the copies in 16 bits are aligned as the weights are. */
static int64_t place_of(const net *n, int64_t size)
{
    const int64_t align =
        (int64_t)(MEMORY_ALIGN / (half_weights_exist(n) ? sizeof(uint16_t) : sizeof(float)));
    return (size + align - 1) / align * align;
}

/* The new state, complete before anything of the old is touched. */
typedef struct gathering {
    weight **order;
    char **paths; /* by id */
    tutti_weight *views;
    void **addresses; /* by id */
    float *trainable, *grads;
    unsigned char *buffers;
    half_weights *half;
    int64_t narena, nfrozen; /* f32 */
    uint64_t nbuffers;       /* bytes, behind the frozen weights */
    uint32_t norder;
} gathering;

static bool is_trainable(const weight *w)
{
    return w->flags & TUTTI_WEIGHT_TRAINABLE;
}

static bool is_frozen(const weight *w)
{
    return w->parameter && !is_trainable(w);
}

static tutti_status out_of_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the model's weights");
}

static tutti_status collect_below(net *n, gathering *g, tutti_module top, tutti_error *err);

/* Names `w`, the weight `name` of a module at `path`, unless it has been met. */
static tutti_status collect_weight(net *n, gathering *g, weight *w, const char *path,
                                   const char *name, tutti_error *err)
{
    if (w->listed)
        return TUTTI_OK;
    const size_t size = strlen(path) + strlen(name) + 2;
    char *full = malloc(size);
    if (!full)
        return out_of_memory(err);
    (void)snprintf(full, size, "%s%s%s", path, *path ? "." : "", name);
    g->paths[w->id] = full;
    w->listed = true;
    weight_name(w, full);
    g->order[g->norder++] = w;
    tutti_status s = rebuild_place(n, w, full, err);
    for (uint32_t k = 0; k < w->nvia && !s; k++)
        s = collect_below(n, g, w->via[k], err);
    return s;
}

/* Walks the tree below `top`, names every weight that it reaches and notes the first path of each. */
static tutti_status collect_below(net *n, gathering *g, tutti_module top, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (tutti_module m = top; m && !s; m = module_tree_next(n, m)) {
        const module *it = net_module(n, m);
        for (uint32_t k = 0; k < it->nslots && !s; k++)
            s = collect_weight(n, g, it->slots[k].weight, module_tree_path(n, m),
                               it->slots[k].name, err);
        if (!s && it->lacks_path)
            s = out_of_memory(err);
    }
    return s;
}

static tutti_status collect(net *n, gathering *g, tutti_error *err)
{
    for (uint32_t k = 0; k < n->tree.nweights; k++)
        n->tree.weights[k]->listed = false;
    return collect_below(n, g, 1, err);
}

/* Stable: entries with a larger key come first. */
static void sort_by_key(weight **list, uint32_t n, const uint32_t *key)
{
    for (uint32_t k = 1; k < n; k++) {
        weight *w = list[k];
        uint32_t at = k;
        for (; at > 0 && key[list[at - 1]->id] < key[w->id]; at--)
            list[at] = list[at - 1];
        list[at] = w;
    }
}

/* By groups.  In each: the backward pass completes a weight where the forward pass used it first, so
 * the last used comes first; without a trace the tree's order stands in for it.  Then everything
 * that is not trained, in the tree's order. */
static tutti_status sort(net *n, gathering *g, tutti_error *err)
{
    weight **sorted = calloc((size_t)g->norder + 1, sizeof(weight *));
    uint32_t *key = calloc((size_t)n->tree.nweights + 1, sizeof *key);
    if (!sorted || !key) {
        free(sorted);
        free(key);
        return out_of_memory(err);
    }
    uint32_t used = 0;
    for (uint32_t k = g->norder; k-- > 0;)
        if (is_trainable(g->order[k]))
            sorted[used++] = g->order[k];
    if (net_first_uses(n, key))
        sort_by_key(sorted, used, key);
    for (uint32_t k = 0; k < used && n->sources.group; k++)
        key[sorted[k]->id] =
            UINT32_MAX - n->sources.group(n->sources.group_ctx, g->paths[sorted[k]->id]);
    if (n->sources.group)
        sort_by_key(sorted, used, key);
    for (uint32_t k = 0; k < g->norder; k++)
        if (!is_trainable(g->order[k]))
            sorted[used++] = g->order[k];
    free(key);
    free(g->order);
    g->order = sorted;
    return TUTTI_OK;
}

static tutti_status alloc_arenas(const net *n, gathering *g, tutti_error *err)
{
    for (uint32_t k = 0; k < g->norder; k++) {
        const weight *w = g->order[k];
        if (is_trainable(w))
            g->narena += place_of(n, tutti_numel(&w->desc));
        else if (is_frozen(w))
            g->nfrozen += place_of(n, tutti_numel(&w->desc));
        else
            g->nbuffers += bytes_round(tutti_nbytes(&w->desc));
    }
    const tutti_device *d = n->options.device;
    g->trainable = device_alloc(d, (uint64_t)g->narena * sizeof(float));
    g->grads = device_alloc(d, (uint64_t)g->narena * sizeof(float));
    g->buffers = device_alloc(d, (uint64_t)g->nfrozen * sizeof(float) + g->nbuffers);
    g->views = calloc((size_t)g->norder + 1, sizeof *g->views);
    g->addresses = calloc((size_t)n->tree.nweights + 1, sizeof *g->addresses);
    if (!g->trainable || !g->grads || !g->buffers || !g->views || !g->addresses)
        return out_of_memory(err);
    return half_weights_create(n, g->narena, g->nfrozen, &g->half, err);
}

/* The weight's values, to its new place: those it has, or its first ones, which may be for later. */
static tutti_status move_values(const net *n, const weight *w, void *to, const char *path,
                                tutti_error *err)
{
    if (w->data && !w->blank)
        return device_copy(n->options.device, to, w->data, tutti_nbytes(&w->desc),
                           w->owned ? TUTTI_COPY_TO_DEVICE : TUTTI_COPY_ON_DEVICE, err);
    return n->options.deferred_init ? TUTTI_OK : weight_draw(n, w, to, path, err);
}

/* Moves values to their new places; the weights themselves still know the old ones. */
static tutti_status place(const net *n, gathering *g, tutti_error *err)
{
    const tutti_device *d = n->options.device;
    int64_t offset = 0, frozen = 0;
    uint64_t byte = (uint64_t)g->nfrozen * sizeof(float);
    for (uint32_t k = 0; k < g->norder; k++) {
        const weight *w = g->order[k];
        const uint64_t bytes = tutti_nbytes(&w->desc);
        void *to = is_trainable(w) ? (void *)(g->trainable + offset)
                   : is_frozen(w)  ? (void *)((float *)(void *)g->buffers + frozen)
                                   : g->buffers + byte;
        const tutti_status s = move_values(n, w, to, g->paths[w->id], err);
        if (s)
            return s;
        g->addresses[w->id] = to;
        g->views[k] = (tutti_weight){sizeof *g->views,
                                     w->flags,
                                     g->paths[w->id],
                                     {to, w->desc, device_number(d), 0},
                                     is_trainable(w) ? g->grads + offset : NULL,
                                     -1,
                                     0};
        if (is_trainable(w))
            offset += place_of(n, tutti_numel(&w->desc));
        else if (is_frozen(w))
            frozen += place_of(n, tutti_numel(&w->desc));
        else
            byte += bytes_round(bytes);
    }
    return TUTTI_OK;
}

/* Weights that left the tree keep their values in memory of their own. */
static tutti_status rescue(const net *n, tutti_error *err)
{
    for (uint32_t k = 0; k < n->tree.nweights; k++) {
        weight *w = n->tree.weights[k];
        if (w->listed || w->owned || !w->data || w->blank)
            continue;
        void *own = host_memory_alloc(tutti_nbytes(&w->desc));
        if (!own)
            return out_of_memory(err);
        const tutti_status s = device_copy(n->options.device, own, w->data,
                                           tutti_nbytes(&w->desc), TUTTI_COPY_FROM_DEVICE, err);
        if (s) {
            free(own);
            return s;
        }
        w->data = own;
        w->owned = true;
    }
    return TUTTI_OK;
}

static void gathering_fini(const net *n, gathering *g)
{
    const tutti_device *d = n->options.device;
    for (uint32_t k = 0; k < n->tree.nweights && g->paths; k++)
        free(g->paths[k]);
    free(g->paths);
    free(g->order);
    free(g->views);
    free(g->addresses);
    device_free(d, g->trainable);
    device_free(d, g->grads);
    device_free(d, g->buffers);
    half_weights_destroy(n, g->half);
}

/* Nothing can fail from here on. */
static void adopt(net *n, gathering *g)
{
    for (uint32_t k = 0; k < n->tree.nweights; k++) {
        weight *w = n->tree.weights[k];
        free(w->path);
        w->path = g->paths[k];
        g->paths[k] = NULL;
        w->previous = w->offset;
        w->offset = -1;
        w->grad = NULL;
        if (!w->listed) {
            w->data = w->blank ? NULL : w->data;
            w->blank = false;
            continue;
        }
        w->blank = (!w->data || w->blank) && n->options.deferred_init;
        if (w->owned)
            free(w->data);
        w->owned = false;
        w->data = g->addresses[k];
    }
    for (uint32_t k = 0; k < g->norder; k++)
        if (g->views[k].grad) {
            g->order[k]->grad = g->views[k].grad;
            g->order[k]->offset = g->order[k]->grad - g->grads;
        }
    const gathering old = {.order = n->tree.order,
                           .views = n->tree.views,
                           .addresses = n->tree.addresses,
                           .trainable = n->storage.trainable,
                           .grads = n->storage.grads,
                           .buffers = n->storage.buffers,
                           .half = n->storage.half};
    n->tree.order = g->order;
    n->tree.views = g->views;
    n->tree.addresses = g->addresses;
    n->storage.trainable = g->trainable;
    n->storage.grads = g->grads;
    n->storage.buffers = g->buffers;
    n->storage.half = g->half;
    n->storage.packed.version++;
    n->storage.packed.frozen_version++;
    n->storage.packed.exposed = false; /* nobody has the new addresses */
    n->storage.count = g->narena;
    n->tree.norder = g->norder;
    free(g->paths);
    *g = old;
    n->tree.changed = false;
    n->tree.version++;
}

tutti_status net_commit(net *n, tutti_error *err)
{
    if (!n->tree.changed)
        return TUTTI_OK;
    gathering g = {.order = calloc((size_t)n->tree.nweights + 1, sizeof(weight *)),
                   .paths = calloc((size_t)n->tree.nweights + 1, sizeof(char *))};
    tutti_status s = g.order && g.paths ? collect(n, &g, err) : out_of_memory(err);
    if (!s)
        s = sort(n, &g, err);
    if (!s)
        s = alloc_arenas(n, &g, err);
    if (!s)
        s = place(n, &g, err);
    if (!s)
        s = rescue(n, err);
    if (!s) {
        net_drop_plans(n);
        adopt(n, &g);
    }
    gathering_fini(n, &g);
    return s;
}
