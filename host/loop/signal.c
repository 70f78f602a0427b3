/* signal.c - SIGINT for the outermost loop that is running and wants it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/loop_internal.h"

#include <signal.h>

static _Atomic(tutti_loop *) hearer;
static struct sigaction before;

void tutti_loop_catch_sigint(tutti_loop *l, int interrupt)
{
    l->requests.sigint = interrupt ? 2 : 1;
}

static void on_sigint(int number)
{
    tutti_loop *l = atomic_load(&hearer);
    if (!l)
        return;
    if (l->requests.sigint == 2)
        tutti_loop_interrupt(l);
    else
        tutti_loop_signal(l, number);
}

void loop_enter(tutti_loop *l)
{
    tutti_loop *nobody = NULL;
    if (!l->requests.sigint || !atomic_compare_exchange_strong(&hearer, &nobody, l))
        return;
    struct sigaction action = {.sa_handler = on_sigint, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, &before);
}

void loop_leave(tutti_loop *l)
{
    if (atomic_load(&hearer) != l)
        return;
    (void)sigaction(SIGINT, &before, NULL);
    atomic_store(&hearer, NULL);
}
