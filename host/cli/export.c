/* export.c - tutti export: the model of a checkpoint in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/export.h"
#include "cli/cli.h"
#include "train/fetch/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The run file that the checkpoint keeps; NULL after saying why there is none. */
static run_file *run_of_checkpoint(const cli_options *o, const char *path, registry *r)
{
    tutti_error e = TUTTI_ERROR_INIT;
    checkpoint *c;
    fetched *here = NULL;
    if (fetch_open(&(fetch_source){.registry = r}, path, &here, &c, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        return NULL;
    }
    const char *text = checkpoint_value(c, "run");
    run_file *run = NULL;
    if (text)
        run = cli_run_text(o, path, text, RUN_FILE_MODEL, r);
    else
        (void)fprintf(
            stderr,
            "tutti: %s: the file does not say which model it is of; give the run file "
            "too: tutti export CHECKPOINT RUN.json\n",
            path);
    checkpoint_close(c);
    if (run)
        run->source.fetched = here;
    else
        fetched_free(here);
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

/* "2GB", "300MB", "4096" bytes. */
static bool size_of(const char *text, uint64_t *ret)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } units[] = {{"", 1}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}};
    char *end = NULL;
    const double number = text ? strtod(text, &end) : 0.0;
    *ret = 0;
    for (size_t k = 0; text && k < sizeof units / sizeof *units; k++)
        if (end != text && strcmp(end, units[k].name) == 0 && number >= 1.0 && number < 1e9)
            *ret = (uint64_t)(number * (double)units[k].bytes);
    if (!text || *ret)
        return true;
    (void)fprintf(stderr, "tutti: --shard-size is \"%s\", want a size such as 2GB or 300MB\n",
                  text);
    return false;
}

static void tell_onnx(const char *path, const onnx_report *r)
{
    if (*r->reason)
        (void)fprintf(stderr,
                      "tutti: the file takes batches of %lld alone: %s (--batch gives another "
                      "size)\n",
                      (long long)r->samples, r->reason);
    (void)fprintf(cli_notes(path), "%s: %u operators, %u weights of %llu bytes%s\n", path,
                  r->nodes, r->weights, (unsigned long long)r->weight_bytes,
                  r->external ? ", in .data beside it" : "");
}

static void tell_folder(const char *path, const publish_report *r)
{
    (void)printf("%s: %s, %u weights of %llu bytes in %u file%s, %u other file%s\n", path,
                 r->architecture, r->tensors, (unsigned long long)r->bytes, r->shards,
                 r->shards == 1 ? "" : "s", r->copied, r->copied == 1 ? "" : "s");
}

/* What the command line asks for. */
typedef struct wanted {
    onnx_options onnx;
    uint64_t shard_bytes;
} wanted;

static bool read_wanted(const cli_exporting *o, wanted *ret)
{
    *ret = (wanted){.onnx = {.model = NULL}};
    if (!o->onnx == !o->huggingface)
        (void)fprintf(stderr, "tutti: export needs %s\n",
                      o->onnx ? "either --onnx or --huggingface"
                              : "--onnx FILE or --huggingface FOLDER");
    else if (o->batch && !o->onnx)
        (void)fprintf(stderr, "tutti: --batch is of --onnx\n");
    else if (o->shard_size && !o->huggingface)
        (void)fprintf(stderr, "tutti: --shard-size is of --huggingface\n");
    else
        return batch_of(o->batch, &ret->onnx.samples) &&
               size_of(o->shard_size, &ret->shard_bytes);
    return false;
}

static int export_model(const cli_options *o, const wanted *w, trainer *t)
{
    tutti_error e = TUTTI_ERROR_INIT;
    const cli_exporting *to = &o->exporting;
    onnx_report file;
    publish_report folder;
    const tutti_status s =
        to->onnx ? trainer_export_onnx(t, o->words[0], to->onnx, &w->onnx, &file, &e)
                 : trainer_export_folder(t, o->words[0], to->huggingface, w->shard_bytes,
                                         &folder, &e);
    if (s)
        (void)fprintf(stderr, "tutti: %s\n", e.text);
    else if (to->onnx)
        tell_onnx(to->onnx, &file);
    else
        tell_folder(to->huggingface, &folder);
    return s ? CLI_FAILED : CLI_OK;
}

static int run(const cli_options *o, const tutti_op *const *ops)
{
    int status = CLI_USAGE;
    trainer *t = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    wanted w;
    cli_options with = *o;
    if (!read_wanted(&o->exporting, &w) || !cli_may_export())
        return CLI_USAGE;
    with.run = o->nwords > 1 ? o->words[1] : NULL;
    registry *r = cli_registry(o);
    run_file *file = !r         ? NULL
                     : with.run ? cli_run_file(&with, RUN_FILE_MODEL, r)
                                : run_of_checkpoint(o, o->words[0], r);
    if (!file)
        goto end;
    run_file_forget_loggers(file);
    if (trainer_create(file, r, ops, &t, &e)) {
        (void)fprintf(stderr, "tutti: %s\n", e.text);
        goto end;
    }
    trainer_on_message(t, cli_message, file, o->talk.verbose);
    cli_tell_closed_pipes();
    status = export_model(o, &w, t);

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
    .doc =
        "Writes the model in f32 with the checkpoint's weights: as an ONNX file (opset 17) of "
        "its "
        "forward pass in evaluation mode, or as a folder that Hugging Face's libraries read.  "
        "The run file is the one that the checkpoint keeps; another program's weights need "
        "RUN.json.  Batches of any size go into an ONNX file where the model allows it.",
    .more = "Exit status: 0 written, 1 failed, 2 wrong usage or input.",
    .takes = CLI_TAKES_PLUGINS | CLI_TAKES_RUN | CLI_TAKES_TALK | CLI_TAKES_EXPORT,
    .least = 1,
    .most = 2,
    .run = run,
};
