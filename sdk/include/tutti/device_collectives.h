/* device_collectives.h - tutti.device_collectives/1: collectives on the memory of a device, such as a GPU. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_DEVICE_COLLECTIVES_H
#define TUTTI_DEVICE_COLLECTIVES_H

#include "collectives.h"
#include "device.h"

TUTTI_C_BEGIN

#if TUTTI_USE_MINOR >= 2
/* since 1.2 */
#define TUTTI_DEVICE_COLLECTIVES_V1 "tutti.device_collectives/1"

/* A rank's device, and how it talks to the other ranks before the devices do.  The host owns it; valid for the call,
 * but `table` and `device` until `leave` returns. */
typedef struct tutti_device_join {
    uint32_t struct_size;
    uint32_t timeout_ms; /* until all ranks are there; 0: for ever */
    int32_t rank;        /* from 0 */
    int32_t size;        /* ranks in all; at least 1 */
    const tutti_device_v1 *table;
    void *device; /* what `open` of the table gave */
    void *ctx;    /* of exchange */
    /* `all` gets what every rank has in `mine`, by rank, in host memory: size * bytes.  All ranks call it equally
     * often.  E_STATE names a rank that does not come. */
    tutti_status (*exchange)(void *ctx, const void *mine, void *all, uint64_t bytes,
                             tutti_error *err);
    void *stream; /* which operations follow and `order` holds back; NULL: the device's own */
} tutti_device_join;

/* What an object of kind "comm" does for ranks whose tensors are on devices; the run's other comm connects their
 * processes.  All ranks call the operations in the same order, on the thread that gives the device its work, and not
 * while that is gathered.  `data` of tutti_parts is device memory here.  An operation begins behind all that `stream` of
 * tutti_device_join was given before, and returns before it is done; memory that it reads or writes is left alone
 * until then.  What other streams do goes on beside it.  E_STATE with a sentence, for good, once an operation has failed
 * or has not come to its end within the time: the plugin has given its work up then, so that nothing on the device waits
 * for it. */
typedef struct tutti_device_collectives_v1 {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    /* Connects the devices of all ranks.  Errors: E_NOTFOUND the engine is not installed; E_UNSUPPORTED it does not
     * serve this device; E_STATE a rank did not come in time.  [control] */
    tutti_status (*join)(void *self, const tutti_device_join *how, tutti_error *err);
    /* Waits for the operations that have begun, or with `failed` gives them up.  Nothing but close follows.
     * [control] */
    void (*leave)(void *self, int32_t failed);
    /* From now on every wait lasts at most so long; 0: for ever.  [step] */
    void (*set_timeout)(void *self, uint32_t timeout_ms);
    /* Part r of `send` goes to rank r; part r of `receive` comes from rank r.  [step] */
    tutti_status (*all_to_all)(void *self, const tutti_parts *send, const tutti_parts *receive,
                               uint64_t *ret_request, tutti_error *err);
    /* Part r is given by rank r, to all, in place.  [step] */
    tutti_status (*all_gather)(void *self, const tutti_parts *parts, uint64_t *ret_request,
                               tutti_error *err);
    /* What that stream is given from now on begins behind the operation.  Does not wait for it.  E_ARG: there is no such
     * request since the last `finish`.  [step] */
    tutti_status (*order)(void *self, uint64_t request, tutti_error *err);
    /* Waits until all operations that have begun are done.  [step] */
    tutti_status (*finish)(void *self, tutti_error *err);
    /* Where this rank is, for messages.  [step] */
    void (*tell)(void *self, const tutti_progress *now);
} tutti_device_collectives_v1;
#endif

TUTTI_C_END
#endif
