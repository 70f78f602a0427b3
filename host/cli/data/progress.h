/* progress.h - a bar on stderr, where that is a terminal. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_DATA_PROGRESS_H
#define HOST_CLI_DATA_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    int64_t total, done; /* samples; those of an earlier try are done too */
    int64_t fresh;       /* of `done` those of this try, which tell the speed */
    double began_s;
    bool shows;
} progress;

progress progress_begin(int64_t total);
/* One thread at a time. */
void progress_add(progress *p, int64_t samples, bool fresh);
void progress_end(const progress *p);

#endif
