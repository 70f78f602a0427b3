/* check.c - tells what a call of a plugin has changed in the process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/registry_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

process_state *check_begin(const plugin *p)
{
    const registry *r = p->registry;
    const bool watched = !r->probe || (p->id && strcmp(p->id, r->probe->plugin) == 0);
    if (!r->check || !watched)
        return NULL;
    process_state *before = process_look();
    if (!before) { /* what the call changes is not seen */
        atomic_fetch_add(&p->registry->changes, 1);
        registry_report(p->registry, TUTTI_LOG_ERROR,
                        "plugin %s: no memory to look at the process before a call", p->id);
    }
    return before;
}

static void tell(void *ctx, int change, const char *text)
{
    registry *r = ctx;
    crash_line call = {{0}, 0};
    crash_line_add_call(&call);
    atomic_fetch_add(&r->changes, 1);
    registry_report(r, TUTTI_LOG_ERROR, "plugin %s %s: %s", crash_plugin(), text, call.text);
}

void check_end(const plugin *p, process_state *before, process_account *account)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of accounts */
    if (before) {
        (void)pthread_mutex_lock(&lock);
        process_compare(before, account, tell, p->registry);
        (void)pthread_mutex_unlock(&lock);
    }
    crash_keep_locale();
}
