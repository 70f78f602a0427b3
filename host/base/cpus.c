/* cpus.c - affinity, quotas of CPU time, how long threads have waited for it, the model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"
#include "base/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The smallest quota so far, in CPUs. */
static void tighten(void *context, const char *folder, bool second)
{
    int *least = context;
    uint64_t time[2]; /* microseconds of each period, and the period */
    const int found = second ? cgroup_numbers(folder, "cpu.max", time, 2)
                             : cgroup_numbers(folder, "cpu.cfs_quota_us", time, 1) +
                                   cgroup_numbers(folder, "cpu.cfs_period_us", time + 1, 1);
    if (found != 2 || !time[1])
        return;
    const uint64_t cpus = time[0] / time[1] + (time[0] % time[1] != 0);
    if (cpus < (uint64_t)*least)
        *least = cpus ? (int)cpus : 1;
}

int cpus_in_groups(const char *root, const char *groups)
{
    int least = INT_MAX;
    cgroup_walk(root, groups, "cpu", tighten, &least);
    return least;
}

int cpus_available(void)
{
    char groups[CGROUP_TEXT_SIZE];
    cpu_set_t set;
    const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const int quota = cpus_in_groups(CGROUP_ROOT, cgroup_own(groups));
    const int n = quota < allowed ? quota : allowed;
    return n > 0 ? n : 1;
}

/* Of a thread: the second number of its statistics. */
static int64_t waited_ns(int folder, const char *thread)
{
    char path[300], text[96];
    long long ran, waited;
    (void)snprintf(path, sizeof path, "%.255s/schedstat", thread);
    const int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        (void)close(file);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : 0;
}

int64_t cpus_waited_ns(void)
{
    const struct dirent *entry;
    int64_t sum = 0;
    DIR *threads = opendir("/proc/self/task");
    while (threads && (entry = readdir(threads)))
        if (entry->d_name[0] != '.')
            sum += waited_ns(dirfd(threads), entry->d_name);
    if (threads)
        (void)closedir(threads);
    return sum;
}

/* "model name : Intel(R) Xeon(R) ..." of the first CPU. */
char *cpus_model(void)
{
    char line[256], model[256] = "unknown";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %255[^\t\n]", model) == 1)
            break;
    if (!file && errno == ENOMEM)
        return NULL;
    if (file)
        (void)fclose(file);
    return strdup(model);
}
