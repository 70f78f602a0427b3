/* first_values.c - weight initialization: draws the first values of weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/net/first_values.h"
#include "graph/ir/interpreter.h"
#include "graph/net/weight_draws.h"
#include "tutti/rng.h"

#include <math.h>

enum {
    SHARED = 65536, /* elements, more are worth several threads */
    CHUNK = 1024,   /* elements of one thread at a time, a multiple of WEIGHT_DRAWS */
};

static weight_recipe recipe_of(const tutti_init *i)
{
    switch (i->kind) {
    case TUTTI_INIT_NORMAL:
        return (weight_recipe){.shift = i->a, .scale = i->b, .normal = true, .shifted = true};
    case TUTTI_INIT_UNIFORM:
        return (weight_recipe){.shift = i->a, .scale = i->b - i->a, .shifted = true};
    case TUTTI_INIT_KAIMING_NORMAL:
        return (weight_recipe){.scale = i->a / sqrt(i->fan), .normal = true};
    default:
        return (weight_recipe){.scale = i->a * sqrt(3.0 / i->fan), .centred = true};
    }
}

static double value_of(const weight_recipe *r, double draw)
{
    const double scaled = r->scale * (r->centred ? 2.0 * draw - 1.0 : draw);
    return r->shifted ? r->shift + scaled : scaled;
}

/* Elements [first, first + n) by the definition, with first even: two of each block of random words. */
static void draw_defined(const weight_recipe *r, uint64_t seed, uint64_t key,
                         const tutti_tensor *t, int64_t first, int64_t n)
{
    for (int64_t k = first; k < first + n; k += 2) {
        const tutti_rng4 w = tutti_rng(seed, TUTTI_RNG_INIT, key, (uint64_t)k / 2);
        double pair[2];
        if (r->normal) {
            tutti_normal_f64(w, &pair[0], &pair[1]);
        } else {
            pair[0] = tutti_uniform_f64(w.v[0], w.v[1]);
            pair[1] = tutti_uniform_f64(w.v[2], w.v[3]);
        }
        tensor_set(t, k, value_of(r, pair[0]));
        if (k + 1 < first + n)
            tensor_set(t, k + 1, value_of(r, pair[1]));
    }
}

static void draw_chunk(const weight_recipe *r, uint64_t seed, uint64_t key,
                       const tutti_tensor *t, int64_t first, int64_t n)
{
    const __typeof__(&weight_draws) draws = TUTTI_ISA_PICK(weight_draws);
    for (int64_t k = first; k < first + n; k += WEIGHT_DRAWS) {
        const int64_t left = first + n - k;
        const bool whole = t->desc.dtype == TUTTI_F32 && left >= WEIGHT_DRAWS;
        if (!whole || !draws(r, seed, key, (uint64_t)k / 2, (float *)t->data + k))
            draw_defined(r, seed, key, t, k, left < WEIGHT_DRAWS ? left : WEIGHT_DRAWS);
    }
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
    const weight_recipe r = recipe_of(init);
#pragma omp parallel for schedule(static) num_threads(threads) if (shared)
    for (int64_t k = 0; k < count; k += CHUNK) {
        draw_chunk(&r, seed, key, &t, k, count - k < CHUNK ? count - k : CHUNK);
    }
}
