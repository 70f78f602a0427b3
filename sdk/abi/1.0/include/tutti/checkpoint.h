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
    /* As save, but returns once everything is copied: a thread of the host's writes the file while the run goes on.
     * There is one copy at most, so that a save under way is waited for first.  A file that cannot be written ends the
     * run as a failing save does: at the next event, or in a call of these two.  The end of the run waits for the
     * file.  Errors: also those of the save before.  [step] */
    tutti_status (*save_behind)(void *ctx, const char *path, tutti_error *err);
    /* What save_behind has begun: *ret_whole is 1 once the file is in place, and where nothing was begun.  With
     * `wait` not 0 waits for it; then all processes of a run call it, and E_IO says why it could not be
     * written.  [step] */
    tutti_status (*settle)(void *ctx, int32_t wait, int32_t *ret_whole, tutti_error *err);
} tutti_checkpoint_v1;

TUTTI_C_END
#endif
