/* plugin.c - load_checkpoint: a file, whole or its weights alone, at an event of the user's choice. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* load */
#include "../callback.h"
#include "tutti/checkpoint.h"

typedef struct load_checkpoint {
    const tutti_checkpoint_v1 *checkpoint;
    const char *path;
    const char *event; /* its name */
    tutti_load how;
    const char *ignored[]; /* how.ignore_keys */
} load_checkpoint;

static tutti_status loading_open(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    const tutti_param *ignored = tutti_param_find(params, "ignore_keys");
    const tutti_checkpoint_v1 *checkpoint =
        callback_service(host, "load_checkpoint", TUTTI_CHECKPOINT_V1, err);
    if (!checkpoint)
        return TUTTI_E_UNSUPPORTED;
    load_checkpoint *l = calloc(1, sizeof *l + (ignored->count + 1) * sizeof *l->ignored);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "load_checkpoint: no memory");
    l->checkpoint = checkpoint;
    l->path = tutti_param_str(params, "load_path");
    l->event = tutti_param_str(params, "event");
    for (uint64_t k = 0; k < ignored->count; k++)
        l->ignored[k] = ignored->items[k]->s;
    l->how = (tutti_load){.struct_size = sizeof l->how,
                          .weights_only = tutti_param_i64(params, "load_weights_only") != 0,
                          .strict = tutti_param_i64(params, "strict_model_weights") != 0,
                          .ignore_keys = l->ignored};
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status loading_check(const tutti_params *params, tutti_error *err)
{
    const char *event = tutti_param_str(params, "event");
    const int early = strcmp(event, "before_load") == 0 || strcmp(event, "after_load") == 0;
    return early || tutti_param_i64(params, "load_weights_only")
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_ARG,
                            "load_checkpoint: at %s the run has begun, so that weights alone "
                            "can be loaded: set load_weights_only",
                            event);
}

static tutti_status loading_event(void *self, const tutti_event *event, tutti_error *err)
{
    const load_checkpoint *l = self;
    return strcmp(event->name, l->event) == 0
               ? l->checkpoint->load(l->checkpoint->ctx, l->path, &l->how, err)
               : TUTTI_OK;
}

CALLBACK_PLUGIN_CHECKED("load_checkpoint", loading_check, .open = loading_open,
                        .run_event = loading_event, .close = callback_close);
