/* run_log_messages.c - messages; those of other threads wait for the thread that trains, whose calls alone loggers get. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/run_log.h"

#include "train/context/run_log_each.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct waiting_message {
    int level;
    char *component, *text;
    waiting_message *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all lists and owners */

static void message_free(waiting_message *m)
{
    if (m) {
        free(m->component);
        free(m->text);
    }
    free(m);
}

void run_log_own(run_log *l)
{
    (void)pthread_mutex_lock(&lock);
    l->owner = pthread_self();
    l->is_owned = true;
    (void)pthread_mutex_unlock(&lock);
}

/* Keeps the message until the owner hands it over; false: the calling thread is the owner, or there is none.  Without memory
 * it is lost to loggers. */
static bool waits(run_log *l, int level, const char *component, const char *text)
{
    (void)pthread_mutex_lock(&lock);
    const bool other = l->is_owned && !pthread_equal(l->owner, pthread_self());
    waiting_message *m = other ? calloc(1, sizeof *m) : NULL;
    if (m) {
        *m = (waiting_message){level, strdup(component), strdup(text), NULL};
        waiting_message **end = &l->waiting;
        while (*end)
            end = &(*end)->next;
        if (m->component && m->text)
            *end = m;
        else
            message_free(m);
    }
    (void)pthread_mutex_unlock(&lock);
    return other;
}

static waiting_message *take_all(run_log *l)
{
    (void)pthread_mutex_lock(&lock);
    const bool own = !l->is_owned || pthread_equal(l->owner, pthread_self());
    waiting_message *all = own ? l->waiting : NULL;
    if (own)
        l->waiting = NULL;
    (void)pthread_mutex_unlock(&lock);
    return all;
}

static void give_message(run_log *l, int level, const char *component, const char *text)
{
    FOR_EACH_LOGGER(l, i, table, "message")
    {
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->message && table->message(instance_self(i), level, component, text, &e))
            run_log_failed(l, i, &e);
    }
}

void run_log_hand_over(run_log *l)
{
    for (waiting_message *m = take_all(l); m;) {
        waiting_message *next = m->next;
        give_message(l, m->level, m->component, m->text);
        message_free(m);
        m = next;
    }
}

void run_log_message(run_log *l, int level, const char *component, const char *text)
{
    if (l->message && (level >= (l->tells_all ? TUTTI_LOG_INFO : TUTTI_LOG_WARNING)))
        l->message(l->message_ctx, level, component, text);
    if (waits(l, level, component, text))
        return;
    run_log_hand_over(l);
    give_message(l, level, component, text);
}
