/* classifier.h - the head of a model of classes or numbers: its outputs, the columns that it needs, its loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_CLASSIFIER_H
#define PLUGIN_CLASSIFIER_H

#include "model.h"

/* The head of a model of classes or numbers; such a model's struct begins with it. */
typedef struct classifier {
    int64_t classes; /* num_classes; 0: not set */
    int64_t outputs; /* of the head, after classifier_columns */
    int32_t numbers; /* targets are numbers, of which cross entropy says nothing */
    int32_t axes;    /* of targets with a class at each of several places; 0: one a sample */
} classifier;

/* Targets without classes: numbers, or several of them. */
static inline int classifier_has_numbers(const tutti_column *target)
{
    const int32_t dtype = target->desc.dtype;
    return target->classes == 0 &&
           (target->desc.rank == 1 || (dtype != TUTTI_I32 && dtype != TUTTI_I64));
}

/* How many outputs the head has for these targets: num_classes if set, the numbers of a target without classes,
 * else the data's classes. */
static inline tutti_status classifier_outputs(const char *model, const tutti_column *target,
                                              classifier *head, tutti_error *err)
{
    char text[96];
    head->numbers = head->classes <= 0 && classifier_has_numbers(target);
    if (head->numbers && target->desc.rank > 1)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "%s: the target is %s, want one number or a row of them", model,
                          tutti_desc_text(&target->desc, text, sizeof text));
    head->axes = target->desc.dtype == TUTTI_I32 || target->desc.dtype == TUTTI_I64
                     ? target->desc.rank
                     : 0;
    head->outputs = head->classes > 0 ? head->classes
                    : head->numbers   ? tutti_numel(&target->desc)
                                      : target->classes;
    if (head->outputs < (head->numbers ? 1 : 2))
        return tutti_fail(
            err, TUTTI_E_ARG,
            "%s: the data does not say how many classes there are; set num_classes", model);
    if (target->classes > head->outputs)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: num_classes is %lld, the data has %lld",
                          model, (long long)head->outputs, (long long)target->classes);
    return TUTTI_OK;
}

/* Finds the columns "input" (f32) and "target", and sets the rest of the head. */
static inline tutti_status classifier_columns(const char *model, const tutti_column *columns,
                                              uint32_t n, classifier *head,
                                              tutti_desc *ret_input, tutti_error *err)
{
    const tutti_column *input = model_column(columns, n, "input");
    const tutti_column *target = model_column(columns, n, "target");
    char text[96];
    if (!input || !target)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "%s: the data has no column \"%s\", which the model needs", model,
                          input ? "target" : "input");
    if (input->desc.dtype != TUTTI_F32)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: the input is %s, want F32; add the transform normalize", model,
                          tutti_desc_text(&input->desc, text, sizeof text));
    *ret_input = input->desc;
    return classifier_outputs(model, target, head, err);
}

/* model_cross_entropy of a model whose struct begins with a classifier; `self` is that. */
static inline tutti_value classifier_loss(void *self, tutti_graph *g,
                                          const tutti_value *outputs, uint32_t noutputs,
                                          const tutti_value *targets, uint32_t ntargets,
                                          int32_t reduction)
{
    if (((const classifier *)self)->numbers) {
        (void)g->fail(
            g, TUTTI_E_ARG,
            "the targets are numbers, and the model's own loss, cross entropy, wants "
            "classes; set \"loss\", to mse for instance, or num_classes if the numbers "
            "are probabilities of classes");
        return 0;
    }
    return model_cross_entropy(self, g, outputs, noutputs, targets, ntargets, reduction);
}

#endif
