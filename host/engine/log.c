/* log.c - the engine's own lines, among them those that ENGINE_DEBUG asks for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <stdio.h>
#include <string.h>

void engine_log(const engine *e, int level, const char *component, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!e->options.log)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    e->options.log(e->options.ctx, level, component, text);
}

void engine_debug(const engine *e, int32_t event, const char *format, ...)
{
    char text[512], eval[48] = "", upper[64];
    const char *name = engine_event_name(e, event);
    va_list args;
    if (!e->debug)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const bool predicts = strncmp(name, "predict", 7) == 0;
    if (predicts || strncmp(name, "eval", 4) == 0)
        (void)snprintf(eval, sizeof eval, "[%s_ba=%lld]", predicts ? "predict" : "eval",
                       (long long)e->options.eval_time->batch);
    size_t k = 0;
    for (; name[k] && k + 1 < sizeof upper; k++)
        upper[k] = (char)(name[k] >= 'a' && name[k] <= 'z' ? name[k] - 'a' + 'A' : name[k]);
    upper[k] = '\0';
    engine_log(e, TUTTI_LOG_DEBUG, "engine", "[ep=%lld][ba=%lld]%s[event=%s]: %s",
               (long long)e->options.time->epoch, (long long)e->options.time->batch, eval,
               upper, text);
}
