/* first_values.c - weight initialization: draws the first values of weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/first_values.h"
#include "graph/ir/interpreter.h"
#include "tutti/rng.h"

#include <math.h>

enum {
    SHARED = 65536, /* elements, more are worth several threads */
    CHUNK = 256,    /* elements drawn at a time; even */
};

/* A value is shift + scale * draw, where the draw is normal or uniform in [0, 1), or 2 * uniform - 1. */
typedef struct recipe {
    double shift, scale;
    bool normal, centred, shifted;
} recipe;

static recipe recipe_of(const tutti_init *i)
{
    switch (i->kind) {
    case TUTTI_INIT_NORMAL:
        return (recipe){.shift = i->a, .scale = i->b, .normal = true, .shifted = true};
    case TUTTI_INIT_UNIFORM:
        return (recipe){.shift = i->a, .scale = i->b - i->a, .shifted = true};
    case TUTTI_INIT_KAIMING_NORMAL:
        return (recipe){.scale = i->a / sqrt(i->fan), .normal = true};
    default:
        return (recipe){.scale = i->a * sqrt(3.0 / i->fan), .centred = true};
    }
}

static double value_of(const recipe *r, double draw)
{
    const double scaled = r->scale * (r->centred ? 2.0 * draw - 1.0 : draw);
    return r->shifted ? r->shift + scaled : scaled;
}

/* Elements [first, first + n), with first even: two of each block of random words. */
static void draw_chunk(const recipe *r, uint64_t seed, uint64_t key, int64_t first, int64_t n,
                       double *to)
{
    for (int64_t k = 0; k < n; k += 2) {
        const tutti_rng4 w = tutti_rng(seed, TUTTI_RNG_INIT, key, (uint64_t)(first + k) / 2);
        double pair[2];
        if (r->normal) {
            tutti_normal_f64(w, &pair[0], &pair[1]);
        } else {
            pair[0] = tutti_uniform_f64(w.v[0], w.v[1]);
            pair[1] = tutti_uniform_f64(w.v[2], w.v[3]);
        }
        to[k] = value_of(r, pair[0]);
        if (k + 1 < n)
            to[k + 1] = value_of(r, pair[1]);
    }
}

static void store(const tutti_tensor *t, int64_t first, int64_t n, const double *from)
{
    float *data = (float *)t->data + first;
    if (t->desc.dtype != TUTTI_F32) {
        for (int64_t k = 0; k < n; k++)
            tensor_set(t, first + k, from[k]);
        return;
    }
    for (int64_t k = 0; k < n; k++)
        data[k] = (float)from[k];
}

void first_values_draw(const tutti_init *init, const tutti_desc *desc, uint64_t seed,
                       uint64_t key, int threads, void *data)
{
    const tutti_tensor t = {data, *desc, TUTTI_DEVICE_CPU, 0};
    const int64_t count = tutti_numel(desc);
    const bool shared = threads > 1 && count > SHARED;
    if (init->kind == TUTTI_INIT_CONSTANT) {
        for (int64_t k = 0; k < count; k++)
            tensor_set(&t, k, init->a);
        return;
    }
    const recipe r = recipe_of(init);
#pragma omp parallel for schedule(static) num_threads(threads) if (shared)
    for (int64_t k = 0; k < count; k += CHUNK) {
        double chunk[CHUNK];
        const int64_t n = count - k < CHUNK ? count - k : CHUNK;
        draw_chunk(&r, seed, key, k, n, chunk);
        store(&t, k, n, chunk);
    }
}
