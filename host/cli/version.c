/* version.c - tutti version. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "tutti/isa.h"
#include "tutti_host/device.h"

#include <stdio.h>

int32_t cli_kernels_only = -1;

/* Opening one tells whether this build has code for it. */
static void print_gpus(void)
{
    const tutti_device_v1 *cuda = tutti_device_cuda();
    uint32_t k = 0;
    do {
        tutti_device d;
        tutti_error e = TUTTI_ERROR_INIT;
        if (tutti_device_open(cuda, NULL, k, &d, &e)) {
            (void)printf("no GPU: %s\n", e.text);
            continue;
        }
        (void)printf("cuda:%u: %s\n", k, d.info.name);
        tutti_device_close(&d);
    } while (++k < cuda->count(NULL));
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    size_t n = 0;
    while (ops[n])
        n++;
    (void)printf("tutti %s, plugin ABI %u.%u, %zu operations\n", TUTTI_VERSION, TUTTI_ABI >> 16,
                 TUTTI_ABI & 0xFFFFu, n);
    (void)printf("instruction set: %s; this CPU's: %s\n", tutti_isa_name(tutti_isa()),
                 tutti_isa_name(tutti_isa_cpu()));
    if (cli_kernels_only >= 0)
        (void)printf("kernels: built for %s alone\n", tutti_isa_name(cli_kernels_only));
    print_gpus();
    return CLI_OK;
}

const cli_command cli_version = {
    .name = "version",
    .args = "",
    .kind = CLI_VALUE_NONE,
    .summary = "print the versions of the program and its ABI",
    .doc = "Prints the versions of the program and its plugin ABI, the instruction set and the "
           "GPUs.",
    .more = "Exit status: 0 printed, 2 wrong usage.",
    .takes = 0,
    .least = 0,
    .most = 0,
    .run = run,
};
