/* class_loss.h - losses of classes: which rows count, and their mean. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_COMMON_CLASS_LOSS_H
#define PLUGIN_COMMON_CLASS_LOSS_H

#include "tutti/model.h"
#include "tutti/ops.h"

/* The class of targets that count in no loss, as in PyTorch. */
enum { CLASS_IGNORED = -100 };

/* One F32 number. */
static inline tutti_value class_number(tutti_graph *g, double value)
{
    float number = (float)value;
    const tutti_tensor t = {&number, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return g->constant(g, &t);
}

/* How much each row of targets counts, (B, ...): 1 or 0 for classes, the sum of probabilities. */
static inline tutti_value class_counts(tutti_graph *g, tutti_value targets)
{
    const tutti_desc d = *g->desc(g, targets);
    const int64_t last = d.rank - 1;
    if (d.dtype == TUTTI_F32)
        return tutti_reduce(g, "sum", targets, &last, 1, 0);
    const tutti_attr f32 = tutti_attr_i("dtype", TUTTI_F32), differ = tutti_attr_i("kind", 1);
    const tutti_value in[2] = {g->emit(g, "cast", &targets, 1, &f32, 1, NULL, 0),
                               class_number(g, CLASS_IGNORED)};
    return g->emit(g, "cmp", in, 2, &differ, 1, NULL, 0);
}

/* Losses of rows (B, ...) -> their mean over the rows that count, of the batch (MEAN) or of each sample (NONE);
 * 0 where none does. */
static inline tutti_value class_loss_mean(tutti_graph *g, tutti_value rows, tutti_value targets,
                                          int32_t reduction)
{
    static const int64_t rest[TUTTI_MAX_RANK] = {1, 2, 3, 4, 5};
    const tutti_attr least = tutti_attr_f("min", 1e-30);
    const int32_t rank = g->desc(g, rows)->rank;
    const uint32_t naxes = /* none: all */
        reduction == TUTTI_REDUCTION_MEAN || rank < 1 ? 0 : (uint32_t)rank - 1;
    if (reduction != TUTTI_REDUCTION_MEAN && naxes == 0)
        return rows;
    tutti_value n = tutti_reduce(g, "sum", class_counts(g, targets), rest, naxes, 0);
    n = g->emit(g, "clamp", &n, 1, &least, 1, NULL, 0);
    return tutti_div(g, tutti_reduce(g, "sum", rows, rest, naxes, 0), n);
}

#endif
