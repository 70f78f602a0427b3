/* export.c - a run's model in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer/export.h"

#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"

tutti_status trainer_export_onnx(trainer *t, const char *checkpoint, const char *path,
                                 const onnx_options *o, onnx_report *ret_report,
                                 tutti_error *err)
{
    onnx_options options = *o;
    const tutti_status s = trainer_begin(t, checkpoint, err);
    if (!options.model)
        options.model = t->run.file->name;
    return s ? s : onnx_export(t->run.net, path, &options, ret_report, err);
}
