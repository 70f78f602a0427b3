/* old_note.c - a callback as one wrote it for the host's first release: its manifest and its headers are of then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/tutti.h"

#include <stdlib.h>

typedef struct note {
    int64_t batches;
} note;

static tutti_status old_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    note *n = calloc(1, sizeof *n);
    (void)host;
    if (!n)
        return tutti_fail(err, TUTTI_E_NOMEM, "old_note: no memory");
    n->batches = -tutti_param_i64(params, "from");
    *ret_self = n;
    return TUTTI_OK;
}

static tutti_status old_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status old_run_event(void *self, const tutti_event *event, tutti_error *err)
{
    note *n = self;
    if (event->id != TUTTI_EVENT_BATCH_END || ++n->batches > 0)
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_FAIL, "old_note: batches were not counted");
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = old_open,
                                  .run_event = old_run_event,
                                  .close = old_close};
static const tutti_object old_note = TUTTI_OBJECT_INIT("old_note", TUTTI_KIND_CALLBACK, &calls);
static const tutti_object *const objects[] = {&old_note, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.old.note", "1.0.0", objects);

const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
