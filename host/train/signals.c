/* signals.c - what signals mean to training: stop after the batch under way, save, or an error to tell. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t caught, asked;

static void on_stop(int number)
{
    caught = number;
}

static void on_save(int number)
{
    asked = number;
}

/* What whoever started this process has it ignore stays ignored, as nohup and shells want. */
static void take(int number, void (*what)(int), int flags)
{
    struct sigaction action, now;
    memset(&action, 0, sizeof action);
    action.sa_handler = what;
    action.sa_flags = flags;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        (void)sigaction(number, &action, NULL);
}

void trainer_catch_signals(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++)
        take(stops[k], on_stop, (int)(SA_RESETHAND | SA_RESTART)); /* a second one kills */
    take(SIGUSR1, on_save, SA_RESTART);
    take(SIGXFSZ, SIG_IGN, 0); /* writing fails instead, which is told */
    take(SIGPIPE, SIG_IGN, 0);
}

int trainer_signal(void)
{
    return (int)caught;
}

bool trainer_save_asked(void)
{
    const bool now = asked != 0;
    asked = 0;
    return now;
}
