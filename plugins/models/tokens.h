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

#endif
