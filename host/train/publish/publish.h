/* publish.h - a model as a folder of Hugging Face's libraries: config.json and weights under their names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PUBLISH_PUBLISH_H
#define HOST_TRAIN_PUBLISH_PUBLISH_H

#include "graph/net/net.h"

/* The model; all borrowed. */
typedef struct publish_model {
    const net *net;
    const instance *model;       /* that built the net */
    const tutti_column *columns; /* that the net was built for */
    uint32_t ncolumns;
    const char *began;     /* the folder that its weights came from, or NULL */
    const char *tokenizer; /* a tokenizer.json, or NULL */
} publish_model;

typedef struct publish_report {
    char architecture[96];            /* "LlamaForCausalLM" */
    uint64_t bytes;                   /* of weights */
    uint32_t tensors, shards, copied; /* files that stand beside them */
    uint32_t reserved;
} publish_report;

/* Writes `folder`, which is made: model.safetensors, or shards of at most `shard_bytes` (0: 5 GB) and
 * model.safetensors.index.json; the tokenizer's files; config.json last.  Files of these names are replaced.  How, say
 * these members of published.json (run_published.h has the others):
 *   "writes": forms, tried in their order, the first whose config.json reads back as the model's settings is taken.  A
 *     form has "config", constants; "measures", a member and where its number is: [path of a weight, dimension] as
 *     the model has it, [column, dimension] of a sample, or an array of such; "prefix" for the model's own names of
 *     weights, or "names": true, which takes those of "names";
 *   "only": a setting, and the values of others with which it is written;
 *   "where_null": a setting, and the one whose value it has where it is null;
 *   "left_out": settings that need not stand there, since weights or nothing but training show them;
 *   "keeps": members of the config.json in `began` that the new one has too.
 * Errors: E_UNSUPPORTED the model's plugin says nothing of such folders; E_STATE algorithms have changed the modules,
 * or no form has these settings; E_IO; E_NOMEM.  [control] */
TUTTI_NODISCARD tutti_status publish_folder(const publish_model *m, const char *folder,
                                            uint64_t shard_bytes, publish_report *ret_report,
                                            tutti_error *err);

#endif
