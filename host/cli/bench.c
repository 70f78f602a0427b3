/* bench.c - tutti bench: how long a part of the host takes on this machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static int run(const cli_options *o, const tutti_op *const *ops)
{
    if (o->nwords == 1 && strcmp(o->words[0], "dispatch") == 0)
        return bench_dispatch();
    if (o->nwords == 1 && strcmp(o->words[0], "plan") == 0)
        return bench_plan(ops);
    if (o->nwords == 1 && strcmp(o->words[0], "kernels") == 0)
        return bench_kernels(ops);
    if ((o->nwords == 1 || o->nwords == 3) && strcmp(o->words[0], "optimizer") == 0)
        return bench_optimizer(o);
    if ((o->nwords == 1 || o->nwords == 2) && strcmp(o->words[0], "loader") == 0) {
        cli_options own = *o;
        own.run = o->nwords == 2 ? o->words[1] : NULL;
        return bench_loader(&own);
    }
    (void)fprintf(stderr,
                  "tutti: there is nothing to measure called %s; `tutti help bench` tells "
                  "what there is\n",
                  o->words[0]);
    return CLI_USAGE;
}

const cli_command cli_bench = {
    .name = "bench",
    .args = "WHAT [ARGUMENT...]",
    .kind = CLI_VALUE_ANY,
    .summary = "measure a part of the host",
    .doc = "Measures a part of the host on this machine.",
    .more = "dispatch   the 13 events of one training batch with 0, 5, 10 and 20\n"
            "           algorithms that do not match, beside direct calls by hand\n"
            "plan       replaying 1,000 kernels that do nothing; finding, building and\n"
            "           switching plans of several shapes\n"
            "kernels    the kernels' shares of the triad's bytes a second, or of the\n"
            "           best arithmetic here; OMP_NUM_THREADS threads, or one a\n"
            "           processor\n"
            "optimizer  one update of all weights, without and with their copies in\n"
            "           16 bits, beside the triad a = b + s c.  With NAME and COUNT:\n"
            "           updates of COUNT weights, in blocks asked for on standard input\n"
            "loader     [RUN.json]: three epochs of its training data, without a model\n"
            "\n"
            "Exit status: 0 measured, 1 failed, 2 wrong usage.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN,
    .least = 1,
    .most = 3,
    .run = run,
};
