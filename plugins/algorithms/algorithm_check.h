/* algorithm_check.h - a run in miniature, for the tests of algorithms. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALGORITHM_CHECK_H
#define ALGORITHM_CHECK_H

#include "algorithm_services.h"
#include "kernel_check.h"

/* One service more. */
static inline void run_service(run *r, const char *id, const void *table)
{
    uint32_t k = 0;
    while (r->services[k].id)
        k++;
    ck_assert_uint_lt(k + 1, sizeof r->services / sizeof *r->services);
    r->services[k] = (service){id, table};
}

/* The kernels of the plugin under test. */
#define run_kernels(r)                                                                         \
    run_service((r), TUTTI_KERNEL_V1,                                                          \
                kernel_check_open(PLUGIN_PATH, PLUGIN_FOLDER "/plugin.json"))

static inline tutti_desc shape_of(int32_t dtype, int32_t rank, const int64_t *dim)
{
    tutti_desc d = {{0}, rank, dtype};
    for (int32_t k = 0; k < rank; k++)
        d.dim[k] = dim[k];
    return d;
}
/* shape(TUTTI_F32, 2, 3) */
#define shape(dtype, ...)                                                                      \
    shape_of((dtype), (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),     \
             (const int64_t[]){__VA_ARGS__})

static inline void run_column(run *r, const char *name, tutti_desc desc, void *data)
{
    const uint32_t k = strcmp(name, "outputs") == 0 ? RUN_COLUMNS : r->ncolumns++;
    r->names[k] = name;
    r->columns[k] = (tutti_tensor){data, desc, TUTTI_DEVICE_CPU, 0};
}

static inline void run_weight(run *r, const char *path, tutti_desc desc, float *data,
                              float *grad)
{
    r->weights[r->nweights++] = (tutti_weight){sizeof(tutti_weight),
                                               grad ? 1u : 0u,
                                               path,
                                               {data, desc, TUTTI_DEVICE_CPU, 0},
                                               grad,
                                               0,
                                               0};
}

/* One event as the engine runs it: match, then apply.  Returns what match said. */
static inline int32_t run_event(run *r, subject *s, int32_t event, tutti_error *err)
{
    static const char *const names[] = {
#define TUTTI_X(name, value, canonical, side) value,
        TUTTI_COMPOSER_EVENTS(TUTTI_X)
#undef TUTTI_X
    };
    const tutti_event e = {sizeof e, event,   names[event], (uint64_t)r->time.batch,
                           &r->time, &r->time};
    int64_t exit_code = TUTTI_EXIT_NONE;
    const int32_t matched = s->calls->match(s->self, &e);
    ck_assert_int_eq(s->calls->match(s->self, &e), matched); /* match changes nothing */
    if (matched == 1)
        (void)s->calls->apply(s->self, &e, &exit_code, err);
    return matched;
}

#endif
