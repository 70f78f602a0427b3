/* plugin.c - the faults and the end of one plugin. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

void plugin_fault(plugin *p, int level, tutti_status status, const char *text)
{
    if (p->verdict.fault)
        return;
    p->verdict.fault = strdup(text);
    p->verdict.status = status;
    if (status == TUTTI_E_NOMEM || !p->verdict.fault)
        p->registry->lacks_memory = true;
    if (level == TUTTI_LOG_WARNING)
        registry_remark(p->registry, p->verdict.ill_owned, "plugin %s is not used: %s",
                        p->folder, text);
    else
        registry_report(p->registry, level, "plugin %s is not used: %s", p->folder, text);
}

void plugin_free(plugin *p)
{
    if (!p)
        return;
    objects_free(p);
    kernels_free(p);
    ctypes_free(p->types);
    codes_free(p);
    needs_fini(&p->trust.needs);
    signed_fini(&p->trust.sums);
    module_free(p->module);
    json_free(p->doc);
    free(p->folder);
    free(p->manifest);
    free(p->library);
    free(p->verdict.fault);
    free(p);
}
