/* main.c - the program: finds the command; the one place that joins host and kernels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "op_table.h"
#include "tutti/isa.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {
    &cli_train, &cli_eval,    &cli_predict, &cli_generate, &cli_export,
    &cli_run,   &cli_runs,    &cli_report,  &cli_validate, &cli_explain,
    &cli_plan,  &cli_profile, &cli_plugins, &cli_ops,      &cli_layers,
    &cli_data,  &cli_bench,   &cli_docs,    &cli_version,  NULL};

/* Whether others keep the processors busy: a thread that spins then takes time from the one that it waits for.  For the last
 * minute and now, so that what has just ended does not count. */
static bool processors_are_taken(void)
{
    double load = 0.0;
    long running = 0; /* with this process */
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    FILE *file = fopen("/proc/loadavg", "re");
    const bool known = file && fscanf(file, "%lf %*f %*f %ld/", &load, &running) == 2;
    if (file)
        (void)fclose(file);
    return known && processors > 0 && load > (double)processors && running > processors;
}

/* libgomp's threads spin for seconds of work at every barrier, which starves the data workers when
 * cores are few.  It reads how long to spin when it is loaded, so the program starts itself once more
 * with a short spin, unless the user has chosen; on a machine that is busy already with one that is shorter still. */
static void limit_spinning(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    if (setenv("GOMP_SPINCOUNT", processors_are_taken() ? "500" : "20000", 1) != 0)
        return; /* where that or what follows fails, spinning is only slower */
    /* By its path, which is what ps and top then show. */
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = '\0';
        (void)execv(path, argv);
    }
    (void)execv("/proc/self/exe", argv);
}

static void pass_over(int number)
{
    (void)number;
}

/* Who writes a file beyond its limit (ulimit -f) is told so by the call, and ends with a sentence.  A handler does that where
 * programs that are started from here begin as usual, which they would not with a signal that is ignored. */
static void catch_file_limit(void)
{
    struct sigaction now, action = {.sa_handler = pass_over, .sa_flags = (int)SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        (void)sigaction(SIGXFSZ, &action, NULL);
}

/* What was printed must have gone somewhere. */
static int finish(int status)
{
    const int why = cli_flush();
    if (!why)
        return status;
    (void)fprintf(stderr, "tutti: cannot write to standard output: %s\n", strerror(why));
    return status == CLI_OK ? CLI_FAILED : status;
}

/* TUTTI_ISA lowers the instruction set of the kernels. */
static bool isa_is_known(void)
{
    const char *text = getenv("TUTTI_ISA");
    if (!text || tutti_isa_named(text) >= 0)
        return true;
    (void)fprintf(stderr, "tutti: the environment's TUTTI_ISA is \"%s\", want one of", text);
    const char *name;
    for (int32_t k = 0; (name = tutti_isa_name(k)); k++)
        (void)fprintf(stderr, "%s %s", k ? "," : "", name);
    (void)fprintf(stderr, "\n");
    return false;
}

/* A build for one level of instruction sets runs at that one alone. */
static bool kernels_fit(void)
{
    tutti_error e = TUTTI_ERROR_INIT;
    cli_kernels_only = tutti_op_table_only;
    if (!tutti_op_table_check(&e))
        return true;
    (void)fprintf(stderr, "tutti: %s\n", e.text);
    return false;
}

static int run_command(int argc, char **argv)
{
    if (!isa_is_known())
        return CLI_USAGE;
    if (!kernels_fit())
        return CLI_FAILED;
    return cli_run_line(commands, argc, argv, tutti_op_table);
}

int main(int argc, char **argv)
{
    limit_spinning(argv);
    catch_file_limit();
    crash_handler_install();
    const int status = finish(run_command(argc, argv));
    crash_expect_exit();
    return status;
}
