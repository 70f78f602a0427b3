/* close.c - the end of participants, and the callbacks that are open. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "engine/engine_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A callback or logger that took part in an init and is not closed, and where. */
typedef struct open_callback {
    const void *it;
    const engine *engine;
} open_callback;

/* Over all engines.  One whose close failed stays here for as long as its engine does. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static open_callback *open_list;
static size_t nopen, open_capacity;

/* Engines that have not been destroyed: exit closes them, so that callbacks can flush. */
static pthread_mutex_t alive_lock = PTHREAD_MUTEX_INITIALIZER;
static engine *alive;

static void close_all(void)
{
    for (;;) {
        (void)pthread_mutex_lock(&alive_lock);
        engine *e = alive;
        /* One of another thread is at work there. */
        while (e && (e->closed || !pthread_equal(e->thread, pthread_self())))
            e = e->next_alive;
        (void)pthread_mutex_unlock(&alive_lock);
        if (!e)
            return;
        engine_close(e); /* a close may ask for other engines, so the lock is not held */
    }
}

void engine_note_alive(engine *e)
{
    static bool registered;
    (void)pthread_mutex_lock(&alive_lock);
    if (!registered)
        registered = atexit(close_all) == 0;
    e->thread = pthread_self();
    e->next_alive = alive;
    alive = e;
    (void)pthread_mutex_unlock(&alive_lock);
}

static bool listener(const participant *p)
{
    return p->class == CLASS_CALLBACK || p->class == CLASS_LOGGER;
}

/* What outlives the engine: `self` of an instance may be gone when its close has failed. */
static const void *identity(const participant *p)
{
    return p->owner ? p->owner : p->self;
}

static size_t find_open(const void *it)
{
    size_t k = 0;
    while (k < nopen && open_list[k].it != it)
        k++;
    return k;
}

static tutti_status note_open(const engine *e, const participant *p, tutti_error *err)
{
    const size_t k = find_open(identity(p));
    if (k < nopen)
        return tutti_fail(err, TUTTI_E_STATE, "%s %s is still open from an earlier run: %s",
                          p->kind, p->name,
                          open_list[k].engine->closed ? "its close failed, so make a new one"
                                                      : "close that engine first");
    if (nopen == open_capacity) {
        const size_t capacity = open_capacity ? 2 * open_capacity : 16;
        open_callback *grown = realloc(open_list, capacity * sizeof *grown);
        if (!grown)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory to open %s", p->name);
        open_list = grown;
        open_capacity = capacity;
    }
    open_list[nopen++] = (open_callback){identity(p), e};
    return TUTTI_OK;
}

tutti_status engine_check_open(engine *e, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    (void)pthread_mutex_lock(&open_lock);
    for (size_t k = 0; k < e->nparts && s == TUTTI_OK; k++)
        if (listener(&e->parts[k]) && e->parts[k].self)
            s = note_open(e, &e->parts[k], err);
    (void)pthread_mutex_unlock(&open_lock);
    return s;
}

/* Takes it out where it is open in this engine; `it` NULL: all that are. */
static void note_closed(const engine *e, const void *it)
{
    size_t kept = 0;
    (void)pthread_mutex_lock(&open_lock);
    for (size_t k = 0; k < nopen; k++)
        if (open_list[k].engine != e || (it && open_list[k].it != it))
            open_list[kept++] = open_list[k];
    nopen = kept;
    if (!nopen) {
        free(open_list);
        open_list = NULL;
        open_capacity = 0;
    }
    (void)pthread_mutex_unlock(&open_lock);
}

static tutti_status call_end(participant *p, bool post, tutti_error *err)
{
    tutti_status (*own)(void *, tutti_error *) = post ? p->post_close : p->close;
    tutti_status (*call)(void *, tutti_error *) = post ? p->calls->post_close : p->calls->close;
    tutti_status s = TUTTI_OK;
    const breadcrumb was = crash_breadcrumb;
    crash_breadcrumb = (breadcrumb){.plugin = p->plugin,
                                    .object = p->name,
                                    .call = post ? "post_close" : "close",
                                    .step = was.step};
    if (own)
        s = own(p->owner, err);
    else if (call)
        s = call(p->self, err);
    crash_leave(&was);
    return s;
}

/* Errors are told and swallowed.  `listeners`: callbacks and loggers, else the others. */
static void close_round(engine *e, bool listeners, bool post)
{
    for (size_t k = 0; k < e->nparts; k++) {
        participant *p = &e->parts[k];
        if (listener(p) != listeners || (post && !p->closed))
            continue;
        const char *kind = listeners ? "callback" : p->kind;
        tutti_error cause = TUTTI_ERROR_INIT;
        engine_log(e, TUTTI_LOG_DEBUG, "engine", "%s %s %s", post ? "Post-closing" : "Closing",
                   kind, p->name);
        const tutti_status s = call_end(p, post, &cause);
        if (s != TUTTI_OK)
            engine_log(e, TUTTI_LOG_ERROR, p->name, "on %s: %s", post ? "post_close" : "close",
                       cause.text[0] ? text_after_name(cause.text, p->name)
                                     : tutti_status_name(s));
        p->closed = s == TUTTI_OK;
        if (post && p->closed)
            note_closed(e, identity(p));
    }
}

void engine_close(engine *e)
{
    if (!e || e->closed)
        return;
    e->closed = true;
    memset(e->listens, 0, sizeof e->listens);
    engine_set_gates(e); /* run_event must refuse */
    engine_log(e, TUTTI_LOG_DEBUG, "engine", "Closing the engine.");
    close_round(e, true, false);
    close_round(e, true, true);
    close_round(e, false, false);
    close_round(e, false, true);
    engine_profile(e, NULL);
    engine_log(e, TUTTI_LOG_DEBUG, "engine", "Engine closed.");
}

void engine_note_gone(engine *e)
{
    note_closed(e, NULL);
    (void)pthread_mutex_lock(&alive_lock);
    engine **at = &alive;
    while (*at && *at != e)
        at = &(*at)->next_alive;
    if (*at)
        *at = e->next_alive;
    (void)pthread_mutex_unlock(&alive_lock);
}
