/* predict.c - tutti predict: a model's outputs for a data set, in a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include "cli/predict_file.h"

#include <stdio.h>

static tutti_status put_rows(void *ctx, const tutti_tensor *output, tutti_error *err)
{
    return predict_file_add(ctx, output, err);
}

static const char *class_name(void *ctx, int64_t k)
{
    return trainer_class_name(ctx, k);
}

static tutti_status predict_into(trainer *t, const cli_options *o, const run_file *run,
                                 tutti_error *err)
{
    predict_file *f;
    int64_t rows = 0;
    if (run->distributed.rank != 0) /* rank 0 gets all rows */
        return trainer_predict(t, o->resume, o->predicting.data, put_rows, NULL, err);
    tutti_status s = predict_file_open(o->predicting.output, o->predicting.format, &f, err);
    if (s)
        return s;
    predict_file_name_classes(f, class_name, t);
    s = trainer_predict(t, o->resume, o->predicting.data, put_rows, f, err);
    const tutti_status closed = predict_file_close(f, s == TUTTI_OK, &rows, err);
    if (!s && !closed)
        (void)fprintf(cli_notes(o->predicting.output), "%lld predictions\n", (long long)rows);
    return s ? s : closed;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    if (!o->predicting.output) {
        (void)fprintf(stderr, "tutti: predict needs --output\n");
        return CLI_USAGE;
    }
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    registry *r = cli_ranked_registry(o);
    run_file *run = r ? cli_ranked_file(o, RUN_FILE_MODEL, r) : NULL;
    if (!run || !cli_may_predict(run))
        goto end;
    if (!cli_has_weights(o, run, "predict"))
        goto end;
    t = cli_trainer_of_model(o, run, r, ops);
    if (!t)
        goto end;
    status = CLI_OK;
    if (predict_into(t, o, run, &e)) {
        cli_print_failure(run, e.text);
        status = e.status == TUTTI_E_INTERRUPTED ? cli_signal_status() : CLI_FAILED;
    }

end:
    trainer_destroy(t);
    run_file_free(run);
    registry_destroy(r);
    return status;
}

const cli_command cli_predict = {
    .name = "predict",
    .args = "RUN.json",
    .kind = CLI_VALUE_RUN,
    .summary = "write a model's outputs for a data set",
    .doc =
        "Writes the model's outputs, one row a sample in the data's order, as a NumPy "
        "array, CSV or JSON lines; the last two also have the likeliest class where the data "
        "have names for classes.  Needs --output, and --checkpoint or \"load_weights\" in "
        "RUN.json; the file "
        "may be another program's.",
    .more =
        "Exit status: 0 written, 1 failed, 2 wrong usage or input, 128 + signal when stopped.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_CHECKPOINT |
             CLI_TAKES_OUTPUT,
    .least = 1,
    .most = 1,
    .run = run,
};
