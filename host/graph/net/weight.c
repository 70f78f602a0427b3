/* weight.c - a weight's life and its first values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/ir/interpreter.h"
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

static double draw_normal(uint64_t seed, uint64_t key, int64_t k)
{
    double pair[2];
    tutti_normal_f64(tutti_rng(seed, TUTTI_RNG_INIT, key, (uint64_t)k / 2), &pair[0], &pair[1]);
    return pair[k & 1];
}

static double draw_uniform(uint64_t seed, uint64_t key, int64_t k)
{
    const tutti_rng4 r = tutti_rng(seed, TUTTI_RNG_INIT, key, (uint64_t)k / 2);
    return k & 1 ? tutti_uniform_f64(r.v[2], r.v[3]) : tutti_uniform_f64(r.v[0], r.v[1]);
}

/* Element k: a function of seed, path and k alone, so that no weight depends on another. */
static double first_value(const tutti_init *i, uint64_t seed, uint64_t key, int64_t k)
{
    switch (i->kind) {
    case TUTTI_INIT_NORMAL:
        return i->a + i->b * draw_normal(seed, key, k);
    case TUTTI_INIT_UNIFORM:
        return i->a + (i->b - i->a) * draw_uniform(seed, key, k);
    case TUTTI_INIT_KAIMING_NORMAL:
        return i->a / sqrt(i->fan) * draw_normal(seed, key, k);
    case TUTTI_INIT_KAIMING_UNIFORM:
        return i->a * sqrt(3.0 / i->fan) * (2.0 * draw_uniform(seed, key, k) - 1.0);
    default:
        return i->a;
    }
}

tutti_status weight_start(const net *n, weight *w, const char *path, tutti_error *err)
{
    if (w->data)
        return TUTTI_OK;
    void *data = host_memory_alloc(tutti_nbytes(&w->desc));
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", path,
                          (unsigned long long)tutti_nbytes(&w->desc));
    const tutti_tensor t = {data, w->desc, TUTTI_DEVICE_CPU, 0};
    const uint64_t key = tutti_hash(path);
    const int64_t count = tutti_numel(&w->desc);
    const int threads = count > 65536 ? n->options.threads : 1;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t k = 0; k < count; k++)
        tensor_set(&t, k, first_value(&w->init, n->options.seed, key, k));
    w->data = data;
    w->owned = true;
    return TUTTI_OK;
}
