/* device_sum.h - sums over all slots of arrays that lie on devices, one a rank. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DIST_DEVICE_SUM_H
#define HOST_DIST_DEVICE_SUM_H

#include "dist/world.h"
#include "tutti/device.h"

typedef struct world_device world_device; /* opaque */

typedef struct world_device_options {
    instance *
        comm; /* borrowed; kind "comm", moves memory of devices; NULL where there is one rank */
    const tutti_device_v1 *table;
    void *device; /* of this rank; borrowed */
    /* n numbers of F32 as BF16, the nearest, or the other way, on a stream of the device's.  All nodes of the tree are rounded by
     * it, its leaves too.  NULL: they stay as they are. */
    tutti_status (*convert)(void *ctx, void *stream, void *to, int32_t to_dtype,
                            const void *from, int64_t n, tutti_error *err);
    void *ctx;
    double join_s;
    double timeout_s;
} world_device_options;

/* Connects the ranks' devices.  All ranks call it at the same place.  Errors: E_UNSUPPORTED the device cannot add, or the
 * object has no tutti.device_collectives/1; those of its join.  [control] */
TUTTI_NODISCARD tutti_status world_device_join(world *w, const world_device_options *options,
                                               world_device **ret_device, tutti_error *err);
/* `failed`: what has begun is given up.  NULL is allowed.  [control] */
void world_device_leave(world_device *d, bool failed);
/* Memory for sums of pieces as `any`, of at most as many numbers, before one of them begins.  Errors: E_NOMEM.  [step] */
TUTTI_NODISCARD tutti_status world_device_reserve(world_device *d, const world_piece *any,
                                                  tutti_error *err);
/* Leaves of the tree, rounded as the options say, by the device's own stream.  Errors: the device's.  [step] */
TUTTI_NODISCARD tutti_status world_device_round(world_device *d, float *numbers, int64_t n,
                                                tutti_error *err);
/* As slot_stack_push, of arrays of device memory, by the device's own stream.  Errors: the device's.  [step] */
TUTTI_NODISCARD tutti_status world_device_push(world_device *d, slot_stack *s, slot_sum sum,
                                               int64_t n, tutti_error *err);
/* As slot_stack_add_part, of a leaf that is rounded first, before the sum of the same numbers, beside which the device's
 * own stream goes on.  Errors: the device's.  [step] */
TUTTI_NODISCARD tutti_status world_device_add_part(world_device *d, const slot_stack *s,
                                                   float *part, int64_t at, int64_t n,
                                                   tutti_error *err);
/* Begins the sum of a piece, whose arrays and result are device memory, behind what the device's own stream has: to the
 * bit what world_start makes of the same numbers.  The arrays of its rounds are device memory too, and all ranks have
 * their arrays.  What the device's own stream is given next goes on beside the sum, and leaves the piece's memory alone
 * until world_device_settle.  Errors: the comm's, the device's.  [step] */
TUTTI_NODISCARD tutti_status world_device_sum(world_device *d, const world_piece *piece,
                                              tutti_error *err);
/* As world_gather_shards, of device memory, behind what the device's own stream has; waits for all ranks.  Errors: those of
 * world_device_settle, the device's.  [step] */
TUTTI_NODISCARD tutti_status world_device_gather_shards(world_device *d, float *data, int64_t n,
                                                        tutti_error *err);
/* What this rank's sums need of others is there, for what the device's own stream is given next.  The processes, which know
 * who has ended or hangs, meet beside that (world_start_exchange): a device would wait for its rank.  A rank whose device
 * has failed tells the others behind it.  Errors: those of world_exchange; the comm's: a rank does not take part; who
 * gets one leaves, so that nothing on the device waits for other ranks.  [step] */
TUTTI_NODISCARD tutti_status world_device_settle(world_device *d, tutti_error *err);
/* What other ranks have said so far of how it went on their devices.  Errors: E_STATE names one that has failed.  [step] */
TUTTI_NODISCARD tutti_status world_device_hear(world_device *d, tutti_error *err);
/* Its two parts, for ranks that may fail on their way there.  All processes meet, and wait for it: the rest of settle follows
 * unless one of them has failed, as `failed` says of this one.  Errors: E_STATE with *ret_stopped: names a rank that has
 * failed, on all of them; those of world_exchange.  [step] */
TUTTI_NODISCARD tutti_status world_device_meet(world_device *d, bool failed, bool *ret_stopped,
                                               tutti_error *err);
/* Then waits for this rank's device, as settle does.  [step] */
TUTTI_NODISCARD tutti_status world_device_finish(world_device *d, tutti_error *err);

#endif
