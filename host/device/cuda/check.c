/* check.c - the calling thread's device, and what the runtime's codes mean. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/device_calls.h"

#include <stdio.h>
#include <string.h>

void cuda_enter(const cuda_device *d)
{
    static _Thread_local int bound = -1;
    if (bound != d->index && d->rt->cudaSetDevice(d->index) == CUDART_SUCCESS)
        bound = d->index;
}

/* After these nothing works any more: a kernel has failed while it ran, or the memory has. */
static bool is_sticky(unsigned int code)
{
    static const uint16_t sticky[] = {214, 220, 226, 700, 702, 709, 710, 714,
                                      715, 716, 717, 718, 719, 721, 810, 911};
    for (size_t k = 0; k < sizeof sticky / sizeof *sticky; k++)
        if (code == sticky[k])
            return true;
    return false;
}

/* "; launched last: fc: matmul (matmul_f32 of kernels/matmul), ...", as many as there is room for. */
static void name_last(const cuda_device *d, char *text, size_t size)
{
    const uint32_t n = d->history.count < LAUNCHES_KEPT ? d->history.count : LAUNCHES_KEPT;
    size_t at = 0;
    *text = 0;
    for (uint32_t k = 0; k < n; k++) {
        const launched *l = &d->history.last[(d->history.count - 1 - k) % LAUNCHES_KEPT];
        const cuda_function *f = l->function;
        char after[48] = "", one[256];
        if (l->after)
            (void)snprintf(after, sizeof after, " and the %u launches after it", l->after);
        const int length =
            snprintf(one, sizeof one, "%s%s%s%s%s%s%s%s",
                     k ? ", " : "; launched last: ", names_text(&d->history.names, l->mark),
                     f ? " (" : "", f ? f->entry : "", f ? " of " : "",
                     f ? f->code->image->name : "", f ? ")" : "", after);
        if (length < 0 || at + (size_t)length >= size)
            return;
        memcpy(text + at, one, (size_t)length + 1);
        at += (size_t)length;
    }
}

tutti_status cuda_check(const cuda_device *d, unsigned int code, const char *what,
                        tutti_error *err)
{
    char last[sizeof err->text];
    if (code == CUDART_SUCCESS)
        return TUTTI_OK;
    const char *text = d->rt->cudaGetErrorString(code), *name = d->rt->cudaGetErrorName(code);
    (void)d->rt->cudaGetLastError(); /* one that is not sticky is told once */
    if (is_sticky(code)) {
        const size_t used = strlen(d->label) + strlen(text) + strlen(name) + sizeof ":  ()";
        name_last(d, last, used < sizeof last ? sizeof last - used : 1);
        return tutti_fail(err, TUTTI_E_FAIL, "%s: %s (%s)%s", d->label, text, name, last);
    }
    return tutti_fail(err, code == CUDART_NO_MEMORY ? TUTTI_E_NOMEM : TUTTI_E_FAIL,
                      "%s: %s: %s (%s)", d->label, what, text, name);
}
