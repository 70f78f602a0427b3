/* launcher.h - whether a launcher of parallel jobs has started this process, and how many beside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_BASE_LAUNCHER_H
#define HOST_BASE_LAUNCHER_H

#include "tutti/base.h"

/* How many processes the launcher has started, by what it puts into the environment; 1 where there is none.
 * *ret_name, a string constant, says which launcher that is; NULL where there is none.  TUTTI_WORLD_SIZE comes before any
 * launcher's variable.  Errors: E_ARG it is no number of processes, or a variable says that there are several and none
 * how many.  [any] */
TUTTI_NODISCARD tutti_status launcher_processes(int *ret_count, const char **ret_name,
                                                tutti_error *err);

/* Has the launcher end all processes of its job, from one that cannot begin and in which MPI has not.  MPICH's would let
 * the others wait for it without an end; Open MPI's ends them by the exit status, and srun does with --kill-on-bad-exit:
 * nothing happens there, nor where this process is alone.  [control] */
void launcher_end_job(int status);
/* Before a job is ended: waits, some 5 seconds at most, until a launcher of PMI has read what this process has said, which it
 * may lose.  [control] */
void launcher_be_heard(void);

#endif
