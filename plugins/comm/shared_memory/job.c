/* job.c - which job this process is of: a variable, the launcher's process, or the session. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The parent of a process; -1: there is none that can be seen.  /proc/PID/stat has it behind the name, in brackets. */
static long parent_of(long pid)
{
    char path[40], line[256], *end;
    long parent = -1;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f)
        (void)fclose(f);
    line[n] = '\0';
    end = strrchr(line, ')');
    return end && sscanf(end + 1, " %*c %ld", &parent) == 1 ? parent : -1;
}

/* Whether a process was started with the variable; -1: its environment cannot be seen. */
static int was_given(long pid, const char *variable)
{
    char path[40], *item = NULL;
    size_t capacity = 0;
    const size_t length = strlen(variable);
    int found = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/environ", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    while (!found && getdelim(&item, &capacity, '\0', f) > 0)
        found = strncmp(item, variable, length) == 0 && item[length] == '=';
    free(item);
    (void)fclose(f);
    return found;
}

/* The nearest process above that has no rank has started the ranks, and is another one for each job; -1: none is seen.
 * The session will not do: a launcher may give each rank one of its own, or leave all jobs of a terminal in one. */
static long process_of_launcher(const char *variable)
{
    long pid = getppid();
    int given = 1;
    while (pid > 1 && (given = was_given(pid, variable)) == 1)
        pid = parent_of(pid);
    return pid > 1 && given == 0 ? pid : -1;
}

/* Letters and digits of `text` stay. */
static size_t append_text(char *name, size_t at, size_t size, const char *text)
{
    for (; *text && at < size - 1; text++)
        name[at++] = (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
                             (*text >= 'A' && *text <= 'Z')
                         ? *text
                         : '-';
    name[at] = '\0';
    return at;
}

static const char *value_of(const char *variable)
{
    const char *value = variable ? getenv(variable) : NULL;
    return value && *value ? value : NULL;
}

tutti_status job_name(const job_launcher *launcher, int32_t ranks, uint64_t run, char *name,
                      size_t size, tutti_error *err)
{
    const int used = snprintf(name, size, "/tutti-%u-%016llx-", (unsigned)geteuid(),
                              (unsigned long long)run);
    const char *own = value_of("TUTTI_JOB");
    const char *job = own || !launcher ? own : value_of(launcher->job);
    const char *step = own || !launcher ? NULL : value_of(launcher->step);
    size_t at = (size_t)used;
    long common = getsid(0);
    if (job) {
        at = append_text(name, at, size, job);
        at = step ? append_text(name, at, size, "-") : at;
        (void)append_text(name, at, size, step ? step : "");
        return TUTTI_OK;
    }
    if (launcher && ranks > 1 && strcmp(launcher->rank, "PMI_RANK") == 0)
        common = process_of_launcher(launcher->rank);
    if (common < 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "shared_memory: %s is set and %s is not, and no process above this "
                          "one is seen to have started the ranks, so that nothing tells this "
                          "job from others; want TUTTI_JOB, one text for all ranks of a job "
                          "and another one for each job",
                          launcher->rank, launcher->job);
    (void)snprintf(name + at, size - at, "%ld", common);
    return TUTTI_OK;
}
