/* load.c - loading a plugin at its first use, unless a plugin that is loaded forbids it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

static bool names(const json_node *list, const char *id)
{
    for (size_t m = 0; list && m < json_count(list); m++)
        if (strcmp(json_string(json_at(list, m)), id) == 0)
            return true;
    return false;
}

static bool conflict(const plugin *p, const plugin *q)
{
    return p != q &&
           (names(p->declared.conflicts, q->id) || names(q->declared.conflicts, p->id));
}

bool registry_conflict(const object *a, const object *b)
{
    return conflict(a->plugin, b->plugin);
}

tutti_status registry_load(plugin *p, tutti_error *err)
{
    if (p->module)
        return TUTTI_OK;
    if (p->verdict.fault && !p->verdict.shadowed)
        return tutti_fail(err, p->verdict.status, "%s", p->verdict.fault);
    for (size_t k = 0; k < p->registry->count; k++) {
        const plugin *other = p->registry->plugins[k];
        if (other->module && conflict(p, other))
            return tutti_fail(err, TUTTI_E_STATE, "%s: conflicts with %s, which is used",
                              p->manifest, other->id);
    }
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status status = module_load(p, &cause);
    if (!status)
        return TUTTI_OK;
    p->verdict.shadowed = 0;
    free(p->verdict.fault);
    p->verdict.fault = NULL;
    plugin_fault(p, TUTTI_LOG_WARNING, status, cause.text);
    return tutti_fail(err, status, "%s", cause.text);
}
