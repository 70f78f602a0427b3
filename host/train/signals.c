/* signals.c - SIGINT and SIGTERM stop training after the batch under way. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

void trainer_catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)(SA_RESETHAND | SA_RESTART); /* a second signal kills as usual */
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int trainer_signal(void)
{
    return (int)caught;
}
