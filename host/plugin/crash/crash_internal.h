/* crash_internal.h - what the files about crashes share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_PLUGIN_CRASH_CRASH_INTERNAL_H
#define HOST_PLUGIN_CRASH_CRASH_INTERNAL_H

#include "plugin/crash/crash.h"

#include <signal.h>

/* crash_code.c: the plugin's id, or NULL. */
const char *crash_code_of(uintptr_t address);
const char *crash_code_on_stack(uintptr_t stack);

/* crash_refuge.c: puts a page in the place of the lost one; false: the calling thread has no refuge, or it is another fault. */
bool crash_refuge_take(const siginfo_t *info);

/* watchdog.c: the calling thread is watched, or no longer. */
void watchdog_join(void);
void watchdog_part(void);

#endif
