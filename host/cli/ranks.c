/* ranks.c - commands that a launcher has started several times: what may go on, and what the others are told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/launcher.h"
#include "train/ranks/distributed.h"

#include <limits.h>
#include <stdio.h>

/* The other ranks of the run have joined, or wait for this one. */
static void tell_ranks(const cli_options *o, registry *r, const char *why)
{
    char recipe[PATH_MAX];
    tutti_error e = TUTTI_ERROR_INIT;
    const char *path = cli_run_path(o, recipe, sizeof recipe);
    if (distributed_refuse(path, o->sets, r, why, &e))
        (void)fprintf(stderr, "tutti: the other ranks do not hear of it: %s\n", e.text);
}

run_file *cli_ranked_file(const cli_options *o, int kind, registry *r)
{
    char why[CLI_WHY_SIZE] = "";
    run_file *run = cli_read_run(o, kind, r, why);
    if (!run && *why && o->run)
        tell_ranks(o, r, why);
    return run;
}

/* Whether this process is alone; `what` several would do is said. */
static bool is_alone(const char *what, const char *want)
{
    const char *launcher;
    int n = 1;
    tutti_error e = TUTTI_ERROR_INIT;
    if (launcher_processes(&n, &launcher, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return false;
    }
    if (n > 1)
        (void)fprintf(stderr,
                      "tutti: %s has started %d processes, each of which would %s; %s\n",
                      launcher, n, what, want);
    return n <= 1;
}

bool cli_may_train(const run_file *run)
{
    return run->distributed.comm.object ||
           is_alone("train the whole run and write the same files",
                    "start one, or give the run file a \"distributed\" object");
}

bool cli_may_predict(const run_file *run)
{
    return run->distributed.comm.object ||
           is_alone("compute all outputs and write the same file",
                    "start one, or give the run file a \"distributed\" object");
}

bool cli_may_export(void)
{
    return is_alone("write the same files", "start one");
}
