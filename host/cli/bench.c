/* bench.c - tutti bench: how long a part of the host takes on this machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tutti bench dispatch | plan | kernels | optimizer [NAME COUNT]\n"
    "       tutti bench loader [RUN.json] [--set PATH=VALUE]...\n\n"
    "  dispatch   the 13 events of one training batch with 0, 5, 10 and 20 algorithms that do\n"
    "             not match, beside a loop of direct calls by hand\n"
    "  plan       replaying 1,000 kernels that do nothing; finding, building and switching\n"
    "             plans of several shapes\n"
    "  kernels    the kernels' shares of the triad's bytes a second, or of the best\n"
    "             arithmetic here; OMP_NUM_THREADS threads, or one a processor\n"
    "  optimizer  one update of all weights, without and with their copies in 16 bits, beside\n"
    "             the triad a = b + s c.  With NAME and COUNT: updates of COUNT weights,\n"
    "             in blocks asked for on standard input\n"
    "  loader     three epochs of the run's training data, without a model\n"
    "Exit status: 0 measured, 1 failed, 2 wrong usage.\n";

int cli_bench(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    const int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    if (o.nwords == 1 && strcmp(o.words[0], "dispatch") == 0)
        return bench_dispatch();
    if (o.nwords == 1 && strcmp(o.words[0], "plan") == 0)
        return bench_plan(ops);
    if (o.nwords == 1 && strcmp(o.words[0], "kernels") == 0)
        return bench_kernels(ops);
    if ((o.nwords == 1 || o.nwords == 3) && strcmp(o.words[0], "optimizer") == 0)
        return bench_optimizer(&o);
    if ((o.nwords == 1 || o.nwords == 2) && strcmp(o.words[0], "loader") == 0) {
        o.run = o.nwords == 2 ? o.words[1] : NULL;
        return bench_loader(&o);
    }
    (void)fputs(usage, stderr);
    return CLI_USAGE;
}
