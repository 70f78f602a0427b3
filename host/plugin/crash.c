/* crash.c - a fatal signal inside a plugin names the plugin before the process dies of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

_Thread_local breadcrumb crash_breadcrumb;

enum { STACK_SIZE = 64 * 1024 };
static char alternate_stack[STACK_SIZE];

/* Only async-signal-safe calls from here on. */
static void put(const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

static void put_number(uint64_t n)
{
    char text[24];
    size_t at = sizeof text;
    text[--at] = '\0';
    do
        text[--at] = (char)('0' + n % 10);
    while (n /= 10);
    put(text + at);
}

static const char *signal_text(int number)
{
    switch (number) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGBUS:
        return "bus error";
    case SIGFPE:
        return "arithmetic error";
    case SIGILL:
        return "illegal instruction";
    default:
        return "abort";
    }
}

static void on_crash(int number)
{
    const breadcrumb b = crash_breadcrumb;
    put("tutti: ");
    put(signal_text(number));
    if (b.plugin) {
        put(" in plugin ");
        put(b.plugin);
        if (b.object && *b.object) {
            put(", object ");
            put(b.object);
        }
        put(", call ");
        put(b.call ? b.call : "?");
        if (b.event) {
            put(", event ");
            put(b.event);
            put(", step ");
            put_number(b.step);
        }
    } else
        put(" outside any plugin");
    put("\n");
    /* SA_RESETHAND has put the default action back: this ends the process as the signal would. */
    (void)raise(number);
}

void crash_handler_install(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action;
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternate_stack;
    stack.ss_size = sizeof alternate_stack;
    (void)sigaltstack(&stack, NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_crash;
    action.sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
    (void)sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        (void)sigaction(signals[k], &action, NULL);
}
