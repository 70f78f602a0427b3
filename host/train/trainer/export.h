/* export.h - a run's model in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_TRAINER_EXPORT_H
#define HOST_TRAIN_TRAINER_EXPORT_H

#include "export/onnx.h"
#include "train/publish/publish.h"
#include "train/trainer/trainer.h"
#include "tutti/export.h"

/* Instead of a fit: the model with the weights of `checkpoint` (as `resume` of trainer_fit) as an ONNX file.
 * `o->model` NULL: the run's model.  Errors: those of onnx_export.  [control] */
TUTTI_NODISCARD tutti_status trainer_export_onnx(trainer *t, const char *checkpoint,
                                                 const char *path, const onnx_options *o,
                                                 onnx_report *ret_report, tutti_error *err);
/* The same as a folder of Hugging Face's libraries, with the tokenizer.json of the training data (their setting
 * tokenizer_file) and what stands beside the weights that the run began with.  Errors: those of publish_folder.
 * [control] */
TUTTI_NODISCARD tutti_status trainer_export_folder(trainer *t, const char *checkpoint,
                                                   const char *folder, uint64_t shard_bytes,
                                                   publish_report *ret_report,
                                                   tutti_error *err);
/* Fills the table: the same of a run under way. */
void export_service_init(tutti_export_v1 *s, trainer *t);

#endif
