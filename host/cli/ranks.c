/* ranks.c - commands that a launcher has started several times: what may go on, and what the others are told. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "base/launcher.h"
#include "train/ranks/distributed.h"
#include "train/record/repeat.h"

#include <limits.h>
#include <stdio.h>

/* Of a rank that does not go on: the others have joined, or wait for it.  They hear why where the file says how they
 * find each other; else the launcher ends them. */
static void tell_ranks(const char *path, const char *text, const char *const *sets, registry *r,
                       const char *why)
{
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = distributed_refuse(path, text, sets, r, why, &e);
    if (s == TUTTI_E_NOTFOUND)
        launcher_end_job(CLI_USAGE);
    else if (s)
        (void)fprintf(stderr, "tutti: the other ranks do not hear of it: %s\n", e.text);
}

registry *cli_ranked_registry(const cli_options *o)
{
    registry *r = cli_registry(o);
    if (!r)
        launcher_end_job(CLI_USAGE);
    return r;
}

run_file *cli_ranked_file(const cli_options *o, int kind, registry *r)
{
    char why[CLI_WHY_SIZE] = "", recipe[PATH_MAX];
    run_file *run = cli_read_run(o, kind, r, why);
    if (!run && *why && o->run)
        tell_ranks(cli_run_path(o, recipe, sizeof recipe), NULL, o->sets, r, why);
    else if (!run)
        launcher_end_job(CLI_USAGE);
    return run;
}

static tutti_status open_record(const cli_options *o, run_repeat **ret, tutti_error *err)
{
    if (o->run)
        return tutti_fail(err, TUTTI_E_ARG,
                          "--repeat takes the run file of the record; leave %s out, or change "
                          "the run with --set",
                          o->run);
    return run_repeat_open(o->start.repeat, ret, err);
}

run_file *cli_repeated_file(const cli_options *o, registry *r, run_repeat **ret_repeat)
{
    char why[CLI_WHY_SIZE] = "";
    cli_sets sets;
    tutti_error e = TUTTI_ERROR_INIT;
    if (open_record(o, ret_repeat, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        launcher_end_job(CLI_USAGE);
        return NULL;
    }
    const run_repeat *record = *ret_repeat;
    cli_repeat_sets(o, record, &sets);
    run_file *run = cli_read_repeat(o, record, &sets, r, why);
    if (!run && *why)
        tell_ranks(run_repeat_path(record), run_repeat_text(record), sets.texts, r, why);
    else if (!run)
        launcher_end_job(CLI_USAGE);
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
