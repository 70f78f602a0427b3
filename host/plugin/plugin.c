/* plugin.c - the faults and the end of one plugin. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

void registry_report(const registry *r, int level, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    if (!r->report)
        return;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    r->report(r->report_ctx, level, text ? text : "out of memory");
    free(text);
}

void plugin_fault(plugin *p, int level, tutti_status status, const char *text)
{
    if (p->fault)
        return;
    p->fault = strdup(text);
    p->fault_status = status;
    registry_report(p->registry, level, "plugin %s is not used: %s", p->folder, text);
}

void plugin_free(plugin *p)
{
    if (!p)
        return;
    objects_free(p);
    kernels_free(p);
    codes_free(p);
    module_free(p->module);
    json_free(p->doc);
    free(p->folder);
    free(p->manifest);
    free(p->library);
    free(p->fault);
    free(p);
}
