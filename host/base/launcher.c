/* launcher.c - mpirun and srun by their environment variables. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launcher.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

/* Slurm's counts the tasks of a job step, which is what srun starts; a batch script has none. */
static const struct {
    const char *variable;
    const char *name;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
    {"PMI_SIZE", "MPICH's mpirun"},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun"},
    {"SLURM_STEP_NUM_TASKS", "Slurm's srun"},
};

int launcher_processes(const char **ret_name)
{
    *ret_name = NULL;
    for (size_t k = 0; k < sizeof launchers / sizeof *launchers; k++) {
        const char *text = getenv(launchers[k].variable);
        char *end = NULL;
        const long n = text ? strtol(text, &end, 10) : 0;
        if (n < 1 || n > INT_MAX || *end != '\0')
            continue;
        *ret_name = launchers[k].name;
        return (int)n;
    }
    return 1;
}
