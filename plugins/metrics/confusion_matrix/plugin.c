/* plugin.c - confusion_matrix: which classes are taken for which, as a table of the loggers; the number is the share of
 * the diagonal. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* log_table */
#define METRIC_NAME "confusion_matrix"
#include "../metric_rows.h"
#include "tutti/log.h"
#include "tutti/metrics.h"
#include "tutti/state.h"

#include <stdio.h>

enum { NORMALIZE_NONE, NORMALIZE_TRUE, NORMALIZE_PRED, NORMALIZE_ALL }; /* as in the manifest */
enum { CELL = 32 };                                                     /* characters */

typedef struct confusion {
    tutti_metric_v1 table;
    double *sums; /* (classes, classes): rows are targets, columns predictions */
    int64_t classes;
    metric_ignored ignored;
    const tutti_metrics_v1 *metrics; /* NULL: there is nobody to tell */
    const tutti_state_v1 *state;
    const tutti_log_v1 *log;
    int32_t normalize; /* NORMALIZE_* */
    int32_t reserved;
} confusion;

static tutti_status confusion_matrix_update(void *self, const tutti_metric_input *in,
                                            tutti_error *err)
{
    const confusion *m = (const confusion *)self;
    tutti_status status = metric_check(METRIC_NAME, in, err);
    if (status != TUTTI_OK)
        return status;
    const tutti_desc *d = &in->outputs[0].desc;
    const int64_t classes = d->dim[d->rank - 1], rows = tutti_numel(d) / classes;
    const float *x = (const float *)in->outputs[0].data;
    if (classes != m->classes)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          METRIC_NAME ": outputs have %lld classes, num_classes is %lld",
                          (long long)classes, (long long)m->classes);
    for (int pass = 0; pass < 2; pass++) /* all targets are looked at before any is counted */
        for (int64_t r = 0; r < rows; r++) {
            metric_target t;
            int counts = 0;
            status =
                metric_read_target(METRIC_NAME, in, r, classes, m->ignored, &t, &counts, err);
            if (status != TUTTI_OK)
                return status;
            const int64_t c = t.soft ? metric_argmax(t.soft, classes) : t.class_index;
            if (pass == 1 && counts)
                m->sums[c * classes + metric_argmax(x + r * classes, classes)] += 1.0;
        }
    return TUTTI_OK;
}

/* What a cell is divided by. */
static double confusion_whole(const confusion *m, int64_t row, int64_t column)
{
    double sum = 0.0;
    if (m->normalize == NORMALIZE_NONE)
        return 1.0;
    for (int64_t k = 0; k < m->classes * m->classes; k++)
        if (m->normalize == NORMALIZE_ALL ||
            (m->normalize == NORMALIZE_TRUE ? k / m->classes == row : k % m->classes == column))
            sum += m->sums[k];
    return sum;
}

/* Fills texts: the columns' names, then rows of the class and its cells. */
static void confusion_write(const confusion *m, char (*text)[CELL], const char **at)
{
    const int64_t n = m->classes;
    for (int64_t k = 0; k < (n + 1) * (n + 1); k++) {
        const int64_t row = k / (n + 1) - 1, column = k % (n + 1) - 1;
        at[k] = text[k];
        if (column < 0)
            (void)snprintf(text[k], CELL, row < 0 ? "target" : "%lld", (long long)row);
        else if (row < 0)
            (void)snprintf(text[k], CELL, "%lld", (long long)column);
        else {
            const double count = m->sums[row * n + column];
            const double whole = count > 0.0 ? confusion_whole(m, row, column) : 1.0;
            (void)snprintf(text[k], CELL, "%.9g", count / whole);
        }
    }
}

static tutti_status confusion_send(const confusion *m, tutti_error *err)
{
    const size_t n = (size_t)m->classes + 1;
    const char *label = m->state ? m->state->dataloader_label(m->state->ctx) : NULL;
    char name[120];
    char(*text)[CELL] = (char(*)[CELL])calloc(n * n, sizeof *text);
    const char **at = (const char **)calloc(n * n, sizeof *at);
    tutti_status s = TUTTI_E_NOMEM;
    (void)snprintf(name, sizeof name, METRIC_NAME "/%.64s", label ? label : "eval");
    if (text && at) {
        confusion_write(m, text, at);
        const tutti_table table = {.struct_size = (uint32_t)sizeof table,
                                   .ncolumns = (uint32_t)n,
                                   .name = name,
                                   .columns = at,
                                   .cells = at + n,
                                   .nrows = n - 1};
        s = m->metrics->log_table(m->metrics->ctx, &table, err);
    } else
        s = tutti_fail(err, s, "no memory for the table");
    free(text);
    free((void *)at);
    return s;
}

static double confusion_matrix_compute(void *self)
{
    const confusion *m = (const confusion *)self;
    tutti_error err = TUTTI_ERROR_INIT;
    double all = 0.0, right = 0.0;
    for (int64_t k = 0; k < m->classes * m->classes; k++) {
        all += m->sums[k];
        right += k / m->classes == k % m->classes ? m->sums[k] : 0.0;
    }
    if (all == 0.0)
        return (double)NAN;
    if (m->metrics && confusion_send(m, &err) != TUTTI_OK && m->log)
        m->log->write(m->log->ctx, TUTTI_LOG_WARNING, err.text);
    return right / all;
}

static void confusion_matrix_reset(void *self)
{
    const confusion *m = (const confusion *)self;
    memset(m->sums, 0, (size_t)(m->classes * m->classes) * sizeof *m->sums);
}

static tutti_status confusion_matrix_close(void *self, tutti_error *err)
{
    confusion *m = (confusion *)self;
    (void)err;
    free(m->sums);
    free(m);
    return TUTTI_OK;
}

static tutti_status confusion_matrix_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    const int64_t n = tutti_param_i64(params, "num_classes");
    confusion *m = (confusion *)calloc(1, sizeof *m);
    if (m)
        m->sums = (double *)calloc((size_t)(n * n), sizeof *m->sums);
    if (!m || !m->sums) {
        free(m);
        return tutti_fail(err, TUTTI_E_NOMEM, METRIC_NAME ": no memory");
    }
    m->classes = n;
    m->normalize = (int32_t)tutti_param_i64(params, "normalize");
    m->ignored = metric_ignored_of(params);
    m->state = (const tutti_state_v1 *)host->query(host->ctx, TUTTI_STATE_V1);
    m->log = (const tutti_log_v1 *)host->query(host->ctx, TUTTI_LOG_V1);
    m->metrics = (const tutti_metrics_v1 *)host->query(host->ctx, TUTTI_METRICS_V1);
    if (m->metrics && !TUTTI_HAS(m->metrics, tutti_metrics_v1, log_table))
        m->metrics = NULL;
    m->table = (tutti_metric_v1){.struct_size = (uint32_t)sizeof m->table,
                                 .nsums = (uint32_t)(n * n),
                                 .sums = m->sums,
                                 .name = METRIC_NAME,
                                 .reset = confusion_matrix_reset,
                                 .update = confusion_matrix_update,
                                 .compute = confusion_matrix_compute};
    *ret_self = m;
    return TUTTI_OK;
}

static const void *confusion_matrix_query(void *self, const char *interface_id)
{
    return strcmp(interface_id, TUTTI_METRIC_V1) == 0 ? &((const confusion *)self)->table
                                                      : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti." METRIC_NAME, "1.0.0", METRIC_NAME, TUTTI_KIND_METRIC,
                    .open = confusion_matrix_open, .close = confusion_matrix_close,
                    .query = confusion_matrix_query);
