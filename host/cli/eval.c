/* eval.c - tutti eval: the evaluations of a run file with the weights of a checkpoint. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_ranked_registry(o);
    run_file *run = r ? cli_ranked_file(o, RUN_FILE_MODEL, r) : NULL;
    if (!run)
        goto end;
    if (!cli_has_weights(o, run, "eval"))
        goto end;
    t = cli_trainer_of_model(o, run, r, ops);
    if (!t)
        goto end;
    status = CLI_OK;
    if (trainer_eval(t, o->resume, &e)) {
        cli_print_failure(run, e.text);
        status = e.status == TUTTI_E_INTERRUPTED ? cli_signal_status() : CLI_FAILED;
    } else if (run->distributed.rank == 0)
        cli_print_metrics(t, run);

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_eval = {
    .name = "eval",
    .args = "RUN.json",
    .kind = CLI_VALUE_RUN,
    .summary = "evaluate the model of a checkpoint",
    .doc = "Runs every evaluation of RUN.json once and prints its metrics; trains nothing.  "
           "Needs --checkpoint, or \"load_weights\" in RUN.json; the file may be another "
           "program's.",
    .more = "Exit status: 0 evaluated, 1 failed, 2 wrong usage or input, 128 + signal when "
            "stopped.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_CHECKPOINT,
    .least = 1,
    .most = 1,
    .run = run,
};
