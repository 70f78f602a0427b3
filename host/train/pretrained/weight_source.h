/* weight_source.h - a file of weights, by the names that a model has: prefixes, other names, tensors to be joined. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_TRAIN_PRETRAINED_WEIGHT_SOURCE_H
#define HOST_TRAIN_PRETRAINED_WEIGHT_SOURCE_H

#include "base/json.h"
#include "graph/net/net.h"
#include "train/checkpoint_file/checkpoint.h"

enum { SOURCE_PARTS = 4 };

/* What a file has for a weight: its parts, one behind the other along the first dimension. */
typedef struct source_weight {
    tutti_tensor whole; /* of their common shape and dtype; data is the first part's */
    tutti_tensor parts[SOURCE_PARTS];
    int nparts; /* 0: the file has none */
} source_weight;

typedef struct weight_source {
    const checkpoint *file;
    const json_node *names; /* "names" of a published.json, or NULL */
    const char *prefix;     /* what the file puts before the names */
    bool channels_first;    /* weights of convolutions are PyTorch's, (Cout, Cin, K, K) */
} weight_source;

/* The file as the weights of `n` find the most in it; it, and `names`, outlive the result. */
weight_source weight_source_of(const checkpoint *file, const json_node *names, const net *n);
/* What the file has for the weight of that path: under its own name, or by the first of `names` whose key fits
 * (name_pattern.h); tensors of several names are joined. */
source_weight weight_source_find(const weight_source *s, const char *path);
/* Whether what was found has the weight's shape. */
bool weight_source_fits(const weight_source *s, const source_weight *found,
                        const tutti_desc *want);

#endif
