/* misuse.c - how a wrong call of a library's stand-in is told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "misuse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(void *data)
{
    tutti_cuda_standin.fail(data);
}

uint32_t misuse(uint32_t status, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is begun a line above */
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const standin_call call = {fail, text, sizeof text, "misuse", NULL};
    (void)tutti_cuda_standin.enqueue(NULL, &call);
    return status;
}

bool libraries_are_there(void)
{
    const char *value = getenv("TUTTI_CUDA_LIBRARIES");
    return !value || strcmp(value, "0") != 0;
}
