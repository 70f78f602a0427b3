/* export.c - a run's model in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/export.h"

#include "base/released.h"
#include "base/text.h"
#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"

#include <stdio.h>
#include <string.h>

static tutti_status write_onnx(trainer *t, const char *path, const onnx_options *o,
                               onnx_report *ret_report, tutti_error *err)
{
    onnx_options options = *o;
    if (!options.model)
        options.model = t->run.file->name;
    const tutti_status s = net_fill_weights(t->run.net, err);
    return s ? s : onnx_export(t->run.net, path, &options, ret_report, err);
}

tutti_status trainer_export_onnx(trainer *t, const char *checkpoint, const char *path,
                                 const onnx_options *o, onnx_report *ret_report,
                                 tutti_error *err)
{
    const tutti_status s = trainer_begin(t, checkpoint, err);
    return s ? s : write_onnx(t, path, o, ret_report, err);
}

/* The tokenizer.json of a data set, by its setting of that name; NULL: it has none. */
static const char *tokenizer_of(const data_source *data)
{
    return data->dataset ? tutti_param_str(instance_params(data->dataset), "tokenizer_file")
                         : NULL;
}

/* The folder of the file that the run's weights came from, in `text`; NULL: it began with none, or one of elsewhere. */
static const char *began_with(const run_file *file, char *text, size_t size)
{
    const char *weights = file->checkpoints.weights;
    const char *slash = weights ? strrchr(weights, '/') : NULL;
    if (!weights || text_is_address(weights))
        return NULL;
    (void)snprintf(text, size, "%.*s", slash ? (int)(slash - weights) : 1,
                   slash ? weights : ".");
    return text;
}

static tutti_status write_folder(trainer *t, const char *folder, uint64_t shard_bytes,
                                 publish_report *ret_report, tutti_error *err)
{
    char began[4096];
    publish_model m = {.net = t->run.net,
                       .model = t->run.model,
                       .began = began_with(t->run.file, began, sizeof began),
                       .tokenizer = tokenizer_of(&t->train)};
    m.columns = loader_columns(t->train.loader, &m.ncolumns);
    const tutti_status s = net_fill_weights(t->run.net, err);
    return s ? s : publish_folder(&m, folder, shard_bytes, ret_report, err);
}

tutti_status trainer_export_folder(trainer *t, const char *checkpoint, const char *folder,
                                   uint64_t shard_bytes, publish_report *ret_report,
                                   tutti_error *err)
{
    const tutti_status s = trainer_begin(t, checkpoint, err);
    return s ? s : write_folder(t, folder, shard_bytes, ret_report, err);
}

/* ---- tutti.export/1 ---- */

static tutti_status export_write(void *ctx, const tutti_export *what, tutti_error *err)
{
    static const onnx_options as_it_is = {.model = NULL};
    onnx_report file;
    publish_report folder;
    const trainer *t = ctx;
    const tutti_status s = RELEASED_TAKE(tutti_export, what, err);
    if (s)
        return s;
    if (t->distributed.gradients.weights.sharded)
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s: weights are divided among the processes since nobody asked for "
                          "them; want a plugin that asks for " TUTTI_EXPORT_V1
                          " when it opens, or \"sharding\": \"none\" of \"distributed\"",
                          what->path);
    if (strcmp(what->format, "onnx") == 0)
        return write_onnx(ctx, what->path, &as_it_is, &file, err);
    if (strcmp(what->format, "huggingface") == 0)
        return write_folder(ctx, what->path, 0, &folder, err);
    return tutti_fail(err, TUTTI_E_ARG,
                      "%s: there is no format \"%s\", want onnx or huggingface", what->path,
                      what->format);
}

void export_service_init(tutti_export_v1 *s, trainer *t)
{
    *s = (tutti_export_v1){.struct_size = sizeof *s, .ctx = t, .write = export_write};
}
