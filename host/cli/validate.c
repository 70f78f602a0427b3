/* validate.c - tutti validate: everything wrong with a run file, or "valid". */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

static const char usage[] =
    "usage: tutti validate RUN.json [--set path=value]... [--plugin-path DIR]...\n\n"
    "Checks a run file against the manifests of its plugins; trains nothing, opens no data.\n"
    "Exit status: 0 valid, 2 not.\n";

int cli_validate(int argc, char **argv, const tutti_op *const *ops)
{
    (void)ops;
    cli_options o;
    const int status = cli_read(argc, argv, usage, &o);
    if (status || o.help)
        return status;
    if (o.nwords != 1) {
        (void)fputs(usage, stderr);
        return CLI_USAGE;
    }
    registry *r = cli_registry(&o);
    run_file *run = r ? cli_run(&o, RUN_FILE_ANY, r) : NULL;
    if (run)
        (void)printf("%s is valid\n", o.run);
    const int result = run ? CLI_OK : CLI_USAGE;
    run_file_free(run);
    registry_destroy(r);
    return result;
}
