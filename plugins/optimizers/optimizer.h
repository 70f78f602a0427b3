/* optimizer.h - what the optimizers share.  The update of a range of parameters is compiled once per instruction set,
 * and all variants give the same bits: SIMD lanes do the same correctly rounded operations, and -ffp-contract=off
 * keeps compilers from contracting them to FMA. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "tutti/half.h"
#include "tutti/kernel.h"
#include "tutti/log.h"
#include "tutti/optimizer.h"
#include "tutti/tutti.h"

#include <stdio.h>
#include <stdlib.h>

/* An update goes cache line by cache line and prefetches what it will read some lines later: the hardware's
 * prefetcher ends with each page of 4 KiB. */
enum { OPTIMIZER_LINE = 16, OPTIMIZER_AHEAD = 512 }; /* numbers */

#define OPTIMIZER_PREFETCH(array, i) __builtin_prefetch((array) + (i) + OPTIMIZER_AHEAD)

/* Weights in 16 bits beside those in f32. */
static inline void optimizer_to_bf16(int64_t n, const float *restrict w, uint16_t *restrict low)
{
    for (int64_t i = 0; i < n; i++)
        low[i] = tutti_to_bf16(w[i]);
}

static inline void optimizer_to_f16(int64_t n, const float *restrict w, uint16_t *restrict low)
{
    for (int64_t i = 0; i < n; i++)
        low[i] = tutti_to_f16(w[i]);
}

static inline void optimizer_to_low(int64_t n, const float *w, uint16_t *low, int32_t dtype)
{
    if (dtype == TUTTI_BF16)
        optimizer_to_bf16(n, w, low);
    else
        optimizer_to_f16(n, w, low);
}

/* As much of the update as the host knows, zeros for the rest. */
static inline tutti_update optimizer_known(const tutti_update *u)
{
    tutti_update known;
    memset(&known, 0, sizeof known);
    memcpy(&known, u, u->struct_size < sizeof known ? u->struct_size : sizeof known);
    return known;
}

/* How many elements go at a time: with a copy in 16 bits as many as stay in the cache until they are
 * copied. */
static inline int64_t optimizer_block(int64_t n, const uint16_t *low)
{
    return low && n > 1024 ? 1024 : n;
}

/* Decoupled decay is not multiplied by the learning rate, so usual values are far smaller. */
static inline void optimizer_warn_decay(const tutti_host *host, const char *name, double decay)
{
    const tutti_log_v1 *log = (const tutti_log_v1 *)host->query(host->ctx, TUTTI_LOG_V1);
    char text[160];
    if (!log || decay < 1e-3)
        return;
    (void)snprintf(text, sizeof text,
                   "%s: weight_decay %g is large: this decay is not multiplied by the learning "
                   "rate",
                   name, decay);
    log->write(log->ctx, TUTTI_LOG_WARNING, text);
}

/* The kernels of this plugin's manifest with the number of `name`, or NULL. */
static inline const tutti_kernel_v1 *optimizer_kernel(const tutti_host *host, const char *name,
                                                      uint32_t *ret_kernel)
{
    const tutti_kernel_v1 *k = (const tutti_kernel_v1 *)host->query(host->ctx, TUTTI_KERNEL_V1);
    return k && k->find(k->ctx, name, ret_kernel, NULL) == TUTTI_OK ? k : NULL;
}

/* Number `at` of the pair "betas", or `otherwise`. */
static inline double optimizer_beta(const tutti_params *params, int at, double otherwise)
{
    const tutti_param *betas = tutti_param_find(params, "betas");
    return betas && betas->count == 2 ? betas->items[at]->f : otherwise;
}

#endif
