/* mllog.c - one event a line: its time in milliseconds, its type, its key, its value. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "mllog.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void mllog_line(FILE *out, int type, const char *key, const char *value, const char *metadata,
                int line)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    (void)fprintf(out,
                  ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": \"%s\", "
                  "\"key\": \"%s\", \"value\": %s, \"metadata\": {\"file\": "
                  "\"plugins/callbacks/mlperf/plugin.c\", \"lineno\": %d%s%s}}\n",
                  (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000,
                  type == MLLOG_START ? "INTERVAL_START" : "POINT_IN_TIME", key,
                  value ? value : "null", line, metadata ? ", " : "", metadata ? metadata : "");
}

const char *mllog_number(double v, char *text, size_t size)
{
    if (!isfinite(v)) {
        (void)snprintf(text, size, "%s", isnan(v) ? "NaN" : v > 0.0 ? "Infinity" : "-Infinity");
        return text;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, size, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    const size_t n = strlen(text);
    if (!strpbrk(text, ".e"))
        (void)snprintf(text + n, size - n, ".0");
    return text;
}

const char *mllog_text(const char *from, char *text, size_t size)
{
    size_t at = 0;
    text[at++] = '"';
    for (; *from && at + 8 < size; from++) {
        const unsigned char c = (unsigned char)*from;
        if (c == '"' || c == '\\')
            at += (size_t)snprintf(text + at, size - at, "\\%c", c);
        else if (c < 0x20)
            at += (size_t)snprintf(text + at, size - at, "\\u%04x", c);
        else
            text[at++] = (char)c;
    }
    text[at++] = '"';
    text[at] = '\0';
    return text;
}
