/* numpy_rng.c - PCG64 (O'Neill, "PCG: a family of simple fast space-efficient generators", 2014), the XSL-RR form on 128
 * bits; seeds mixed as by O'Neill's seed_seq_fe; ranges by Lemire ("Fast random integer generation in an interval", 2019);
 * choices by Floyd (Bentley, "Programming pearls: a sample of brilliance", 1987). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "numpy_rng.h"

#include <stdlib.h>
#include <string.h>

enum { POOL = 4 };

/* ---- seeds ---- */

static uint32_t mix_hash(uint32_t value, uint32_t *constant, uint32_t multiplier)
{
    value ^= *constant;
    *constant *= multiplier;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mix_pair(uint32_t x, uint32_t y)
{
    const uint32_t mixed = 0xca01f9ddu * x - 0x4973f715u * y;
    return mixed ^ mixed >> 16;
}

/* SeedSequence(seed).generate_state(4, uint64): a seed of 64 bits is at most two words of its pool. */
static void seed_words(uint64_t seed, uint64_t ret[4])
{
    const uint32_t words[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32), 0, 0};
    uint32_t pool[POOL], hash = 0x43b0d7e5u, out = 0x8b51f9ddu;
    for (int k = 0; k < POOL; k++)
        pool[k] = mix_hash(words[k], &hash, 0x931e8875u);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++)
            if (from != to)
                pool[to] = mix_pair(pool[to], mix_hash(pool[from], &hash, 0x931e8875u));
    for (int k = 0; k < 4; k++) {
        const uint32_t low = mix_hash(pool[2 * k % POOL], &out, 0x58f38dedu);
        const uint32_t high = mix_hash(pool[(2 * k + 1) % POOL], &out, 0x58f38dedu);
        ret[k] = (uint64_t)high << 32 | low;
    }
}

/* ---- bits ---- */

static numpy_u128 make_u128(uint64_t high, uint64_t low)
{
    return (numpy_u128)high << 64 | low;
}

static void step_state(numpy_rng *r)
{
    r->state = r->state * make_u128(0x2360ed051fc65da4u, 0x4385df649fccf645u) + r->increment;
}

static uint64_t next_bits64(numpy_rng *r)
{
    step_state(r);
    const uint64_t x = (uint64_t)(r->state >> 64) ^ (uint64_t)r->state;
    const unsigned turn = (unsigned)(r->state >> 122);
    return x >> turn | x << (-turn & 63);
}

static uint32_t next_bits32(numpy_rng *r)
{
    if (r->has_half) {
        r->has_half = 0;
        return r->half;
    }
    const uint64_t bits = next_bits64(r);
    r->has_half = 1;
    r->half = (uint32_t)(bits >> 32);
    return (uint32_t)bits;
}

void numpy_rng_init(numpy_rng *r, uint64_t seed)
{
    uint64_t words[4];
    seed_words(seed, words);
    *r = (numpy_rng){.increment = make_u128(words[2], words[3]) << 1 | 1};
    step_state(r);
    r->state += make_u128(words[0], words[1]);
    step_state(r);
}

/* ---- numbers ---- */

static uint32_t draw_below32(numpy_rng *r, uint32_t last)
{
    const uint32_t range = last + 1;
    uint64_t m = (uint64_t)next_bits32(r) * range;
    if ((uint32_t)m < range) {
        const uint32_t threshold = (UINT32_MAX - last) % range;
        while ((uint32_t)m < threshold)
            m = (uint64_t)next_bits32(r) * range;
    }
    return (uint32_t)(m >> 32);
}

static uint64_t draw_below64(numpy_rng *r, uint64_t last)
{
    const uint64_t range = last + 1;
    numpy_u128 m = (numpy_u128)next_bits64(r) * range;
    if ((uint64_t)m < range) {
        const uint64_t threshold = (UINT64_MAX - last) % range;
        while ((uint64_t)m < threshold)
            m = (numpy_u128)next_bits64(r) * range;
    }
    return (uint64_t)(m >> 64);
}

uint64_t numpy_rng_below(numpy_rng *r, uint64_t last)
{
    if (last == 0)
        return 0;
    if (last == UINT64_MAX)
        return next_bits64(r);
    if (last == UINT32_MAX)
        return next_bits32(r);
    return last < UINT32_MAX ? draw_below32(r, (uint32_t)last) : draw_below64(r, last);
}

int64_t numpy_rng_integer(numpy_rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)numpy_rng_below(r, (uint64_t)(high - low) - 1);
}

double numpy_rng_uniform(numpy_rng *r, double low, double high)
{
    const double range = high - low, part = (double)(next_bits64(r) >> 11) * 0x1p-53;
    const double along = range * part;
    return low + along;
}

/* ---- orders ---- */

/* A number from 0 to `last` by the bits that it has at most, drawn until it fits: how shuffles draw, and nothing else. */
static uint64_t masked_below(numpy_rng *r, uint64_t last)
{
    uint64_t mask = last, value;
    for (unsigned k = 1; k < 64; k *= 2)
        mask |= mask >> k;
    if (last == 0)
        return 0;
    do
        value = (last <= UINT32_MAX ? next_bits32(r) : next_bits64(r)) & mask;
    while (value > last);
    return value;
}

void numpy_rng_shuffle(numpy_rng *r, void *items, int64_t count, size_t size)
{
    char *at = items, kept[NUMPY_RNG_ITEM];
    for (int64_t k = count - 1; k > 0; k--) {
        char *a = at + (size_t)k * size, *b = at + masked_below(r, (uint64_t)k) * size;
        memcpy(kept, a, size);
        memmove(a, b, size);
        memcpy(b, kept, size);
    }
}

void numpy_rng_permutation(numpy_rng *r, int64_t count, int64_t *ret)
{
    for (int64_t k = 0; k < count; k++)
        ret[k] = k;
    numpy_rng_shuffle(r, ret, count, sizeof *ret);
}

/* Places `count` - 1 down to `end` each change with one at or before it. */
static void shuffle_chosen(numpy_rng *r, int64_t *items, int64_t count, int64_t end)
{
    for (int64_t k = count - 1; k >= end; k--) {
        const uint64_t other = numpy_rng_below(r, (uint64_t)k);
        const int64_t kept = items[k];
        items[k] = items[other];
        items[other] = kept;
    }
}

/* The last `chosen` of a shuffle that stops there. */
static tutti_status choose_tail(numpy_rng *r, int64_t count, int64_t chosen, int64_t *ret,
                                tutti_error *err)
{
    int64_t *all = malloc((size_t)count * sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory to choose samples");
    for (int64_t k = 0; k < count; k++)
        all[k] = k;
    shuffle_chosen(r, all, count, count - chosen > 1 ? count - chosen : 1);
    memcpy(ret, all + (count - chosen), (size_t)chosen * sizeof *all);
    free(all);
    return TUTTI_OK;
}

/* Puts `value` in the table of chosen ones; 0: it is there. */
static int add_chosen(uint64_t *table, uint64_t mask, uint64_t value)
{
    uint64_t at = value & mask;
    while (table[at] != UINT64_MAX && table[at] != value)
        at = (at + 1) & mask;
    const int fresh = table[at] != value;
    table[at] = value;
    return fresh;
}

static tutti_status choose_each(numpy_rng *r, int64_t count, int64_t chosen, int64_t *ret,
                                tutti_error *err)
{
    uint64_t mask = 1;
    while (mask < 2 * (uint64_t)chosen)
        mask = mask << 1 | 1;
    uint64_t *table = malloc((mask + 1) * sizeof *table);
    if (!table)
        return tutti_fail(err, TUTTI_E_NOMEM, "mds: no memory to choose samples");
    memset(table, 0xff, (mask + 1) * sizeof *table);
    for (int64_t k = count - chosen; k < count; k++) {
        uint64_t value = numpy_rng_below(r, (uint64_t)k);
        if (!add_chosen(table, mask, value))
            (void)add_chosen(table, mask, value = (uint64_t)k);
        ret[k - count + chosen] = (int64_t)value;
    }
    free(table);
    shuffle_chosen(r, ret, chosen, 1);
    return TUTTI_OK;
}

tutti_status numpy_rng_choice(numpy_rng *r, int64_t count, int64_t chosen, int64_t *ret,
                              tutti_error *err)
{
    return count > 10000 && chosen > count / 50 ? choose_tail(r, count, chosen, ret, err)
                                                : choose_each(r, count, chosen, ret, err);
}
