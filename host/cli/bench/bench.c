/* bench.c - tutti bench: how long a part of the host takes on this machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static const cli_use uses[] = {
    {"dispatch", "", CLI_VALUE_NONE,
     "measures the 13 events of one training batch with 0, 5, 10 and 20 algorithms that do not "
     "match, beside direct calls by hand.",
     0, 0, bench_dispatch},
    {"plan", "", CLI_VALUE_NONE,
     "measures replaying 1,000 kernels that do nothing; finding, building and switching plans "
     "of several shapes.",
     0, 0, bench_plan},
    {"kernels", "", CLI_VALUE_NONE,
     "measures the kernels' shares of the triad's bytes a second, or of the best arithmetic "
     "here; with OMP_NUM_THREADS threads, or one a processor.",
     0, 0, bench_kernels},
    {"peak", "", CLI_VALUE_NONE,
     "measures the most multiply-adds a second, in f32 and bf16, and the triad's bytes a "
     "second; "
     "with OMP_NUM_THREADS threads, or one a processor.",
     0, 0, bench_peak},
    {"optimizer", "[NAME COUNT]", CLI_VALUE_OBJECT,
     "measures one update of all weights, without and with their copies in 16 bits, beside the "
     "triad a = b + s c.  With NAME and COUNT: updates of COUNT weights, in blocks asked for "
     "on standard input.",
     0, 2, bench_optimizer},
    {"loader", "[RUN.json]", CLI_VALUE_RUN,
     "measures three epochs of the run's training data, without a model.", 0, 1, bench_loader},
    {NULL, NULL, 0, NULL, 0, 0, NULL}};

const cli_command cli_bench = {
    .name = "bench",
    .kind = CLI_VALUE_ANY,
    .summary = "measure a part of the host",
    .doc = "Measures a part of the host on this machine.",
    .more = "Exit status: 0 measured, 1 failed, 2 wrong usage.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN,
    .uses = uses,
};
