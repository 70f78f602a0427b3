/* export.h - a run's model in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_EXPORT_H
#define HOST_TRAIN_TRAINER_EXPORT_H

#include "export/onnx.h"
#include "train/trainer/trainer.h"

/* Instead of a fit: the model with the weights of `checkpoint` (as `resume` of trainer_fit) as an ONNX file.
 * `o->model` NULL: the run's model.  Errors: those of onnx_export.  [control] */
TUTTI_NODISCARD tutti_status trainer_export_onnx(trainer *t, const char *checkpoint,
                                                 const char *path, const onnx_options *o,
                                                 onnx_report *ret_report, tutti_error *err);

#endif
