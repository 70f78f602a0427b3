/* weight_average.h - a second copy of the model's weights: averaged, exchanged, saved. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_AVERAGE_H
#define PLUGIN_AVERAGE_H

#include "kernels.h"
#include "tutti/stateful.h"
#include "tutti/weights.h"

/* The other values of one span of weights, where the span is. */
typedef struct average_block {
    float *value;
    int64_t n;
} average_block;

/* One F32 weight or buffer of the model. */
typedef struct average_entry {
    char *path;
    float *value; /* in a block */
    tutti_desc desc;
} average_entry;

enum { AVERAGE_STARTED, AVERAGE_ACTIVE, AVERAGE_FLAGS = 8 };
enum { AVERAGE_BLEND, AVERAGE_APPROACH, AVERAGE_EXCHANGE, AVERAGE_KERNELS };

/* While it is active the model holds the average and the blocks hold the training weights. */
typedef struct average {
    algorithm_device device;
    const tutti_weights_v1 *weights;
    average_block *blocks;
    average_entry *entries;
    uint64_t version; /* of the model's tree when all that was made */
    uint32_t nblocks;
    uint32_t count;
    uint32_t nflags; /* kept in checkpoints; from AVERAGE_ACTIVE on the algorithm's own */
    uint32_t kernel[AVERAGE_KERNELS];
    int64_t flags[AVERAGE_FLAGS];
} average;

static inline int32_t average_started(const average *a)
{
    return a->flags[AVERAGE_STARTED] != 0;
}

static inline int32_t average_active(const average *a)
{
    return a->flags[AVERAGE_ACTIVE] != 0;
}

/* Finds services and kernels; `who` is the algorithm. */
tutti_status average_init(average *a, const tutti_host *host, const char *who,
                          tutti_error *err);
/* Makes blocks for the model as it is: weights whose path and size are known keep their value, new
 * ones copy the weight.  The other calls do this first whenever the tree has changed. */
tutti_status average_fit(average *a, tutti_error *err);
/* Copies all weights: averaging begins here. */
tutti_status average_start(average *a, tutti_error *err);
/* value = smoothing * value + (1 - smoothing) * weight */
tutti_status average_update(average *a, double smoothing, tutti_error *err);
/* value += share * (weight - value) for what is trained; the rest is copied. */
tutti_status average_mean(average *a, double share, tutti_error *err);
/* The same for all. */
tutti_status average_approach(average *a, double share, tutti_error *err);
/* The model gets the values. */
tutti_status average_load(average *a, tutti_error *err);
/* Exchanges values and weights. */
tutti_status average_swap(average *a, tutti_error *err);
/* As tutti.stateful/1 wants it. */
tutti_status average_items(average *a, tutti_state_item *list, uint32_t capacity,
                           uint32_t *ret_count, tutti_error *err);
void average_fini(average *a);

#endif
