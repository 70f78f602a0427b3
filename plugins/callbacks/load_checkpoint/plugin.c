/* plugin.c - load_checkpoint: a file, whole or its weights alone, at an event of the user's choice. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* load */
#include "../callback.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/state.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct load_checkpoint {
    const tutti_checkpoint_v1 *checkpoint;
    const tutti_state_v1 *state;
    const tutti_log_v1 *log; /* may be NULL */
    const char *path;
    const char *event; /* its name */
    tutti_load how;
    const char *ignored[]; /* how.ignore_keys */
} load_checkpoint;

static tutti_status load_checkpoint_open(const tutti_host *host, const tutti_params *params,
                                         void **ret_self, tutti_error *err)
{
    const tutti_param *ignored = tutti_param_find(params, "ignore_keys");
    const tutti_checkpoint_v1 *checkpoint =
        callback_service(host, "load_checkpoint", TUTTI_CHECKPOINT_V1, err);
    const tutti_state_v1 *state =
        callback_service(host, "load_checkpoint", TUTTI_STATE_V1, err);
    if (!checkpoint || !state)
        return TUTTI_E_UNSUPPORTED;
    load_checkpoint *l = calloc(1, sizeof *l + (ignored->count + 1) * sizeof *l->ignored);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "load_checkpoint: no memory");
    l->checkpoint = checkpoint;
    l->state = state;
    l->log = host->query(host->ctx, TUTTI_LOG_V1);
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

static tutti_status load_checkpoint_check(const tutti_params *params, tutti_error *err)
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

/* Events between a checkpoint that the run goes on from and its first batch: the file would take the place of what the
 * checkpoint has just given. */
static bool follows_resume(int32_t event)
{
    return event == TUTTI_EVENT_AFTER_LOAD || event == TUTTI_EVENT_FIT_START;
}

static void tell_left(const load_checkpoint *l)
{
    char text[1200];
    (void)snprintf(text, sizeof text,
                   "%s is not loaded at %s: the run goes on after batch %lld", l->path,
                   l->event, (long long)l->state->time->batch);
    if (l->log)
        l->log->write(l->log->ctx, TUTTI_LOG_INFO, text);
}

static tutti_status load_checkpoint_event(void *self, const tutti_event *event,
                                          tutti_error *err)
{
    const load_checkpoint *l = self;
    if (strcmp(event->name, l->event) != 0)
        return TUTTI_OK;
    if (follows_resume(event->id) && l->state->time->batch > 0) {
        tell_left(l);
        return TUTTI_OK;
    }
    return l->checkpoint->load(l->checkpoint->ctx, l->path, &l->how, err);
}

CALLBACK_PLUGIN_CHECKED("load_checkpoint", load_checkpoint_check, .open = load_checkpoint_open,
                        .run_event = load_checkpoint_event, .close = callback_close);
