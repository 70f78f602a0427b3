/* plugin.c - oom_observer: what was to lie in memory when memory could not be had. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.plan/1, tutti.memory_observer/1 */
#include "../callback.h"
#include "../plan_files.h"
#include "tutti/log.h"
#include "tutti/memory_observer.h"
#include "tutti/state.h"

#include <stdio.h>

typedef struct oom_observer {
    plan_files files;
    const tutti_state_v1 *state;
    const tutti_log_v1 *log; /* may be NULL */
    uint32_t count;          /* of failures */
} oom_observer;

static tutti_status oom_observer_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    oom_observer o = {.state = callback_service(host, "oom_observer", TUTTI_STATE_V1, err),
                      .log = host->query(host->ctx, TUTTI_LOG_V1)};
    const tutti_status s = o.state
                               ? plan_files_init(&o.files, "oom_observer", host, params, err)
                               : TUTTI_E_UNSUPPORTED;
    oom_observer *self = s ? NULL : malloc(sizeof *self);
    if (!self)
        return s ? s : tutti_fail(err, TUTTI_E_NOMEM, "oom_observer: no memory");
    *self = o;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status oom_observer_check(const tutti_params *params, tutti_error *err)
{
    return plan_files_check("oom_observer", params, err);
}

static tutti_status oom_observer_event(void *self, const tutti_event *event, tutti_error *err)
{
    return plan_files_claim(&((oom_observer *)self)->files, event->time, err); /* AFTER_LOAD */
}

/* The failure as members of JSON; the sentence is cut where there is no room. */
static void write_members(const tutti_memory_failure *f, char *to, size_t size)
{
    size_t n = (size_t)snprintf(to, size, "\"text\": \"");
    for (const char *c = f->text; *c && n + 300 < size; c++) {
        if (*c == '"' || *c == '\\')
            to[n++] = '\\';
        to[n++] = (unsigned char)*c < 0x20 ? ' ' : *c;
    }
    n += (size_t)snprintf(to + n, size - n,
                          "\", \"planned\": %s, \"device\": \"%.60s\", \"wanted_bytes\": ",
                          f->planned ? "true" : "false", f->device);
    if (f->wanted_bytes)
        n += (size_t)snprintf(to + n, size - n, "%llu", (unsigned long long)f->wanted_bytes);
    else
        n += (size_t)snprintf(to + n, size - n, "null");
    if (f->available_bytes != UINT64_MAX)
        (void)snprintf(to + n, size - n, ", \"available_bytes\": %llu, ",
                       (unsigned long long)f->available_bytes);
    else
        (void)snprintf(to + n, size - n, ", \"available_bytes\": null, ");
}

static void tell_written(const oom_observer *o)
{
    char text[PLAN_FILES_PATH + 100];
    (void)snprintf(text, sizeof text, "memory is out; %s has what was to lie in it",
                   o->files.folder);
    if (o->log)
        o->log->write(o->log->ctx, TUTTI_LOG_WARNING, text);
}

/* The first failure has upstream's names, later ones their number in them: ends of both.  A run that goes on begins behind
 * what it has written: a failure that ended it is not in its checkpoint. */
static void next_names(oom_observer *o, char json[48], char picture[48])
{
    do {
        char number[16] = "";
        if (o->count++)
            (void)snprintf(number, sizeof number, ".%u", o->count);
        (void)snprintf(json, 48, "%s_snapshot.json", number);
        (void)snprintf(picture, 48, "%s_segment_plot.html", number);
    } while (o->files.goes_on && plan_files_exists(&o->files, o->state->time, json));
}

static tutti_status oom_observer_failed(void *self, const tutti_memory_failure *failure,
                                        tutti_error *err)
{
    oom_observer *o = self;
    char json[48], picture[48], members[2048];
    tutti_plan_facts facts = {.struct_size = sizeof facts};
    tutti_error none = TUTTI_ERROR_INIT;
    next_names(o, json, picture);
    const bool known = o->files.plan->describe(o->files.plan->ctx, &facts, &none) == TUTTI_OK;
    write_members(failure, members, sizeof members);
    tutti_status s = plan_files_json(&o->files, o->state->time, json, members, &facts, err);
    if (!s && known)
        s = plan_files_picture(&o->files, o->state->time, picture, &facts, err);
    if (!s)
        tell_written(o);
    return s;
}

static const void *oom_observer_query(void *self, const char *interface_id)
{
    static const tutti_memory_observer_v1 table = {.struct_size = sizeof table,
                                                   .out_of_memory = oom_observer_failed};
    (void)self;
    return strcmp(interface_id, TUTTI_MEMORY_OBSERVER_V1) == 0 ? &table : NULL;
}

CALLBACK_PLUGIN_CHECKED("oom_observer", oom_observer_check, .open = oom_observer_open,
                        .run_event = oom_observer_event, .close = callback_close,
                        .query = oom_observer_query);
