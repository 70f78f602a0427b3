/* host_mirror.h - copies on the host of tensors on a device that the host cannot reach. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_CONTEXT_HOST_MIRROR_H
#define HOST_TRAIN_CONTEXT_HOST_MIRROR_H

#include "train/context/run_context.h"
#include "tutti/optimizer.h"
#include "tutti/weights.h"

/* A plugin that reads a tensor there gets a copy on the host, and what it writes to the copy goes back.
 * One copy serves until the device changes the tensor.  Where the host reaches all memory, tensors are
 * handed out as they are. */
enum {
    MIRROR_WEIGHTS,
    MIRROR_BUFFERS,
    MIRROR_GRADIENTS,
    MIRROR_SLOTS,   /* the optimizer's state */
    MIRROR_RESULTS, /* outputs and losses */
    MIRROR_KINDS,
    MIRROR_ALL = (1u << MIRROR_KINDS) - 1
};

/* The copy of one tensor. */
typedef struct host_mirror {
    void *device; /* the tensor's memory; NULL: nothing is mirrored */
    unsigned char
        *host;         /* what the plugin sees, then as it was fetched: `capacity` bytes each */
    uint64_t capacity; /* bytes */
    uint64_t bytes;    /* of the tensor */
    uint64_t generation; /* of its kind, when fetched */
    size_t reader;       /* number of who opened it last, from 1 */
    int what;            /* MIRROR_* */
    bool open;           /* handed out in the event under way */
} host_mirror;

/* All copies of a run. */
typedef struct host_mirrors {
    run_context *run;
    const bool *sharded; /* others' weights are not here: nobody is shown any; may be NULL */
    /* Called before gradients are fetched, for what is still to be done to them there. */
    tutti_status (*before_gradients)(void *ctx, tutti_error *err);
    void *before_gradients_ctx;
    host_mirror *weights; /* by number of the weight */
    host_mirror *grads;
    host_mirror *slots; /* TUTTI_OPTIMIZER_MAX_SLOTS of each weight */
    host_mirror **open;
    size_t nopen, capacity;
    struct mirror_reader *readers;
    size_t nreaders;
    const char
        *who; /* reads, where the host does not call a plugin; "": nobody to be told of */
    uint64_t version; /* of the net that `weights` fit */
    uint64_t generation[MIRROR_KINDS];
    uint32_t count; /* of weights */
} host_mirrors;

/* Makes *tensor, if it lies on the run's device, its copy on the host through `v`.  [step] */
TUTTI_NODISCARD tutti_status mirror_open(host_mirrors *m, host_mirror *v, int what,
                                         tutti_tensor *tensor, tutti_error *err);
void mirror_fini(host_mirror *v);
/* Before weights are shown.  Errors: E_STATE others' are not here.  [step] */
TUTTI_NODISCARD tutti_status mirrors_check_weights(const host_mirrors *m, tutti_error *err);
/* As mirror_open, for weight k, for a slot of it (data NULL stays so), and, where mirrors_check_weights allows it, for a
 * weight's data as tutti.module/1 gives it. */
TUTTI_NODISCARD tutti_status mirrors_weight(host_mirrors *m, uint32_t k, tutti_weight *w,
                                            tutti_error *err);
TUTTI_NODISCARD tutti_status mirrors_slot(host_mirrors *m, uint32_t k, uint32_t slot,
                                          tutti_tensor *tensor, tutti_error *err);
TUTTI_NODISCARD tutti_status mirrors_module_weight(host_mirrors *m, tutti_tensor *tensor,
                                                   tutti_error *err);
/* tutti.module/1 has written a weight. */
void mirrors_module_wrote(host_mirrors *m);
/* Writes back what plugins have written to open copies; before the device works, and at the `end` of
 * events, when copies are closed.  [step] */
TUTTI_NODISCARD tutti_status mirrors_flush(host_mirrors *m, bool end, tutti_error *err);
/* The device changes tensors of these kinds, 1 << MIRROR_* each: their copies are stale. */
void mirrors_invalidate(host_mirrors *m, unsigned kinds);
void mirrors_fini(host_mirrors *m);

#endif
