/* settings.c - what the environment asks of the stand-in, and the trace that it writes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name)                                                                            \
    {                                                                                          \
#name, offsetof(settings, name)                                                        \
    }
static const struct field {
    const char *name;
    size_t offset;
} fields[] = {
    FIELD(devices),         FIELD(driver), FIELD(memory),      FIELD(capability),
    FIELD(multiprocessors), FIELD(seed),   FIELD(fail_launch), FIELD(fail_code),
    FIELD(eager),           FIELD(leaks),  FIELD(conditions),  FIELD(captures),
};

static void set(settings *s, const char *item)
{
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        const size_t n = strlen(fields[k].name);
        if (strncmp(item, fields[k].name, n) == 0 && item[n] == '=') {
            const uint64_t value = strtoull(item + n + 1, NULL, 10);
            memcpy((char *)s + fields[k].offset, &value, sizeof value);
            return;
        }
    }
    (void)fprintf(stderr, "TUTTI_CUDA_STANDIN: there is no setting \"%s\"\n", item);
    abort();
}

const settings *standin_settings(void)
{
    static settings s;
    static bool known;
    if (known)
        return &s;
    s = (settings){.devices = 1,
                   .driver = 13000,
                   .memory = UINT64_C(2) << 30,
                   .capability = 90,
                   .multiprocessors = 3,
                   .seed = 1,
                   .captures = 1,
                   .conditions = 1,
                   .fail_code = LAUNCH_FAILURE};
    known = true;
    const char *given = getenv("TUTTI_CUDA_STANDIN");
    char text[256];
    (void)snprintf(text, sizeof text, "%s", given ? given : "");
    char *rest = NULL;
    for (const char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        set(&s, item);
    return &s;
}

/* Opened for each line, so that processes that forked write to one file. */
void trace(const char *format, ...)
{
    const char *path = getenv("TUTTI_CUDA_TRACE");
    FILE *f = path && *path ? fopen(path, "ae") : NULL;
    if (!f)
        return;
    va_list list;
    va_start(list, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is begun a line above */
    (void)vfprintf(f, format, list);
    va_end(list);
    (void)fputc('\n', f);
    (void)fclose(f);
}
