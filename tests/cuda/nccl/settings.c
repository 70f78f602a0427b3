/* settings.c - what the environment asks of the stand-in for NCCL, and the trace that it writes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_standin.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set(nccl_settings *s, const char *item)
{
    if (sscanf(item, "version=%d", &s->version) == 1 ||
        sscanf(item, "fail_call=%d", &s->fail_call) == 1 ||
        sscanf(item, "fail_code=%d", &s->fail_code) == 1 ||
        sscanf(item, "stall_call=%d", &s->stall_call) == 1)
        return;
    (void)fprintf(stderr, "TUTTI_NCCL_STANDIN: there is no setting \"%s\"\n", item);
    abort();
}

const nccl_settings *nccl_standin_settings(void)
{
    static nccl_settings s;
    if (s.version)
        return &s;
    s = (nccl_settings){.version = 22800, .fail_code = NCCL_REMOTE_ERROR};
    const char *given = getenv("TUTTI_NCCL_STANDIN");
    char text[256], *rest = NULL;
    (void)snprintf(text, sizeof text, "%s", given ? given : "");
    for (const char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        set(&s, item);
    return &s;
}

void nccl_trace(const char *format, ...)
{
    static FILE *file;
    const char *path = getenv("TUTTI_NCCL_TRACE");
    if (!file && (!path || !(file = fopen(path, "a"))))
        return;
    va_list args;
    va_start(args, format);
    (void)vfprintf(file, format, args);
    va_end(args);
    (void)fputc('\n', file);
    (void)fflush(file);
}

int nccl_stream_number(const struct CUstream_st *stream)
{
    enum { MOST = 64 };
    static const struct CUstream_st *known[MOST];
    static int count;
    int k = 0;
    while (k < count && known[k] != stream)
        k++;
    if (k == count && count < MOST)
        known[count++] = stream;
    return k + 1;
}
