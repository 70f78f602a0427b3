/* profile.h - where the time of a step went, by a profiler's trace. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_REPORT_PROFILE_H
#define HOST_REPORT_PROFILE_H

#include "tutti/base.h"

#include <stddef.h>

/* All spans of one name; times in microseconds. */
typedef struct profile_part {
    char *name;
    size_t count;
    double total; /* with the spans inside */
    double self;  /* without them */
} profile_part;

typedef struct profile {
    profile_part *items; /* the one with the most time of its own first */
    size_t count;
} profile;

/* Reads a trace in Chrome's format.  The caller finishes *p, also on failure.  Errors: those of json_read.  [any] */
TUTTI_NODISCARD tutti_status profile_read(profile *p, const char *path, tutti_error *err);
void profile_fini(profile *p);

#endif
