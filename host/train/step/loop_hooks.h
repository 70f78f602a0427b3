/* loop_hooks.h - what who runs a trainer wants to be asked, or told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_STEP_LOOP_HOOKS_H
#define HOST_TRAIN_STEP_LOOP_HOOKS_H

#include "train/data/data_source.h"

typedef struct trainer trainer; /* step/trainer_state.h */

/* Who wants to know that the run is complete. */
typedef struct begin_hook {
    void (*call)(void *ctx, const trainer *t);
    void *ctx;
} begin_hook;

/* Who shows what a run has come to on its device. */
typedef struct fact_hook {
    void (*call)(void *ctx, const char *key, const char *text);
    void *ctx;
} fact_hook;

/* What a loop other than fit's has set: trainer/training_loop.h. */
typedef struct loop_hooks {
    const void *(*answer)(void *ctx, const char *interface_id);
    tutti_status (*save)(void *ctx, char **ret_text, tutti_error *err);
    tutti_status (*load)(void *ctx, const char *path, const char *text, tutti_error *err);
    void *ctx;
    data_source *data; /* that it loads; NULL: the training data */
    begin_hook begun;  /* of any loop */
    fact_hook facts;   /* likewise */
} loop_hooks;

#endif
