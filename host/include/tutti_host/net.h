/* net.h - a model of a plugin and its optimizer, for supervised loops of your own. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HOST_NET_H
#define TUTTI_HOST_NET_H

#include "tutti/dataset.h"
#include "tutti/weights.h"
#include "tutti_host/supervised.h"

TUTTI_C_BEGIN
#pragma GCC visibility push(default)

typedef struct tutti_net tutti_net; /* opaque */

typedef struct tutti_net_options {
    uint32_t struct_size;
    int32_t precision; /* of activations: TUTTI_PRECISION_*; an amp step wants the same */
    /* The model and the optimizer as run files have them: {"name": "mlp", "hidden": [64]}.  Without an
     * optimizer (NULL) the net serves evaluators alone. */
    const char *model;
    const char *optimizer;
    /* What one sample has, without the batch: the model's input and its target, by their names
     * ("input", "target").  Copied. */
    const tutti_column *columns;
    uint32_t ncolumns;
    int32_t
        threads; /* of kernels and of the calling thread's OpenMP; 0: as many as there are CPUs */
    uint64_t seed; /* of first weights, dropout and the like */
    /* Folders of plugins before those of the search path, NULL at the end; may be NULL.  The search
     * path is the program's, with lib/tutti/plugins beside libtutti. */
    const char *const *plugin_paths;
    const tutti_device *device; /* where it lives; borrowed; NULL: the host */
    /* One line for what somebody should know: a plugin that cannot be used, a message of the model's;
     * level is TUTTI_LOG_*.  May be NULL.  [any] */
    void (*report)(void *ctx, int32_t level, const char *text);
    void *report_ctx;
} tutti_net_options;

#define TUTTI_NET_INIT                                                                         \
    {                                                                                          \
        (uint32_t)sizeof(tutti_net_options), TUTTI_PRECISION_F32, NULL, NULL, NULL, 0, 0, 0,   \
            NULL, NULL, NULL, NULL                                                             \
    }

/* Finds the plugins, builds the model for samples of these columns and gives its weights their first
 * values.  The caller ends it with tutti_net_close.  [control]
 * Errors: E_NOTFOUND no plugin has such an object, with the nearest; E_ARG settings that are wrong, or a
 * model with several inputs or targets; E_SHAPE columns that do not fit; those of loading a plugin. */
TUTTI_NODISCARD tutti_status tutti_net_open(const tutti_net_options *options,
                                            tutti_net **ret_net, tutti_error *err);
void tutti_net_close(tutti_net *n); /* after its loops; NULL is allowed */

/* What supervised loops take, trainers and evaluators alike; lives as long as the net.  Batches are pairs
 * of const tutti_tensor *, x (B, ...) and y (B, ...) in the columns' dtypes; y_pred is the model's first
 * output.  B may change from batch to batch: each size has a plan, made when it is first met. */
const tutti_supervised_model *tutti_net_model(tutti_net *n);

/* A metric of a plugin, as run files have it: {"name": "accuracy"}; the net closes it.  [control]
 * Errors: as tutti_net_open's. */
TUTTI_NODISCARD tutti_status tutti_net_metric(tutti_net *n, const char *json,
                                              tutti_supervised_metric *ret_metric,
                                              tutti_error *err);

/* The learning rate of the updates to come, for handlers that schedule it; at first the optimizer's
 * setting.  [step] */
double tutti_net_lr(const tutti_net *n);
void tutti_net_set_lr(tutti_net *n, double lr);

/* Weights and buffers in a fixed order; NULL past the last.  Views live as long as the net, and may be
 * written: from the first call on products of evaluations keep no packed copies of weights.  On a device
 * with memory of its own `data` and `grad` point there.  [step] */
const tutti_weight *tutti_net_weight(const tutti_net *n, uint32_t k);

/* Writes the weights and buffers to a .safetensors file, whole or not at all, as "model." and their paths;
 * a run file's "load_weights" reads it too.  The optimizer's state is not in it.  [control]
 * Errors: E_IO with the path and the system's reason; E_NOMEM. */
TUTTI_NODISCARD tutti_status tutti_net_save(const tutti_net *n, const char *path,
                                            tutti_error *err);
/* Takes them from a file by their names.  [control]
 * Errors, with the weights as they were: E_IO; E_FORMAT a damaged file; E_NOTFOUND a weight that is not in
 * it; E_SHAPE one that has another shape there. */
TUTTI_NODISCARD tutti_status tutti_net_load(tutti_net *n, const char *path, tutti_error *err);

#pragma GCC visibility pop
TUTTI_C_END
#endif
