/* validate.c - tutti validate: everything wrong with a run file, or "valid". */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

static int run(const cli_options *o, const tutti_op *const *ops)
{
    registry *r = cli_registry(o);
    run_file *run = r ? cli_run_file(o, RUN_FILE_ANY, r) : NULL;
    if (run)
        (void)printf("%s is valid\n", o->run);
    const int result = run ? CLI_OK : CLI_USAGE;
    run_file_free(run);
    registry_destroy(r);
    return result;
}

const cli_command cli_validate = {
    .name = "validate",
    .args = "RUN.json",
    .kind = CLI_VALUE_RUN,
    .summary = "check a run file and say everything that is wrong",
    .doc = "Checks a run file or an engine file against the manifests of its plugins; trains "
           "nothing, opens no data.",
    .more = "Exit status: 0 valid, 2 not.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN,
    .least = 1,
    .most = 1,
    .run = run,
};
