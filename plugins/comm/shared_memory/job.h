/* job.h - the name by which the ranks of one job find each other, and no other job's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHARED_MEMORY_JOB_H
#define SHARED_MEMORY_JOB_H

#include "tutti/base.h"

/* Variables by which a launcher tells a process where it is. */
typedef struct job_launcher {
    const char *rank, *size;
    const char *job,
        *step; /* which job this is, and which of its steps; step: NULL where there are none */
} job_launcher;

/* The name of the shared memory: of the user, the run, and the job, which is TUTTI_JOB, or what the launcher calls it, or by
 * what all its processes have in common.  `launcher`: NULL where there is none.  Errors: E_ARG there are several ranks and
 * nothing tells the job from another one.  [control] */
TUTTI_NODISCARD tutti_status job_name(const job_launcher *launcher, int32_t ranks, uint64_t run,
                                      char *name, size_t size, tutti_error *err);

#endif
