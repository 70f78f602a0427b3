/* crash.h - what the host is calling on each thread: for crashes, hangs, exits, lost files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_CRASH_CRASH_H
#define HOST_PLUGIN_CRASH_CRASH_H

#include "tutti/tutti.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Before a plugin's function is called its caller says so here, and takes it back after. */
typedef struct crash_who {
    const char *plugin; /* id */
    const char *object; /* instance name */
} crash_who;
typedef struct breadcrumb {
    const char *plugin; /* id */
    const char *object; /* instance name */
    const char *call;   /* "apply" */
    const char *event;  /* "before_loss", or NULL */
    uint64_t step;
    const crash_who *who;  /* instead of plugin and object: one store */
    const tutti_event *at; /* instead of event and step */
    bool whole; /* the call is never left before its end: the host's state is in between */
} breadcrumb;
extern _Thread_local breadcrumb crash_breadcrumb;

/* Rises with each event and each call: a thread whose beats stand still is in one and the same. */
extern _Thread_local _Atomic uint64_t crash_beats;
static inline void crash_beat(void)
{
    const uint64_t beats = atomic_load_explicit(&crash_beats, memory_order_relaxed);
    atomic_store_explicit(&crash_beats, beats + 1, memory_order_relaxed);
}

/* From now on a fatal signal says plugin, call, event and step on stderr, then the process dies of it.
 * A plugin that ends the process or one of the host's threads is named, and the status is not 0.
 * The calling thread begins as below.  [control] */
void crash_handler_install(void);
/* The program ends because it wants to. */
void crash_expect_exit(void);
/* In a child that the host has forked to have calls of plugins in: it may go on as the host. */
void crash_take_child(void);
/* Ends a process that a plugin forked and that came back into the host. */
void crash_refuse_child(void);

/* A thread of the host that calls plugins: it has a stack for handlers, writes numbers as C does
 * whatever locale a plugin sets, and is watched.  `end` is called by the same thread. */
void crash_thread_begin(void);
void crash_thread_end(void);
/* After a call of a plugin, which may have set another locale for this thread; nothing on threads that did not begin so.
 * [any] */
void crash_keep_locale(void);
/* The same, and the breadcrumb of before the call comes back.  [any] */
static inline void crash_leave(const breadcrumb *outer)
{
    crash_keep_locale();
    crash_breadcrumb = *outer;
}

/* Addresses of a plugin's code, so that crashes of its own threads are its own.  `id` stays.  [control] */
void crash_add_code(const char *id, uintptr_t begin, uintptr_t end);

/* Names threads that are in one call for longer than `seconds`, on stderr, again when twice as much
 * has passed.  [control] */
TUTTI_NODISCARD tutti_status watchdog_start(double seconds, tutti_error *err);
void watchdog_stop(void);

/* One line, put together without anything that is unsafe in a signal handler. */
typedef struct crash_line {
    char text[512];
    size_t size;
} crash_line;
void crash_line_add(crash_line *l, const char *text);
void crash_line_add_number(crash_line *l, uint64_t value);
/* "mine, call apply, event before_loss, step 12" of the calling thread. */
void crash_line_add_call(crash_line *l);
void crash_line_write(crash_line *l); /* with its newline, to stderr */
/* The plugin that the calling thread is in, or NULL. */
const char *crash_plugin(void);

/* Between the two a page that a mapped file has lost reads as zeros for the calling thread, instead of SIGBUS, so that the
 * plugin ends its call and gives back what it has taken.  Pairs nest.  From the first such page on every leave, of all
 * threads, returns true: what was read since may be such zeros.  [any] */
void crash_refuge_enter(void);
TUTTI_NODISCARD bool crash_refuge_leave(void);
/* Once a leave has returned true: E_IO, with the path of the first such file. */
tutti_status crash_lost_file(tutti_error *err);

#endif
