/* crash_line.c - the calling thread's call in words, safe in signal handlers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/crash/crash.h"

#include <unistd.h>

_Thread_local breadcrumb crash_breadcrumb;
_Thread_local _Atomic uint64_t crash_beats;

void crash_line_add(crash_line *l, const char *text)
{
    while (*text && l->size < sizeof l->text - 1)
        l->text[l->size++] = *text++;
}

void crash_line_add_number(crash_line *l, uint64_t value)
{
    char digits[21];
    size_t k = sizeof digits - 1;
    digits[k] = '\0';
    do {
        digits[--k] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    crash_line_add(l, digits + k);
}

void crash_line_add_call(crash_line *l)
{
    const breadcrumb *b = &crash_breadcrumb;
    const char *object = b->who ? b->who->object : b->object;
    const char *event = b->at ? b->at->name : b->event;
    crash_line_add(l, object ? object : "?");
    crash_line_add(l, ", call ");
    crash_line_add(l, b->call ? b->call : "?");
    if (event) {
        crash_line_add(l, ", event ");
        crash_line_add(l, event);
    }
    crash_line_add(l, ", step ");
    crash_line_add_number(l, b->at ? b->at->step : b->step);
}

void crash_line_write(crash_line *l)
{
    if (l->size == sizeof l->text - 1)
        l->size--;
    l->text[l->size++] = '\n';
    (void)!write(STDERR_FILENO, l->text, l->size);
}

const char *crash_plugin(void)
{
    const breadcrumb *b = &crash_breadcrumb;
    return b->who ? b->who->plugin : b->plugin;
}
