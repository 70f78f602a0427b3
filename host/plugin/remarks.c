/* remarks.c - what the registry tells an operator while it searches, and once it has. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TUTTI_PRINTF(3, 0)
static void report(const registry *r, int level, const char *format, va_list args)
{
    char *text = NULL;
    if (!r->report)
        return;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    r->report(r->report_ctx, level, text ? text : "out of memory");
    free(text);
}

void registry_report(const registry *r, int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(r, level, format, args);
    va_end(args);
}

void registry_remark(registry *r, bool ill_owned, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (!r->searching || !ill_owned)
        report(r, TUTTI_LOG_WARNING, format, args);
    else if (vasprintf(&text, format, args) >= 0)
        text_add(&r->untrusted, "%s\n", text);
    else
        r->lacks_memory = true;
    va_end(args);
    free(text);
}

void registry_searched(registry *r)
{
    char *line = r->untrusted.data;
    r->searching = false;
    r->nothing_is_trusted = line != NULL;
    for (size_t k = 0; k < r->count; k++)
        if (!r->plugins[k]->verdict.ill_owned)
            r->nothing_is_trusted = false;
    for (char *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (!r->nothing_is_trusted) {
            registry_report(r, TUTTI_LOG_WARNING, "%s", line);
            continue;
        }
        registry_report(
            r, TUTTI_LOG_ERROR,
            "no plugin is trusted, the first for this: %s; make root or user %u the only "
            "one who may write there (chown -R, chmod -R go-w)",
            line, (unsigned)geteuid());
        break;
    }
}

bool registry_trusts_nothing(const registry *r)
{
    return r->nothing_is_trusted;
}
