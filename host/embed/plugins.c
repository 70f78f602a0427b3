/* plugins.c - the registry of an embedding program. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/plugins.h"

#include "embed/library.h"

void listener_report(void *ctx, int level, const char *text)
{
    const listener *l = ctx;
    if (l->report)
        l->report(l->ctx, level, text);
}

tutti_status plugins_open(const char *const *paths, listener *told, registry **ret_registry,
                          tutti_error *err)
{
    char path[PATH_MAX];
    const registry_options options = {.plugin_paths = paths,
                                      .has_policies = true,
                                      .trust = TRUST_OWNER,
                                      .program = library_path(path) ? path : NULL,
                                      .report = listener_report,
                                      .report_ctx = told};
    return registry_create(&options, ret_registry, err);
}
