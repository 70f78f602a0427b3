/* launcher.c - mpirun, srun and what a user sets, by their environment variables. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launcher.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HEARD_MS = 5000 };

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

static bool read_count(const char *text, int *ret)
{
    char *end = NULL;
    const long n = strtol(text, &end, 10);
    if (n < 1 || n > INT_MAX || *end != '\0')
        return false;
    *ret = (int)n;
    return true;
}

/* What says that this process is one of several, without their number. */
static tutti_status check_rest(tutti_error *err)
{
    if (getenv("TUTTI_RANK"))
        return tutti_fail(
            err, TUTTI_E_ARG,
            "TUTTI_RANK is set and TUTTI_WORLD_SIZE is not, want both or neither");
    if (getenv("PMIX_RANK"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "PMIX_RANK is set: a launcher has started this process, and nothing "
                          "says how many others; want TUTTI_WORLD_SIZE too, 1 where each of "
                          "them is a run of its own");
    return TUTTI_OK;
}

tutti_status launcher_processes(int *ret_count, const char **ret_name, tutti_error *err)
{
    const char *own = getenv("TUTTI_WORLD_SIZE");
    int count = 1;
    const char *name = NULL;
    if (own && !read_count(own, &count))
        return tutti_fail(err, TUTTI_E_ARG,
                          "TUTTI_WORLD_SIZE is \"%.40s\", want a number of processes from 1 on",
                          own);
    if (own)
        name = "whoever set TUTTI_WORLD_SIZE";
    for (size_t k = 0; !name && k < sizeof launchers / sizeof *launchers; k++) {
        const char *text = getenv(launchers[k].variable);
        if (text && read_count(text, &count))
            name = launchers[k].name;
    }
    const tutti_status s = name ? TUTTI_OK : check_rest(err);
    if (s)
        return s;
    *ret_count = count;
    *ret_name = name;
    return TUTTI_OK;
}

/* Whether `fd` is a pipe with bytes that its reader has not taken.  Of a file or a terminal nothing is lost. */
static bool is_unread(int fd)
{
    struct stat now;
    int n = 0;
    return fstat(fd, &now) == 0 && S_ISFIFO(now.st_mode) && ioctl(fd, FIONREAD, &n) == 0 &&
           n > 0;
}

/* MPICH's proxy looks at requests before it looks at what ranks say, and ends without what it has not read.  What it has
 * read goes ahead of a request. */
void launcher_be_heard(void)
{
    const struct timespec a_while = {0, 1000000};
    if (!getenv("PMI_FD"))
        return;
    (void)fflush(stdout);
    for (int k = 0; k < HEARD_MS && (is_unread(STDOUT_FILENO) || is_unread(STDERR_FILENO)); k++)
        (void)nanosleep(&a_while, NULL);
}

/* By PMI's request of that name.  Slurm's srun, which names the job, takes it only behind others. */
void launcher_end_job(int status)
{
    char line[40];
    int fd, size;
    const char *fd_text = getenv("PMI_FD"), *size_text = getenv("PMI_SIZE");
    if (getenv("TUTTI_WORLD_SIZE") || getenv("PMI_JOBID") || !fd_text ||
        !read_count(fd_text, &fd) || !size_text || !read_count(size_text, &size) || size < 2)
        return;
    launcher_be_heard();
    const int n = snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", status);
    (void)!write(fd, line, (size_t)n); /* else the others wait as before */
}
