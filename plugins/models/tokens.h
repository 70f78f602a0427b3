/* tokens.h - what models of token sequences share: the columns that they need, and their loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TOKENS_H
#define PLUGIN_TOKENS_H

#include "model.h"

/* The class whose positions do not count in the loss, as in PyTorch. */
enum { TOKENS_IGNORED = -100 };

/* Checks the columns "input" (T) of whole numbers and "target" (T); *ret_length is T, *ret_classes how
 * many tokens there are: `classes` if above 0, else what the data say. */
static inline tutti_status token_columns(const char *model, const tutti_column *columns,
                                         uint32_t n, int64_t classes, int64_t *ret_length,
                                         int64_t *ret_classes, tutti_error *err)
{
    const tutti_column *input = NULL, *target = NULL;
    char text[96];
    for (uint32_t k = 0; k < n; k++) {
        if (strcmp(columns[k].name, "input") == 0)
            input = &columns[k];
        if (strcmp(columns[k].name, "target") == 0)
            target = &columns[k];
    }
    if (!input || !target)
        return tutti_fail(err, TUTTI_E_NOTFOUND,
                          "%s: the data has no column \"%s\", which the model needs", model,
                          input ? "target" : "input");
    for (int k = 0; k < 2; k++) {
        const tutti_desc *d = k ? &target->desc : &input->desc;
        if (d->rank != 1 || (d->dtype != TUTTI_I32 && d->dtype != TUTTI_I64))
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: the %s is %s, want tokens (T) of I32 or I64", model,
                              k ? "target" : "input", tutti_desc_text(d, text, sizeof text));
    }
    if (classes <= 0)
        classes = target->classes;
    if (classes < 2)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: the data does not say how many tokens there are; set vocab_size",
                          model);
    if (target->classes > classes)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "%s: vocab_size is %lld, the data has %lld tokens", model,
                          (long long)classes, (long long)target->classes);
    *ret_length = input->desc.dim[0];
    *ret_classes = classes;
    return TUTTI_OK;
}

/* Softmax cross entropy of logits (B, T, N): mean over the tokens that count, of the batch or of each
 * sample; 0 where none does. */
static inline tutti_value token_loss(void *self, tutti_graph *g, const tutti_value *outputs,
                                     uint32_t noutputs, const tutti_value *targets,
                                     uint32_t ntargets, int32_t reduction)
{
    (void)self, (void)noutputs, (void)ntargets;
    const int64_t last = 1;
    const uint32_t naxes = reduction == TUTTI_REDUCTION_MEAN ? 0 : 1; /* none: all */
    const tutti_value loss = tutti_softmax_cross_entropy(g, outputs[0], targets[0]);
    if (g->desc(g, targets[0])->dtype == TUTTI_F32)
        return tutti_reduce(g, "mean", loss, &last, naxes, 0);
    float ignored = TOKENS_IGNORED;
    const tutti_tensor t = {&ignored, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_attr f32 = tutti_attr_i("dtype", TUTTI_F32), differ = tutti_attr_i("kind", 1);
    const tutti_attr one = tutti_attr_f("min", 1.0);
    const tutti_value in[2] = {g->emit(g, "cast", &targets[0], 1, &f32, 1, NULL, 0),
                               g->constant(g, &t)};
    const tutti_value counts = g->emit(g, "cmp", in, 2, &differ, 1, NULL, 0);
    tutti_value n = tutti_reduce(g, "sum", counts, &last, naxes, 0);
    n = g->emit(g, "clamp", &n, 1, &one, 1, NULL, 0);
    return tutti_div(g, tutti_reduce(g, "sum", loss, &last, naxes, 0), n);
}

#endif
