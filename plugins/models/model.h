/* model.h - what the models share: making modules, maps of classes, and the loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MODEL_H
#define PLUGIN_MODEL_H

#include "../common/class_loss.h"
#include "tutti/model.h"
#include "tutti/module.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <string.h>

static const char *const classifier_inputs[] = {"input", NULL};
static const char *const classifier_targets[] = {"target", NULL};

/* A module of `kind` under `parent` as `name`; *ret (may be NULL) is its handle. */
static inline tutti_status model_add(const tutti_module_v1 *m, tutti_module parent,
                                     const char *name, const char *kind, const tutti_attr *attr,
                                     uint32_t nattr, tutti_module *ret, tutti_error *err)
{
    tutti_module child;
    tutti_status s = m->create(m->ctx, kind, attr, nattr, &child, err);
    if (s || (s = m->add(m->ctx, parent, name, child, err)))
        return s;
    if (ret)
        *ret = child;
    return TUTTI_OK;
}

/* A convolution without bias, as batch norm follows; it starts as He et al. 2015 say. */
static inline tutti_status model_conv(const tutti_module_v1 *m, tutti_module parent,
                                      const char *name, int64_t in, int64_t out, int64_t kernel,
                                      int64_t stride, tutti_error *err)
{
    const tutti_attr attr[7] = {tutti_attr_i("in_channels", in),
                                tutti_attr_i("out_channels", out),
                                tutti_attr_i("kernel_size", kernel),
                                tutti_attr_i("stride", stride),
                                tutti_attr_i("padding", kernel / 2),
                                tutti_attr_i("bias", 0),
                                tutti_attr_i("init", 1)}; /* kaiming_normal */
    return model_add(m, parent, name, "conv2d", attr, 7, NULL, err);
}

static inline tutti_status model_norm(const tutti_module_v1 *m, tutti_module parent,
                                      const char *name, int64_t channels, tutti_error *err)
{
    const tutti_attr attr = tutti_attr_i("num_features", channels);
    return model_add(m, parent, name, "batch_norm2d", &attr, 1, NULL, err);
}

static inline tutti_status model_linear(const tutti_module_v1 *m, tutti_module parent,
                                        const char *name, int64_t in, int64_t out,
                                        tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("in_features", in),
                                tutti_attr_i("out_features", out)};
    return model_add(m, parent, name, "linear", attr, 2, NULL, err);
}

/* Runs child `name` of `m` on x; 0 after an error. */
static inline tutti_value model_call(const tutti_module_v1 *s, tutti_graph *g, tutti_module m,
                                     const char *name, tutti_value x)
{
    tutti_value y = 0;
    return g->call(g, s->child(s->ctx, m, name), &x, 1, &y, 1) ? 0 : y;
}

/* The column of that name; NULL: there is none. */
static inline const tutti_column *model_column(const tutti_column *columns, uint32_t n,
                                               const char *name)
{
    for (uint32_t k = 0; k < n; k++)
        if (strcmp(columns[k].name, name) == 0)
            return &columns[k];
    return NULL;
}

/* Images (H, W, C) have a class for each pixel, and sides that are multiples of `scale`. */
static inline tutti_status model_fits_map(const char *model, const tutti_column *columns,
                                          uint32_t n, int64_t scale, tutti_error *err)
{
    const tutti_desc *input = &model_column(columns, n, "input")->desc;
    const tutti_desc *target = &model_column(columns, n, "target")->desc;
    char text[96], other[96];
    if (input->rank != 3 || target->rank != 2 || target->dim[0] != input->dim[0] ||
        target->dim[1] != input->dim[1])
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: samples are %s and targets %s, want a class for each pixel",
                          model, tutti_desc_text(input, text, sizeof text),
                          tutti_desc_text(target, other, sizeof other));
    if (input->dim[0] % scale || input->dim[1] % scale)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: samples are %s, want sides that are multiples of %lld: its "
                          "features are so much smaller, and there is a class for each pixel",
                          model, tutti_desc_text(input, text, sizeof text), (long long)scale);
    return TUTTI_OK;
}

/* `scale` times as large, between neighbours: what classes of features become for pixels. */
static inline tutti_status model_enlarge(const tutti_module_v1 *m, tutti_module parent,
                                         const char *name, int64_t scale, tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("scale_factor", scale),
                                tutti_attr_i("mode", 1)}; /* bilinear */
    return model_add(m, parent, name, "upsample2d", attr, 2, NULL, err);
}

/* Softmax cross entropy of logits (B, ..., N): mean over the rows that count, of the batch or of each
 * sample; 0 where none does. */
static inline tutti_value model_cross_entropy(void *self, tutti_graph *g,
                                              const tutti_value *outputs, uint32_t noutputs,
                                              const tutti_value *targets, uint32_t ntargets,
                                              int32_t reduction)
{
    (void)self, (void)noutputs, (void)ntargets;
    return class_loss_mean(g, tutti_softmax_cross_entropy(g, outputs[0], targets[0]),
                           targets[0], reduction);
}

#endif
