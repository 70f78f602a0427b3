/* run_metrics_check.h - what a made-up run is told: metrics, hyperparameters, tables, pictures, messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_METRICS_CHECK_H
#define RUN_METRICS_CHECK_H

#include "run_state_check.h"

#include <stdarg.h>
#include <stdio.h>

static inline void stage_value(stage *s, const char *name, double value)
{
    uint32_t k = 0;
    while (k < s->nvalues && strcmp(s->values[k].name, name) != 0)
        k++;
    ck_assert_uint_lt(k, STAGE_VALUES);
    if (k == s->nvalues)
        s->nvalues++;
    (void)snprintf(s->values[k].name, sizeof s->values[k].name, "%s", name);
    s->values[k].value = value;
}

static inline void stage_log(void *ctx, const tutti_named_value *values, uint32_t n)
{
    stage *s = (stage *)ctx;
    s->told.nlogs++;
    for (uint32_t k = 0; k < n; k++)
        stage_value(s, values[k].name, values[k].value);
}

static inline tutti_status stage_metric(void *ctx, const char *name, double *ret,
                                        tutti_error *err)
{
    const stage *s = (const stage *)ctx;
    for (uint32_t k = 0; k < s->nvalues; k++)
        if (strcmp(s->values[k].name, name) == 0) {
            *ret = s->values[k].value;
            return TUTTI_OK;
        }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "nothing has been logged as %s", name);
}

static inline const char *stage_name_at(void *ctx, uint32_t k)
{
    const stage *s = (const stage *)ctx;
    return k < s->nvalues ? s->values[k].name : NULL;
}

static inline void stage_hyperparameter(void *ctx, const char *name, const char *json)
{
    stage *s = (stage *)ctx;
    s->told.nhypers++;
    (void)snprintf(s->told.hyper, sizeof s->told.hyper, "%s=%s", name, json);
}

#if TUTTI_USE_MINOR >= 1
/* The table of a test: two rows under "sample" and "said". */
static inline tutti_table stage_a_table(const char *name)
{
    static const char *const columns[] = {"sample", "said"};
    static const char *const cells[] = {"0", "\"a \\\"b\\\"\"", "1", "[1,2.5]"};
    return (tutti_table){(uint32_t)sizeof(tutti_table), 2, name, columns, cells, 2};
}

static inline tutti_status stage_log_table(void *ctx, const tutti_table *t, tutti_error *err)
{
    stage *s = (stage *)ctx;
    size_t used = (size_t)snprintf(s->told.table, sizeof s->told.table, "%s\n", t->name);
    (void)err;
    s->told.ntables++;
    for (uint64_t k = 0; k < (t->nrows + 1) * t->ncolumns; k++) {
        const uint64_t c = k % t->ncolumns;
        used += (size_t)snprintf(s->told.table + used, sizeof s->told.table - used, "%s%s",
                                 k < t->ncolumns ? t->columns[c] : t->cells[k - t->ncolumns],
                                 c + 1 == t->ncolumns ? "\n" : " | ");
        ck_assert_uint_lt(used, sizeof s->told.table);
    }
    return TUTTI_OK;
}
#endif

#if TUTTI_USE_MINOR >= 1
TUTTI_PRINTF(3, 4)
static inline void stage_add(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    ck_assert_int_lt(vsnprintf(text + used, size - used, format, args), (int)(size - used));
    va_end(args);
}

static inline tutti_status stage_log_images(void *ctx, const tutti_images *images,
                                            tutti_error *err)
{
    stage *s = (stage *)ctx;
    const tutti_tensor *p = images->pixels;
    const int64_t *dim = p->desc.dim;
    (void)err;
    s->told.nimages++;
    s->told.images[0] = '\0';
    stage_add(s->told.images, sizeof s->told.images, "%s (%d,%d,%d,%d):", images->name,
              (int)dim[0], (int)dim[1], (int)dim[2], (int)dim[3]);
    for (int64_t k = 0; k < tutti_numel(&p->desc); k++)
        stage_add(s->told.images, sizeof s->told.images, " %g",
                  p->desc.dtype == TUTTI_U8 ? (double)((const uint8_t *)p->data)[k]
                                            : (double)((const float *)p->data)[k]);
    stage_add(s->told.images, sizeof s->told.images, "\n");
    for (uint32_t m = 0; m < images->nmasks; m++) {
        stage_add(s->told.images, sizeof s->told.images, "%s:", images->masks[m].name);
        for (int64_t k = 0; k < dim[0] * dim[1] * dim[2]; k++)
            stage_add(s->told.images, sizeof s->told.images, " %d",
                      (int)images->masks[m].map[k]);
        stage_add(s->told.images, sizeof s->told.images, "\n");
    }
    for (int64_t k = 0; images->predicted && images->expected && k < dim[0]; k++)
        stage_add(s->told.images, sizeof s->told.images, "%s%d for %d%s",
                  k ? ", " : "classes: ", (int)images->predicted[k], (int)images->expected[k],
                  k + 1 == dim[0] ? "\n" : "");
    return TUTTI_OK;
}
#endif

static inline void stage_note(void *ctx, int32_t level, const char *text)
{
    stage *s = (stage *)ctx;
    s->noted_level = level;
    (void)snprintf(s->noted, sizeof s->noted, "%s", text);
}

#endif
