/* saved_names.c - a list of names in place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "saved_names.h"

#include <stdio.h>
#include <string.h>

uint32_t saved_count(saved_name *all)
{
    uint32_t n = 0;
    while (n < SAVED_ROOM && all[n][0])
        n++;
    return n;
}

void saved_drop(saved_name *all, uint32_t k)
{
    memmove(all[k], all[k + 1], (SAVED_ROOM - 1 - k) * sizeof all[0]);
    memset(all[SAVED_ROOM - 1], 0, sizeof all[0]);
}

void saved_add(saved_name *all, const char *name)
{
    uint32_t n = saved_count(all);
    for (uint32_t k = 0; k < n; k++)
        if (strcmp(all[k], name) == 0) {
            saved_drop(all, k);
            n--;
            break;
        }
    if (n == SAVED_ROOM) {
        saved_drop(all, 0);
        n--;
    }
    memset(all[n], 0, sizeof all[n]);
    (void)snprintf(all[n], sizeof all[n], "%s", name);
}

void saved_mend(saved_name *all)
{
    for (uint32_t k = 0; k < SAVED_ROOM; k++) {
        all[k][SAVED_NAME - 1] = '\0';
        if (strchr(all[k], '/'))
            memset(all[k], 0, (SAVED_ROOM - k) * sizeof all[0]);
    }
}
