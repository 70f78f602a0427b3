/* instance.c - opened objects, every call into them marked for the crash report. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_internal.h"

#include <stdlib.h>
#include <string.h>

struct instance {
    const object *object;
    char *name;
    tutti_params *params;
    void *self;
    service_fn services;
    void *ctx;
    tutti_host host; /* as this instance sees it; host.ctx is the instance */
    bool open;       /* close has not been called */
    bool alive;      /* post_close is still to come */
};

static const void *host_query(void *ctx, const char *interface_id)
{
    instance *i = ctx;
    return i->services ? i->services(i->ctx, i, interface_id) : NULL;
}

static breadcrumb enter(const instance *i, const char *call)
{
    const breadcrumb outer = crash_breadcrumb;
    crash_breadcrumb = (breadcrumb){i->object->info.plugin_id, i->name, call, NULL, 0};
    return outer;
}

tutti_status instance_open(const object *o, const char *name, tutti_params *params,
                           service_fn services, void *ctx, instance **ret_instance,
                           tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status s = module_load(o->bundle, err);
    if (s)
        return s;
    instance *i = calloc(1, sizeof *i);
    if (!i || !(i->name = strdup(name))) {
        free(i);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to open it", name);
    }
    i->object = o;
    i->services = services;
    i->ctx = ctx;
    i->host = (tutti_host){sizeof i->host, TUTTI_ABI, i, host_query};
    const breadcrumb outer = enter(i, "open");
    s = o->calls->open(&i->host, params, &i->self, &why);
    crash_breadcrumb = outer;
    if (s) {
        s = tutti_fail(err, s, "%s %s cannot be opened: %s", o->info.kind, name,
                       why.status ? why.text : tutti_status_name(s));
        free(i->name);
        free(i);
        return s;
    }
    i->params = params;
    i->open = i->alive = true;
    *ret_instance = i;
    return TUTTI_OK;
}

/* Runs one of the two last calls; errors are headed by the object. */
static tutti_status last_call(instance *i, const char *call,
                              tutti_status (*fn)(void *self, tutti_error *err),
                              tutti_error *err)
{
    tutti_error why = TUTTI_ERROR_INIT;
    const breadcrumb outer = enter(i, call);
    const tutti_status s = fn(i->self, &why);
    crash_breadcrumb = outer;
    return s ? tutti_fail(err, s, "%s: %s failed: %s", i->name, call,
                          why.status ? why.text : tutti_status_name(s))
             : TUTTI_OK;
}

tutti_status instance_close(instance *i, tutti_error *err)
{
    if (!i->open)
        return TUTTI_OK;
    i->open = false;
    const tutti_status s = last_call(i, "close", i->object->calls->close, err);
    if (s || !i->object->calls->post_close)
        i->alive = false; /* the plugin has freed itself */
    return s;
}

tutti_status instance_post_close(instance *i, tutti_error *err)
{
    if (i->open || !i->alive)
        return TUTTI_OK;
    i->alive = false;
    return last_call(i, "post_close", i->object->calls->post_close, err);
}

void instance_free(instance *i)
{
    tutti_error ignored = TUTTI_ERROR_INIT;
    if (!i)
        return;
    (void)instance_close(i, &ignored);
    (void)instance_post_close(i, &ignored);
    params_free(i->params);
    free(i->name);
    free(i);
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

const tutti_calls *instance_calls(const instance *i)
{
    return i->object->calls;
}

void *instance_self(const instance *i)
{
    return i->self;
}

const void *instance_query(instance *i, const char *interface_id)
{
    const void *table = NULL;
    if (i->alive && i->object->calls->query)
        table = i->object->calls->query(i->self, interface_id);
    uint32_t size = 0;
    if (table)
        memcpy(&size, table, sizeof size);
    return size >= sizeof(uint32_t) ? table : NULL;
}
