/* labels_of_classes.h - each class against all others: logits (B, ..., N) and classes (B, ...), or F32 (B, ..., N), of
 * which the largest is the class; for labels_plugin.h, where LABELS_OF_CLASSES is defined. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LABELS_OF_CLASSES_H
#define LABELS_OF_CLASSES_H

#include "labels_plugin.h"
#include "metric_rows.h"

/* The row's probabilities, in f32 as torchmetrics has them, are samples of each class. */
static inline void labels_add_row(const labels *m, const float *x, int64_t c)
{
    const float most = x[metric_argmax(x, m->count)];
    float total = 0.0f;
    for (int64_t j = 0; j < m->count; j++)
        total += expf(x[j] - most);
    for (int64_t j = 0; j < m->count; j++)
        labels_add(m, m->sums + j * m->each, expf(x[j] - most) / total, j == c);
}

static tutti_status labels_update(void *self, const tutti_metric_input *in, tutti_error *err)
{
    const labels *m = (const labels *)self;
    const metric_ignored ignored = {.class_index = m->ignored, .ignores = m->ignores};
    tutti_status status = metric_check(METRIC_NAME, in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes;
    const float *x = (const float *)in->outputs[0].data;
    if (classes != m->count)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          METRIC_NAME ": outputs have %lld classes, num_classes is %lld",
                          (long long)classes, (long long)m->count);
    for (int pass = 0; pass < 2; pass++) /* all targets are looked at before any is counted */
        for (int64_t r = 0; r < rows; r++) {
            metric_target t;
            int counts = 0;
            status = metric_read_target(METRIC_NAME, in, r, classes, ignored, &t, &counts, err);
            if (status != TUTTI_OK)
                return status;
            if (pass == 1 && counts)
                labels_add_row(m, x + r * classes,
                               t.soft ? metric_argmax(t.soft, classes) : t.class_index);
        }
    return TUTTI_OK;
}

#endif
