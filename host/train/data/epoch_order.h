/* epoch_order.h - which sample is at each place of an epoch: by the host's formula, in lanes, or as the dataset or a sampler says. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_DATA_EPOCH_ORDER_H
#define HOST_TRAIN_DATA_EPOCH_ORDER_H

#include "plugin/instance.h"
#include "train/data/epoch_lanes.h"
#include "train/data/epoch_sampler.h"
#include "train/data/permutation.h"
#include "tutti/dataset.h"

#include <pthread.h>
#include <stdbool.h>

typedef struct epoch_list epoch_list; /* opaque: the order of one epoch, place by place */

typedef struct epoch_orders {
    instance *dataset;                  /* borrowed */
    const tutti_sample_order_v1 *table; /* NULL: the dataset has no order of its own */
    epoch_sampler *sampler;             /* borrowed; NULL: the run names none */
    epoch_lanes lanes;                  /* its owner's; without a table: the run has none */
    int64_t samples;                    /* of the dataset */
    int64_t places;                     /* of an epoch */
    int64_t batch_size;
    uint64_t seed;
    bool shuffle;
    pthread_mutex_t lock; /* of the lists */
    epoch_list *lists;    /* the newest first */
} epoch_orders;

/* One epoch's; it stays good until epoch_order_release. */
typedef struct epoch_order {
    epoch_list *list; /* NULL: the formula's */
    permutation formula;
    bool shuffle;
    bool fresh; /* the list is made by this call */
} epoch_order;

/* `o` has its members but for table, places, lock and lists.  Errors: E_RANGE an impossible number of
 * places.  [control] */
TUTTI_NODISCARD tutti_status epoch_orders_init(epoch_orders *o, tutti_error *err);
void epoch_orders_fini(epoch_orders *o); /* also of zeros */

/* Makes the list, or asks the sampler, or the dataset where it has an order of its own, if none of this epoch is kept.  Errors: theirs; E_RANGE a
 * sample that it does not have; E_NOMEM.  [any] */
TUTTI_NODISCARD tutti_status epoch_order_acquire(epoch_orders *o, int64_t epoch,
                                                 epoch_order *ret_order, tutti_error *err);
void epoch_order_release(epoch_orders *o, epoch_order *order);
/* The sample at place `place`, below `places`. */
int64_t epoch_order_at(const epoch_order *order, int64_t place);

#endif
