/* bench_peak.c - what this machine can do at best: multiply-adds a second, bytes a second. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"
#include "cli/cli.h"
#include "cli/machine_bound.h"
#include "cli/machine_peak.h"

#include <stdio.h>
#include <stdlib.h>

int bench_peak(const cli_options *o, const tutti_op *const *ops)
{
    static const char *const dtypes[MACHINE_PEAKS] = {"f32", "bf16", "bf16", "f16"};
    const char *text = getenv("OMP_NUM_THREADS");
    int threads = text ? (int)strtol(text, NULL, 10) : 0;
    double bytes = 0.0;
    tutti_error err = TUTTI_ERROR_INIT;
    if (threads < 1)
        threads = cpus_available();
    if (machine_measure_bytes(threads, &bytes, &err)) {
        (void)fprintf(stderr, "tutti: %s\n", err.text);
        return CLI_FAILED;
    }
    (void)printf("%d thread%s\n", threads, threads == 1 ? "" : "s");
    for (int k = 0; k < MACHINE_PEAKS; k++)
        if (machine_peak_name(k))
            (void)printf("%-5s %-28s %9.1f GFLOP/s\n", dtypes[k], machine_peak_name(k),
                         machine_peak(k, threads) * 1e-9);
    (void)printf("%-5s %-28s %9.1f GB/s\n", "triad", "a = b + s c", bytes * 1e-9);
    return CLI_OK;
}
