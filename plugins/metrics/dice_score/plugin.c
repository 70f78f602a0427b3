/* plugin.c - dice_score: twice the overlap of targets and predictions of a class, over both, for each map or for all. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "dice_score"
#include "../metric_rows.h"

enum { DICE_MACRO, DICE_MICRO, DICE_WEIGHTED }; /* in the order of the manifest's words */
enum { DICE_SAMPLEWISE, DICE_GLOBAL };

typedef struct dice {
    tutti_metric_v1 table;
    double *sums;   /* samplewise: scores of samples, samples; else as `counts` */
    double *counts; /* of one sample, `classes` each: hits, predictions, targets */
    int64_t classes;
    int64_t first; /* the first class that counts */
    metric_ignored ignored;
    int32_t average;     /* DICE_* */
    int32_t aggregation; /* DICE_SAMPLEWISE, DICE_GLOBAL */
} dice;

/* Classes that neither targets nor predictions have are left out; NaN where that are all. */
static double dice_of(const dice *m, const double *counts)
{
    double above = 0.0, below = 0.0, sum = 0.0, weights = 0.0;
    for (int64_t c = m->first; c < m->classes; c++) {
        const double both = counts[m->classes + c] + counts[2 * m->classes + c];
        const double weight =
            m->average == DICE_WEIGHTED ? counts[2 * m->classes + c] : (double)(both > 0.0);
        above += 2.0 * counts[c];
        below += both;
        sum += both > 0.0 ? weight * 2.0 * counts[c] / both : 0.0;
        weights += weight;
    }
    if (below == 0.0)
        return (double)NAN;
    if (m->average == DICE_MICRO)
        return above / below;
    return weights > 0.0 ? sum / weights : 0.0;
}

/* Counts the rows of sample b; NULL: it only looks at the targets. */
static tutti_status dice_count(const dice *m, const tutti_metric_input *in, int64_t b,
                               int64_t rows, double *counts, tutti_error *err)
{
    const float *x = (const float *)in->outputs[0].data;
    for (int64_t r = b * rows; r < (b + 1) * rows; r++) {
        metric_target t;
        int takes = 0;
        const tutti_status s =
            metric_read_target(METRIC_NAME, in, r, m->classes, m->ignored, &t, &takes, err);
        if (s != TUTTI_OK)
            return s;
        if (!takes || !counts)
            continue;
        const int64_t c = t.soft ? metric_argmax(t.soft, m->classes) : t.class_index;
        const int64_t guess = metric_argmax(x + r * m->classes, m->classes);
        counts[c] += guess == c;
        counts[m->classes + guess] += 1.0;
        counts[2 * m->classes + c] += 1.0;
    }
    return TUTTI_OK;
}

static tutti_status dice_score_update(void *self, const tutti_metric_input *in,
                                      tutti_error *err)
{
    const dice *m = (const dice *)self;
    tutti_status s = metric_check(METRIC_NAME, in, err);
    if (s != TUTTI_OK)
        return s;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], samples = d->dim[0];
    const int64_t rows = samples ? tutti_numel(d) / classes / samples : 0;
    if (classes != m->classes)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          METRIC_NAME ": outputs have %lld classes, num_classes is %lld",
                          (long long)classes, (long long)m->classes);
    for (int64_t b = 0; b < samples && s == TUTTI_OK; b++) /* all are looked at before */
        s = dice_count(m, in, b, rows, NULL, err);
    for (int64_t b = 0; b < samples && s == TUTTI_OK; b++) {
        if (m->aggregation == DICE_GLOBAL) {
            s = dice_count(m, in, b, rows, m->sums, err);
            continue;
        }
        memset(m->counts, 0, (size_t)(3 * classes) * sizeof *m->counts);
        s = dice_count(m, in, b, rows, m->counts, err);
        const double score = dice_of(m, m->counts);
        m->sums[0] += isnan(score) ? 0.0 : score;
        m->sums[1] += isnan(score) ? 0.0 : 1.0;
    }
    return s;
}

static void dice_score_reset(void *self)
{
    const dice *m = (const dice *)self;
    memset(m->sums, 0, m->table.nsums * sizeof *m->sums);
}

static double dice_score_compute(void *self)
{
    const dice *m = (const dice *)self;
    if (m->aggregation == DICE_GLOBAL)
        return dice_of(m, m->sums);
    return m->sums[1] > 0.0 ? m->sums[0] / m->sums[1] : (double)NAN;
}

static tutti_status dice_score_close(void *self, tutti_error *err)
{
    dice *m = (dice *)self;
    (void)err;
    if (m) {
        free(m->sums);
        free(m->counts);
    }
    free(m);
    return TUTTI_OK;
}

static tutti_status dice_score_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    const size_t n = (size_t)(3 * tutti_param_i64(params, "num_classes"));
    dice *m = (dice *)calloc(1, sizeof *m);
    (void)host;
    if (m) {
        m->sums = (double *)calloc(n, sizeof *m->sums);
        m->counts = (double *)calloc(n, sizeof *m->counts);
    }
    if (!m || !m->sums || !m->counts) {
        (void)dice_score_close(m, NULL);
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    }
    m->classes = tutti_param_i64(params, "num_classes");
    m->first = tutti_param_i64(params, "include_background") ? 0 : 1;
    m->average = (int32_t)tutti_param_i64(params, "average");
    m->aggregation = (int32_t)tutti_param_i64(params, "aggregation_level");
    m->ignored = metric_ignored_of(params);
    m->table = (tutti_metric_v1){.struct_size = (uint32_t)sizeof m->table,
                                 .nsums = m->aggregation == DICE_GLOBAL ? (uint32_t)n : 2,
                                 .sums = m->sums,
                                 .name = METRIC_NAME,
                                 .reset = dice_score_reset,
                                 .update = dice_score_update,
                                 .compute = dice_score_compute};
    *ret_self = m;
    return TUTTI_OK;
}

static const void *dice_score_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const dice *)self)->table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = dice_score_open, .close = dice_score_close,
                    .query = dice_score_query);
