/* bench.c - tutti bench: how long a part of the host takes on this machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: tutti bench dispatch\n\n"
    "  dispatch   the 13 events of one training batch with 0, 5, 10 and 20 algorithms that do\n"
    "             not match, beside a loop of direct calls by hand\n";

int cli_bench(int argc, char **argv, const tutti_op *const *ops)
{
    (void)ops;
    cli_options o;
    const int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    if (o.nwords == 1 && strcmp(o.words[0], "dispatch") == 0)
        return bench_dispatch();
    (void)fputs(usage, stderr);
    return CLI_USAGE;
}
