/* version.c - tutti version. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

int cli_version(int argc, char **argv, const tutti_op *const *ops)
{
    cli_options o;
    const int status = cli_read(
        argc, argv, "usage: tutti version\n\nExit status: 0 printed, 2 wrong usage.\n", &o);
    if (status || o.help)
        return status;
    size_t n = 0;
    while (ops[n])
        n++;
    (void)printf("tutti %s, plugin ABI %u.%u, %zu operations\n", TUTTI_VERSION, TUTTI_ABI >> 16,
                 TUTTI_ABI & 0xFFFFu, n);
    return CLI_OK;
}
