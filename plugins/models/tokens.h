/* tokens.h - what models of token sequences share: the columns that they need, and their loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TOKENS_H
#define PLUGIN_TOKENS_H

#include "model.h"

/* The class whose positions do not count in the loss, as in PyTorch. */

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

/* The columns that a model of causal attention takes: "input", and where several documents share a row, which the
 * data say by both of "document_ids" and "position_ids", (T) each, these. */
static inline tutti_status token_documents(const char *model, const tutti_column *columns,
                                           uint32_t n, const char *ret_inputs[4],
                                           tutti_error *err)
{
    static const char *const names[2] = {"document_ids", "position_ids"};
    const tutti_column *found[2] = {NULL, NULL};
    char text[96];
    for (uint32_t c = 0; c < n; c++)
        for (int k = 0; k < 2; k++)
            if (strcmp(columns[c].name, names[k]) == 0)
                found[k] = &columns[c];
    if (!found[0] != !found[1])
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: the data have the column %s and no %s",
                          model, names[!found[0]], names[!!found[0]]);
    for (int k = 0; found[0] && k < 2; k++)
        if (found[k]->desc.rank != 1 ||
            (found[k]->desc.dtype != TUTTI_I32 && found[k]->desc.dtype != TUTTI_I64))
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "%s: the column %s is %s, want (T) of I32 or I64", model,
                              names[k], tutti_desc_text(&found[k]->desc, text, sizeof text));
    ret_inputs[0] = "input";
    ret_inputs[1] = found[0] ? names[0] : NULL;
    ret_inputs[2] = found[0] ? names[1] : NULL;
    ret_inputs[3] = NULL;
    return TUTTI_OK;
}

/* (B, 1, T, T), to be added to scores: -1e30 where query and key are of different documents of `ids` (B, T). */
static inline tutti_value token_document_scores(tutti_graph *g, tutti_value ids)
{
    const tutti_desc d = *g->desc(g, ids);
    const int64_t queries[4] = {d.dim[0], 1, d.dim[1], 1}, keys[4] = {d.dim[0], 1, 1, d.dim[1]};
    const tutti_attr f32 = tutti_attr_i("dtype", TUTTI_F32), equal = tutti_attr_i("kind", 0);
    const tutti_value x = g->emit(g, "cast", &ids, 1, &f32, 1, NULL, 0);
    const tutti_value both[2] = {tutti_reshape(g, x, queries, 4), tutti_reshape(g, x, keys, 4)};
    return tutti_affine(g, g->emit(g, "cmp", both, 2, &equal, 1, NULL, 0), 1e30, -1e30);
}

#endif
