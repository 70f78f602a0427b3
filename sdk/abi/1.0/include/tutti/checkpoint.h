/* checkpoint.h - tutti.checkpoint/1: saving the run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CHECKPOINT_H
#define TUTTI_CHECKPOINT_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_CHECKPOINT_V1 "tutti.checkpoint/1"

typedef struct tutti_checkpoint_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Whether some saver will write a checkpoint at `event`.  [step] */
    int32_t (*due)(void *ctx, int32_t event);
    /* Writes a checkpoint of the whole run to `path` (made with its folders): a temporary file,
     * synced, then renamed, so that a failure leaves what was there.  [step] */
    tutti_status (*save)(void *ctx, const char *path, tutti_error *err);
    const char *(*run_name)(void *ctx);   /* never NULL; [any] */
    const char *(*run_folder)(void *ctx); /* where this run's files go; absolute; [any] */
    /* Until the run's end no other run writes to
     * `folder`, which is made; may be asked for again.  Only a run that trains takes folders, others
     * get TUTTI_OK.  E_STATE names the process that has it.  [control] */
    tutti_status (*claim)(void *ctx, const char *folder, tutti_error *err);
} tutti_checkpoint_v1;

TUTTI_C_END
#endif
