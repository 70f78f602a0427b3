/* pretrained.h - weights taken by name from a .safetensors file, whoever wrote it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PRETRAINED_PRETRAINED_H
#define HOST_TRAIN_PRETRAINED_PRETRAINED_H

#include "graph/net/net.h"
#include "train/pretrained/load_report.h"
#include "train/run_file/run_file.h"

/* Writes the tensors of file `path` into the weights and buffers of the same names; a name in the file
 * may begin with "model." or "transformer.", and end in LayerNorm.gamma and LayerNorm.beta for weight
 * and bias.  Numbers are converted where a dtype differs; weights of convolutions are transposed where the
 * file has them as PyTorch does, (Cout, Cin, K, K).
 * *ret_unused counts the file's tensors that the model does not have.  [control]
 * Errors, with the weights as they were: those of checkpoint_open; E_NOTFOUND a weight is not in the
 * file; E_SHAPE one has another shape there. */
TUTTI_NODISCARD tutti_status pretrained_load(net *n, const char *path, uint64_t *ret_unused,
                                             tutti_error *err);
/* The same of an open file, with the rules of a run file: what it ignores is left as it is, and unless it is strict
 * what does not fit too.  `report`, of zeros, says of every weight what became of it; the caller ends it. */
TUTTI_NODISCARD tutti_status pretrained_take(net *n, const char *path, const checkpoint *c,
                                             const run_checkpoints *rules, load_report *report,
                                             tutti_error *err);

#endif
