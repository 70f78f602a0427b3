/* crash.c - a fatal signal names what the host was calling, then kills as it would have. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

_Thread_local breadcrumb crash_breadcrumb;

/* One line, put together without anything that is unsafe in a signal handler. */
typedef struct line {
    char text[512];
    size_t size;
} line;

static void add(line *l, const char *text)
{
    while (*text && l->size < sizeof l->text - 1)
        l->text[l->size++] = *text++;
}

static void add_number(line *l, uint64_t value)
{
    char digits[21];
    size_t k = sizeof digits - 1;
    digits[k] = '\0';
    do {
        digits[--k] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    add(l, digits + k);
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

static void handle(int number)
{
    breadcrumb b = crash_breadcrumb;
    if (b.who) {
        b.plugin = b.who->plugin;
        b.object = b.who->object;
    }
    if (b.at) {
        b.event = b.at->name;
        b.step = b.at->step;
    }
    line l = {{0}, 0};
    add(&l, "tutti: ");
    if (b.plugin) {
        add(&l, "plugin ");
        add(&l, b.plugin);
        add(&l, " crashed: ");
        add(&l, b.object ? b.object : "?");
        add(&l, ", call ");
        add(&l, b.call ? b.call : "?");
        if (b.event) {
            add(&l, ", event ");
            add(&l, b.event);
        }
        add(&l, ", step ");
        add_number(&l, b.step);
        add(&l, ": ");
    } else {
        add(&l, "crashed outside of any plugin: ");
    }
    add(&l, signal_name(number));
    add(&l, "\n");
    (void)!write(STDERR_FILENO, l.text, l.size);
    /* SA_RESETHAND has put the default action back; it strikes here. */
    (void)raise(number);
}

/* A stack overflow leaves no room for a handler on the stack that overflowed. */
static _Thread_local char alternate[64 * 1024];

void crash_handler_install(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = (int)(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaltstack(&stack, NULL);
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        (void)sigaction(signals[k], &action, NULL);
}
