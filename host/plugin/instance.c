/* instance.c - one opened object: its host, its table, its end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "plugin/call/call.h"
#include "plugin/plugin.h"
#include "plugin/registry_internal.h"
#include "plugin/when.h"
#include "tutti/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_OPEN, OPEN, CLOSED, DONE };

struct instance {
    const object *object;
    char *name;
    tutti_params *params;
    service_fn services;
    void *services_ctx;
    tutti_host host;
    tutti_kernel_v1 kernels;
    void *self;
    process_account *account;
    int32_t *events;
    size_t nevents;
    int state;
};

breadcrumb instance_breadcrumb(const instance *i, const char *call, bool whole)
{
    const breadcrumb outer = crash_breadcrumb;
    crash_breadcrumb = (breadcrumb){.plugin = i->object->info.plugin_id,
                                    .object = i->name,
                                    .call = call,
                                    .event = outer.event,
                                    .step = outer.step,
                                    .at = outer.at,
                                    .whole = whole || outer.whole};
    return outer;
}

static instance_call enter(const instance *i, const char *call, bool whole)
{
    if (!i)
        return (instance_call){.instance = NULL};
    process_state *before = check_begin(i->object->plugin);
    crash_beat();
    const instance_call c = {i, instance_breadcrumb(i, call, whole), before};
    const registry_probe *probe = i->object->plugin->registry->probe;
    if (probe && probe->call)
        probe->call(probe->ctx, i, call);
    return c;
}

instance_call instance_enter(const instance *i, const char *call)
{
    return enter(i, call, false);
}

instance_call instance_enter_whole(const instance *i, const char *call)
{
    return enter(i, call, true);
}

void instance_leave(instance_call *c)
{
    if (!c->instance)
        return;
    check_end(c->instance->object->plugin, c->before, c->instance->account);
    crash_breadcrumb = c->outer;
    c->instance = NULL;
}

tutti_status instance_find_kernel(const instance *i, const char *name, uint32_t *ret_kernel,
                                  tutti_error *err)
{
    const plugin *p = i->object->plugin;
    for (size_t k = 0; k < p->nkernels; k++) {
        if (p->kernels[k].handler || strcmp(p->kernels[k].name, name) != 0)
            continue;
        *ret_kernel = (uint32_t)k;
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: declares no kernel called \"%s\"",
                      p->manifest, name);
}

static tutti_status kernel_find(void *ctx, const char *name, uint32_t *ret_kernel,
                                tutti_error *err)
{
    return instance_find_kernel(ctx, name, ret_kernel, err);
}

bool instance_kernel(const instance *i, uint32_t number, kernel_info *ret_info)
{
    const plugin *p = i->object->plugin;
    if (number >= p->nkernels || p->kernels[number].handler)
        return false;
    const kernel *k = &p->kernels[number];
    *ret_info = (kernel_info){.name = k->name,
                              .plugin_id = p->id,
                              .folder = p->folder,
                              .entry = k->entry,
                              .file = k->file,
                              .arg_types = k->arg_types,
                              .nargs = k->nargs,
                              .grid_arg = k->grid_arg,
                              .grid = k->grid,
                              .block = k->block,
                              .shared = k->shared};
    return true;
}

uint32_t instance_kernel_count(const instance *i)
{
    return (uint32_t)i->object->plugin->nkernels;
}

void instance_run_kernel(const instance *i, uint32_t number, void *const *args)
{
    const kernel *k = &i->object->plugin->kernels[number];
    call_run(k->cif, k->function, args);
    crash_keep_locale();
}

tutti_status instance_read_code(const instance *i, uint32_t number, void **ret_data,
                                uint64_t *ret_bytes, tutti_error *err)
{
    const plugin *p = i->object->plugin;
    const code_file *f = number < p->nkernels ? p->kernels[number].code : NULL;
    *ret_data = NULL;
    *ret_bytes = 0;
    return f ? code_read(p, f, ret_data, ret_bytes, err) : TUTTI_OK;
}

static tutti_status kernel_launch(void *ctx, uint32_t number, void *const *args, uint32_t nargs,
                                  tutti_error *err)
{
    const instance *i = ctx;
    const plugin *p = i->object->plugin;
    if (number >= p->nkernels || p->kernels[number].handler)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: there is no kernel %u", p->id, number);
    const kernel *k = &p->kernels[number];
    if (nargs != k->nargs)
        return tutti_fail(err, TUTTI_E_ARG, "%s: kernel %s takes %u arguments, not %u", p->id,
                          k->name, k->nargs, nargs);
    call_run(k->cif, k->function, args);
    return TUTTI_OK;
}

/* The host's services come from above; kernels of the manifest are called on the CPU here unless
 * the services have a table of their own. */
static const void *host_query(void *ctx, const char *interface_id)
{
    instance *i = ctx;
    const void *table = i->services ? i->services(i->services_ctx, i, interface_id) : NULL;
    if (!table && strcmp(interface_id, TUTTI_KERNEL_V1) == 0 && i->object->plugin->nkernels)
        table = &i->kernels;
    const registry_probe *probe = i->object->plugin->registry->probe;
    return probe && probe->service ? probe->service(probe->ctx, i, interface_id, table) : table;
}

static tutti_status check_requires(instance *i, tutti_error *err)
{
    const plugin *p = i->object->plugin;
    for (size_t k = 0; p->declared.requires_ && k < json_count(p->declared.requires_); k++) {
        const char *id = json_string(json_at(p->declared.requires_, k));
        if (!host_query(i, id))
            return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                              "%s: requires %s, which this host does not offer here",
                              p->manifest, id);
    }
    return TUTTI_OK;
}

/* What a plugin says of a status, behind its name. */
static const char *said(const tutti_error *cause, tutti_status status, const char *name)
{
    return *cause->text ? text_after_name(cause->text, name) : tutti_status_name(status);
}

static tutti_status call_open(instance *i, tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    void *self = NULL;
    const bool maps = strcmp(i->object->info.kind, TUTTI_KIND_DATASET) == 0;
    instance_call c = instance_enter(i, "open");
    if (maps)
        crash_refuge_enter();
    tutti_status status = i->object->calls.open(&i->host, i->params, &self, &cause);
    const bool lost = maps && crash_refuge_leave();
    instance_leave(&c);
    if (!status) {
        i->self = self;
        i->state = OPEN;
    }
    if (lost) {
        cause = (tutti_error)TUTTI_ERROR_INIT;
        status = crash_lost_file(&cause);
    }
    if (status)
        return tutti_fail(err, status < 0 ? status : TUTTI_E_FAIL, "%s %s cannot be opened: %s",
                          i->object->info.kind, i->name, said(&cause, status, i->name));
    return TUTTI_OK;
}

tutti_status object_check(const object *o, const char *name, const tutti_params *params,
                          tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status loaded = registry_load(o->plugin, err);
    if (loaded || !o->check)
        return loaded;
    const breadcrumb outer = crash_breadcrumb;
    crash_breadcrumb =
        (breadcrumb){.plugin = o->info.plugin_id, .object = name, .call = "check"};
    const tutti_status status = o->check(params, &cause);
    crash_leave(&outer);
    if (!status)
        return TUTTI_OK;
    return tutti_fail(err, status < 0 ? status : TUTTI_E_FAIL, "%s",
                      *cause.text ? cause.text : tutti_status_name(status));
}

static tutti_status end(instance *i, const char *call,
                        tutti_status (*function)(void *, tutti_error *), tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    instance_call c = instance_enter(i, call);
    const tutti_status status = function(i->self, &cause);
    instance_leave(&c);
    if (!status)
        return TUTTI_OK;
    return tutti_fail(err, status < 0 ? status : TUTTI_E_FAIL, "%s %s: %s: %s",
                      i->object->info.kind, i->name, call, said(&cause, status, i->name));
}

tutti_status instance_close(instance *i, tutti_error *err)
{
    if (i->state != OPEN)
        return tutti_fail(err, TUTTI_E_STATE, "%s %s: is not open", i->object->info.kind,
                          i->name);
    const tutti_calls *c = &i->object->calls;
    const tutti_status status = end(i, "close", c->close, err);
    i->state = c->post_close && !status ? CLOSED : DONE;
    return status;
}

tutti_status instance_post_close(instance *i, tutti_error *err)
{
    if (i->state == DONE)
        return TUTTI_OK;
    if (i->state != CLOSED)
        return tutti_fail(err, TUTTI_E_STATE, "%s %s: is not closed", i->object->info.kind,
                          i->name);
    i->state = DONE;
    return end(i, "post_close", i->object->calls.post_close, err);
}

/* What is left of the end, whatever it says. */
static void close_both(instance *i)
{
    if (i->state == OPEN)
        (void)instance_close(i, NULL);
    if (i->state == CLOSED)
        (void)instance_post_close(i, NULL);
}

/* The parts of one that is not open; NULL is allowed. */
static void release(instance *i)
{
    if (!i)
        return;
    free(i->events);
    free(i->account);
    free(i->name);
    free(i);
}

/* With the events that its settings leave it.  NULL: no memory. */
static instance *make(const object *o, const char *name, tutti_params *params)
{
    instance *i = calloc(1, sizeof *i);
    if (!i)
        return NULL;
    i->object = o;
    i->params = params;
    i->name = strdup(name);
    i->account = calloc(1, sizeof *i->account);
    i->events = calloc(o->info.nevents + 1, sizeof *i->events);
    if (!i->name || !i->account || !i->events) {
        release(i);
        return NULL;
    }
    for (size_t k = 0; k < o->info.nevents; k++)
        if (when_holds(o->events[k], params))
            i->events[i->nevents++] = o->event_ids[k];
    return i;
}

tutti_status instance_open(const object *o, const char *name, tutti_params *params,
                           service_fn services, void *ctx, instance **ret_instance,
                           tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    tutti_status status = registry_load(o->plugin, err);
    if (status)
        return status;
    status = object_check(o, name, params, &cause);
    if (status)
        return tutti_fail(err, status, "%s %s cannot be opened: %s", o->info.kind, name,
                          text_after_name(cause.text, name));
    instance *i = make(o, name, params);
    if (!i)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to open it", name);
    i->services = services;
    i->services_ctx = ctx;
    i->host = (tutti_host){.struct_size = (uint32_t)sizeof i->host,
                           .abi = TUTTI_ABI,
                           .ctx = i,
                           .query = host_query};
    i->kernels = (tutti_kernel_v1){.struct_size = (uint32_t)sizeof i->kernels,
                                   .ctx = i,
                                   .find = kernel_find,
                                   .launch = kernel_launch};
    status = check_requires(i, err);
    if (!status)
        status = call_open(i, err);
    if (!status)
        status = tables_check(i, i->object, i->name, instance_query, err);
    if (status) {
        close_both(i);
        release(i);
        return status;
    }
    *ret_instance = i;
    return TUTTI_OK;
}

void instance_free(instance *i)
{
    if (!i)
        return;
    close_both(i);
    params_free(i->params);
    release(i);
}

const char *instance_name(const instance *i)
{
    return i->name;
}

const object *instance_object(const instance *i)
{
    return i->object;
}

const tutti_params *instance_params(const instance *i)
{
    return i->params;
}

const int32_t *instance_events(const instance *i, size_t *ret_count)
{
    *ret_count = i->nevents;
    return i->object->event_names ? i->events : NULL;
}

bool object_hears(const object *o, size_t k, const tutti_params *params)
{
    return k < o->info.nevents && when_holds(o->events[k], params);
}

bool instance_left_out(const instance *i, size_t k, int32_t *ret_event, char **ret_when)
{
    const object *o = i->object;
    for (size_t n = 0; n < o->info.nevents; n++) {
        if (when_holds(o->events[n], i->params) || k--)
            continue;
        *ret_event = o->event_ids[n];
        *ret_when = when_text(o->events[n]);
        return true;
    }
    return false;
}

const tutti_calls *instance_calls(const instance *i)
{
    return &i->object->calls;
}

void *instance_self(const instance *i)
{
    return i->self;
}

const void *instance_query(instance *i, const char *interface_id)
{
    if (i->state != OPEN || !i->object->calls.query)
        return NULL;
    instance_call c = instance_enter(i, "query");
    const volatile uint32_t *table = i->object->calls.query(i->self, interface_id);
    if (table)
        (void)*table; /* every table begins with its struct_size: a wild pointer is this call's crash */
    instance_leave(&c);
    return (const void *)(uintptr_t)table;
}
