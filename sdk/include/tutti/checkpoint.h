/* checkpoint.h - tutti.checkpoint/1: saving the run, and loading it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_CHECKPOINT_H
#define TUTTI_CHECKPOINT_H

#include "base.h"

TUTTI_C_BEGIN

#define TUTTI_CHECKPOINT_V1 "tutti.checkpoint/1"

#if TUTTI_USE_MINOR >= 1
/* since 1.1 */
enum {
    TUTTI_SAVE_WEIGHTS =
        1, /* weights alone: no run goes on from the file, others begin with it */
    TUTTI_SAVE_BEHIND = 2 /* as save_behind does */
};

/* What is saved of a run.  since 1.1 */
typedef struct tutti_save_part {
    uint32_t struct_size;
    uint32_t flags; /* TUTTI_SAVE_* */
    /* Shell patterns of names that are left out, "optimizer" or "model.head.*", as load_ignore_keys of run files has
     * them; a NULL ends them; NULL: none. */
    const char *const *ignore_keys;
} tutti_save_part;

/* What is taken of a file.  since 1.1 */
typedef struct tutti_load {
    uint32_t struct_size;
    uint32_t
        weights_only; /* 0: also the optimizer's state, the clocks, and what objects keep */
    uint32_t
        strict; /* 0: weights that the file lacks, or has in another shape, stay as they are */
    uint32_t reserved; /* write 0 */
    const char *const *
        ignore_keys; /* patterns of names that are not taken, "model.head"; a NULL ends them.  NULL: none */
} tutti_load;
#endif

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
#if TUTTI_USE_MINOR >= 1
    /* As save and save_behind, of what `part` says.  since 1.1  [step] */
    tutti_status (*save_part)(void *ctx, const char *path, const tutti_save_part *part,
                              tutti_error *err);
    /* since 1.1: takes what the file at `path`, or at an address such as "s3://bucket/name", holds, as `how` says, as "load_weights" of run files or "--resume" do, and
     * says in messages what was not taken.  All processes of a run call it.  [step]
     * Errors: E_STATE a microbatch is under way, or, for more than weights, the run has begun (it has once after_load is over);
     * those of reading the file, with the run as it was: E_IO, E_FORMAT, E_NOTFOUND, E_SHAPE. */
    tutti_status (*load)(void *ctx, const char *path, const tutti_load *how, tutti_error *err);
#endif
#if TUTTI_USE_MINOR >= 2
    /* since 1.2: before a file or a folder at `path` is made, or written over: it is this run's own, which is noted in
     * run_folder, for processes that take the run up.  Only a run that trains notes; others get TUTTI_OK.  A note that
     * cannot be written is a warning of the host's.  [step]
     * Errors: E_RANGE; E_ARG a path with a line break. */
    tutti_status (*own)(void *ctx, const char *path, tutti_error *err);
    /* since 1.2: 1 where an earlier process of this run has called `own` with that path, and this one takes up what it began
     * ("--resume auto"), from a checkpoint or, since there is none, anew: what is at `path` may be of batches that are
     * trained again.  Else 0: it is another's, or of a run that the user leaves.  From init on.  [step] */
    int32_t (*owns)(void *ctx, const char *path);
#endif
} tutti_checkpoint_v1;

#if TUTTI_USE_MINOR >= 2
/* since 1.2: what `owns` says; 0 of an older host.  [step] */
static inline int tutti_run_owns(const tutti_checkpoint_v1 *c, const char *path)
{
    return TUTTI_HAS(c, tutti_checkpoint_v1, owns) && c->owns && c->owns(c->ctx, path);
}

/* since 1.2: calls `own`; an older host notes nothing.  [step] */
static inline tutti_status tutti_run_own(const tutti_checkpoint_v1 *c, const char *path,
                                         tutti_error *err)
{
    return TUTTI_HAS(c, tutti_checkpoint_v1, own) && c->own ? c->own(c->ctx, path, err)
                                                            : TUTTI_OK;
}
#endif

TUTTI_C_END
#endif
