/* plugin.c - calibration_error: how far confidence and accuracy are apart, over bins of confidence. */
/* SPDX-License-Identifier: Apache-2.0 */
#define METRIC_NAME "calibration_error"
#include "../metric_rows.h"

enum { NORM_L1, NORM_L2, NORM_MAX }; /* in the order of the manifest's words */

typedef struct calibration {
    tutti_metric_v1 table;
    double *
        sums; /* of `bins` + 1 each: rows, their confidences, right ones; the last bin has confidence 1 */
    int64_t bins;
    metric_ignored ignored;
    int32_t norm;
    int32_t reserved;
} calibration;

/* The softmax of the largest logit, in f32 as torchmetrics has it. */
static float confidence_of(const float *x, int64_t classes, int64_t most)
{
    float total = 0.0f;
    for (int64_t j = 0; j < classes; j++)
        total += expf(x[j] - x[most]);
    return 1.0f / total;
}

static tutti_status calibration_error_update(void *self, const tutti_metric_input *in,
                                             tutti_error *err)
{
    calibration *m = (calibration *)self;
    tutti_status status = metric_check(METRIC_NAME, in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes,
                  n = m->bins + 1;
    const float *x = (const float *)in->outputs[0].data;
    for (int pass = 0; pass < 2; pass++) /* all targets are looked at before any is counted */
        for (int64_t r = 0; r < rows; r++) {
            metric_target t;
            int counts = 0;
            status =
                metric_read_target(METRIC_NAME, in, r, classes, m->ignored, &t, &counts, err);
            if (status != TUTTI_OK)
                return status;
            if (pass == 0 || !counts)
                continue;
            const float *row = x + r * classes;
            const int64_t guess = metric_argmax(row, classes);
            const int64_t c = t.soft ? metric_argmax(t.soft, classes) : t.class_index;
            const float sure = confidence_of(row, classes, guess);
            const int64_t bin = sure >= 0.0f ? (int64_t)((double)sure * (double)m->bins) : 0;
            m->sums[bin] += 1.0;
            m->sums[n + bin] += (double)sure;
            m->sums[2 * n + bin] += guess == c;
        }
    return TUTTI_OK;
}

static double calibration_error_compute(void *self)
{
    const calibration *m = (const calibration *)self;
    const int64_t n = m->bins + 1;
    double rows = 0.0, value = 0.0;
    for (int64_t k = 0; k < n; k++)
        rows += m->sums[k];
    if (rows == 0.0)
        return (double)NAN;
    for (int64_t k = 0; k < n; k++) {
        if (m->sums[k] == 0.0)
            continue;
        const double apart = fabs(m->sums[2 * n + k] - m->sums[n + k]) / m->sums[k];
        const double share = m->sums[k] / rows;
        if (m->norm == NORM_MAX)
            value = apart > value ? apart : value;
        else
            value += m->norm == NORM_L1 ? apart * share : apart * apart * share;
    }
    return m->norm == NORM_L2 ? sqrt(value) : value;
}

static void calibration_error_reset(void *self)
{
    const calibration *m = (const calibration *)self;
    memset(m->sums, 0, (size_t)(3 * (m->bins + 1)) * sizeof *m->sums);
}

static tutti_status calibration_error_close(void *self, tutti_error *err)
{
    calibration *m = (calibration *)self;
    free(m->sums);
    free(m);
    return TUTTI_OK;
}

static tutti_status calibration_error_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    calibration *m = (calibration *)calloc(1, sizeof *m);
    if (m) {
        m->bins = tutti_param_i64(params, "n_bins");
        m->sums = (double *)calloc((size_t)(3 * (m->bins + 1)), sizeof *m->sums);
    }
    if (!m || !m->sums) {
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    }
    m->norm = (int32_t)tutti_param_i64(params, "norm");
    m->ignored = metric_ignored_of(params);
    m->table.struct_size = (uint32_t)sizeof m->table;
    m->table.nsums = (uint32_t)(3 * (m->bins + 1));
    m->table.sums = m->sums;
    m->table.name = METRIC_NAME;
    m->table.reset = calibration_error_reset;
    m->table.update = calibration_error_update;
    m->table.compute = calibration_error_compute;
    *ret_self = m;
    return TUTTI_OK;
}

static const void *calibration_error_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const calibration *)self)->table
                                                      : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = calibration_error_open, .close = calibration_error_close,
                    .query = calibration_error_query);
