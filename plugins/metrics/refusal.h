/* refusal.h - the sentence of a metric that does not fit a task: what there is, what it wants, and which metrics fit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef METRIC_REFUSAL_H
#define METRIC_REFUSAL_H

#include "../common/shapes_pair.h"
#include "numbers.h"
#include "tutti/metric.h"
#include "tutti/tutti.h"

/* Whether `y` has an index for each row of `x` (..., N). */
static inline int metric_has_rows(const tutti_desc *x, const tutti_desc *y)
{
    int32_t k = 0;
    while (k < y->rank && k < x->rank && x->dim[k] == y->dim[k])
        k++;
    return x->rank == y->rank + 1 && k == y->rank && y->rank > 0;
}

/* Metrics that take such outputs and targets. */
static inline const char *metric_what_fits(const tutti_desc *x, const tutti_desc *y)
{
    const int classes = metric_is_index(y->dtype);
    if (metric_is_index(x->dtype) && x->rank == 2 && classes && (y->rank == 2 || y->rank == 3))
        return "of texts bleu_score, rouge_score or word_error_rate fits these";
    if (x->dtype == TUTTI_F32 && classes && metric_has_rows(x, y))
        return "of classes accuracy, f1_score or cross_entropy fits these";
    if (x->dtype == TUTTI_F32 && metric_is_number(y->dtype) && shapes_pair(x, y))
        return "of numbers mean_squared_error or r2_score fits these, of several labels "
               "multilabel_f1_score or multilabel_auroc";
    return "loss alone fits these: the model wants another head, or the data another target";
}

/* `name` is the metric's, and in->outputs[0] and in->targets[0] are there.  Returns E_SHAPE. */
static inline tutti_status metric_refuse(const char *name, const char *want,
                                         const tutti_metric_input *in, tutti_error *err)
{
    const tutti_desc *x = &in->outputs[0].desc, *y = &in->targets[0].desc;
    char a[96], b[96];
    return tutti_fail(err, TUTTI_E_SHAPE, "%s: outputs are %s and targets %s, want %s; %s",
                      name, tutti_desc_text(x, a, sizeof a), tutti_desc_text(y, b, sizeof b),
                      want, metric_what_fits(x, y));
}

/* `setting` asks for the k largest of fewer classes.  Returns E_RANGE. */
static inline tutti_status metric_refuse_k(const char *name, const char *setting, int64_t k,
                                           int64_t classes, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_RANGE,
                      "%s: %s is %lld, want at most %lld: outputs have %lld classes", name,
                      setting, (long long)k, (long long)classes, (long long)classes);
}

#endif
