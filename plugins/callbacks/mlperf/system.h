/* system.h - what a submission says of the machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MLPERF_SYSTEM_H
#define MLPERF_SYSTEM_H

#include "tutti/base.h"

#include <stdint.h>

typedef struct system_facts {
    const char *submitter, *division, *status;
    const char *device;  /* of the run: "cpu", or a GPU */
    int64_t processes;   /* that train */
    int64_t processors;  /* of the host, 0: not known */
    char name[256];      /* of the system */
    char processor[128]; /* the CPU's model, "CPU" where nobody knows */
    int64_t cores;       /* of all processors; 0: not known */
} system_facts;

/* Fills processor and cores, and the name unless `name` gives it. */
void system_look(system_facts *f, const char *name);
/* Writes the description as upstream lays it out.  Errors: E_IO with the path and the reason. */
TUTTI_NODISCARD tutti_status system_write(const system_facts *f, const char *path,
                                          tutti_error *err);

#endif
