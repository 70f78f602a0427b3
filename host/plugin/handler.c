/* handler.c - the functions that manifests declare for run files: finding, loading, calling. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"
#include "base/text.h"
#include "plugin/call/call.h"
#include "plugin/registry_internal.h"

#include <string.h>

/* Whether `part` (of `size` bytes) is the plugin's id or comes after one of its dots. */
static bool means_plugin(const plugin *p, const char *part, size_t size)
{
    const size_t length = p->id ? strlen(p->id) : 0;
    if (length < size || strncmp(p->id + length - size, part, size) != 0)
        return false;
    return length == size || p->id[length - size - 1] == '.';
}

/* The k-th handler of all usable plugins whose name fits, or NULL. */
static const handler *fitting(const registry *r, const char *name, size_t k)
{
    const char *dot = strrchr(name, '.');
    const char *function = dot ? dot + 1 : name;
    for (size_t n = 0; n < r->count; n++) {
        const plugin *p = r->plugins[n];
        if (p->verdict.fault || (dot && !means_plugin(p, name, (size_t)(dot - name))))
            continue;
        for (size_t m = 0; m < p->nkernels; m++) {
            const handler *h = &p->kernels[m];
            if (h->handler && h->name && strcmp(h->name, function) == 0 && k-- == 0)
                return h;
        }
    }
    return NULL;
}

static tutti_status not_found(const registry *r, const char *name, tutti_error *err)
{
    const char *words[MEMBER_ITEMS + 1];
    const char *dot = strrchr(name, '.');
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++) {
        const plugin *p = r->plugins[k];
        for (size_t m = 0; !p->verdict.fault && m < p->nkernels && n < MEMBER_ITEMS; m++)
            if (p->kernels[m].handler && p->kernels[m].name)
                words[n++] = p->kernels[m].name;
    }
    words[n] = NULL;
    return tutti_fail(err, TUTTI_E_NOTFOUND, "no plugin declares a handler %s%s", name,
                      suggest_word(dot ? dot + 1 : name, words).text);
}

tutti_status registry_find_handler(registry *r, const char *name, const handler **ret_handler,
                                   tutti_error *err)
{
    const handler *first = fitting(r, name, 0), *second = fitting(r, name, 1);
    if (!first)
        return not_found(r, name, err);
    if (second)
        return tutti_fail(err, TUTTI_E_EXISTS,
                          "%s is in %s and in %s: write the plugin's whole id before it", name,
                          first->plugin->id, second->plugin->id);
    *ret_handler = first;
    return TUTTI_OK;
}

const handler *registry_handler(const registry *r, size_t k, size_t n)
{
    const plugin *p = r->plugins[k];
    for (size_t m = 0; !p->verdict.fault && m < p->nkernels; m++)
        if (p->kernels[m].handler && n-- == 0)
            return &p->kernels[m];
    return NULL;
}

void handler_describe(const handler *h, handler_info *ret_info)
{
    *ret_info = (handler_info){.name = h->name,
                               .doc = h->doc,
                               .plugin_id = h->plugin->id,
                               .manifest = h->plugin->manifest,
                               .arg_names = h->arg_names,
                               .arg_types = h->arg_types,
                               .nargs = h->nargs,
                               .engine = h->engine,
                               .filter = h->filter,
                               .returns = h->returns,
                               .ctypes = h->ctypes,
                               .result = h->result,
                               .value_path = h->value_path,
                               .value = h->value_path ? &h->value : NULL,
                               .requires_ = h->plugin->declared.requires_};
}

tutti_status handler_load(const handler *h, tutti_error *err)
{
    return registry_load(h->plugin, err);
}

void handler_call(const handler *h, const void *engine, int64_t count, void *const *args,
                  void *ret_result, tutti_error *err)
{
    void *all[CALL_MAX_ARGS];
    uint32_t n = 0;
    if (h->engine)
        all[n++] = &engine;
    if (h->filter)
        all[n++] = &count;
    for (uint32_t k = 0; k < h->nargs; k++)
        all[n++] = args[k];
    if (strcmp(h->returns, "status") == 0)
        all[n++] = &err;
    process_state *before = check_begin(h->plugin);
    call_run_typed(h->cif, h->function, all, ret_result);
    check_end(h->plugin, before, &h->plugin->functions);
}
