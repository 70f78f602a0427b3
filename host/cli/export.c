/* export.c - tutti export: the model of a checkpoint in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/export.h"
#include "cli/cli.h"
#include "train/checkpoint_file/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run file that the checkpoint keeps; NULL after saying why there is none. */
static run_file *run_of_checkpoint(const cli_options *o, const char *path, registry *r)
{
    tutti_error e = TUTTI_ERROR_INIT;
    checkpoint *c;
    if (checkpoint_open(path, &c, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return NULL;
    }
    const char *text = checkpoint_value(c, "run");
    run_file *run = NULL;
    if (text)
        run = cli_run_text(o, path, text, r);
    else
        (void)fprintf(
            stderr,
            "tutti: %s: the file does not say which model it is of; give the run file "
            "too: tutti export CHECKPOINT RUN.json\n",
            path);
    checkpoint_close(c);
    return run;
}

static bool batch_of(const char *text, int64_t *ret)
{
    char *end = NULL;
    *ret = text ? strtoll(text, &end, 10) : 0;
    if (!text || (*end == '\0' && *ret > 0))
        return true;
    (void)fprintf(stderr, "tutti: --batch is \"%s\", want a number of samples above 0\n", text);
    return false;
}

static void tell(const char *path, const onnx_report *r)
{
    if (*r->reason)
        (void)fprintf(stderr,
                      "tutti: the file takes batches of %lld alone: %s (--batch gives another "
                      "size)\n",
                      (long long)r->samples, r->reason);
    (void)printf("%s: %u operators, %u weights of %llu bytes%s\n", path, r->nodes, r->weights,
                 (unsigned long long)r->weight_bytes,
                 r->external ? ", in .data beside it" : "");
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    onnx_options options = {.model = NULL};
    onnx_report report;
    cli_options with = *o;
    if (!o->exporting.onnx) {
        (void)fprintf(stderr, "tutti: export needs --onnx FILE\n");
        return CLI_USAGE;
    }
    if (!batch_of(o->exporting.batch, &options.samples))
        return CLI_USAGE;
    with.run = o->nwords > 1 ? o->words[1] : NULL;
    registry *r = cli_registry(o);
    run_file *file = !r         ? NULL
                     : with.run ? cli_run_file(&with, RUN_FILE_TRAIN, r)
                                : run_of_checkpoint(o, o->words[0], r);
    if (!file)
        goto end;
    run_file_forget_loggers(file);
    if (trainer_create(file, r, ops, &t, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    trainer_on_message(t, cli_message, file, o->talk.verbose);
    status = CLI_OK;
    if (trainer_export_onnx(t, o->words[0], o->exporting.onnx, &options, &report, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        status = CLI_FAILED;
    } else
        tell(o->exporting.onnx, &report);

end:
    trainer_destroy(t);
    run_file_free(file);
    registry_destroy(r);
    return status;
}

const cli_command cli_export = {
    .name = "export",
    .args = "CHECKPOINT [RUN.json]",
    .kind = CLI_VALUE_FILE,
    .summary = "write the model of a checkpoint for other programs",
    .doc = "Writes the model in evaluation mode, in f32, with the checkpoint's weights as an "
           "ONNX file (opset 17).  The run file is the one that the checkpoint keeps; another "
           "program's weights need RUN.json.  Batches of any size go in where the model allows "
           "it.",
    .more = "Exit status: 0 written, 1 failed, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_EXPORT,
    .least = 1,
    .most = 2,
    .run = run,
};
