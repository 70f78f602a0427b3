/* settings_check.h - settings built by hand, as the host would after checking them against the manifest. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SETTINGS_CHECK_H
#define SETTINGS_CHECK_H

#include "tutti/tutti.h"
#include "tutti_check.h"

/* Settings of a plugin under test:
 *
 *     test_settings g;
 *     test_settings_init(&g);
 *     test_settings_float(&g, "lr", 0.1);
 *     test_settings_time(&g, "t_max", 10, TUTTI_UNIT_EPOCH);
 *     test_settings_dur(&g, "t_warmup", 0.25);
 *     const int64_t pads[] = {4, 4};
 *     test_settings_ints(&g, "padding", pads, 2);
 *
 * Not copyable (it points into itself); texts are borrowed. */
#define TEST_SETTINGS_CAPACITY 32
#define TEST_SETTINGS_LIST_CAPACITY 64
typedef struct test_settings {
    tutti_params params;
    const tutti_param *items[TEST_SETTINGS_CAPACITY];
    tutti_param values[TEST_SETTINGS_CAPACITY];
    const tutti_param *list_items[TEST_SETTINGS_LIST_CAPACITY];
    tutti_param list_values[TEST_SETTINGS_LIST_CAPACITY];
    uint32_t list_used;
} test_settings;

static inline void test_settings_init(test_settings *g)
{
    memset(g, 0, sizeof *g);
    g->params.struct_size = (uint32_t)sizeof g->params;
    g->params.items = g->items;
}

/* The setting `name`, new or set before; its value starts over. */
static inline tutti_param *test_settings_slot(test_settings *g, const char *name, int32_t type)
{
    uint32_t k = 0;
    while (k < g->params.count && strcmp(g->values[k].name, name) != 0)
        k++;
    ck_assert_msg(k < TEST_SETTINGS_CAPACITY, "more than %d settings", TEST_SETTINGS_CAPACITY);
    if (k == g->params.count)
        g->params.count++;
    tutti_param *p = &g->values[k];
    memset(p, 0, sizeof *p);
    p->struct_size = (uint32_t)sizeof *p;
    p->type = type;
    p->name = name;
    g->items[k] = p;
    return p;
}

static inline void test_settings_null(test_settings *g, const char *name)
{
    (void)test_settings_slot(g, name, TUTTI_PARAM_NULL);
}

static inline void test_settings_bool(test_settings *g, const char *name, int value)
{
    test_settings_slot(g, name, TUTTI_PARAM_BOOL)->i = value ? 1 : 0;
}

static inline void test_settings_int(test_settings *g, const char *name, int64_t value)
{
    tutti_param *p = test_settings_slot(g, name, TUTTI_PARAM_INT);
    p->i = value;
    p->f = (double)value;
}

static inline void test_settings_float(test_settings *g, const char *name, double value)
{
    tutti_param *p = test_settings_slot(g, name, TUTTI_PARAM_FLOAT);
    p->f = value;
    if (value == floor(value) && fabs(value) < 9e15)
        p->i = (int64_t)value;
}

static inline void test_settings_string(test_settings *g, const char *name, const char *value)
{
    test_settings_slot(g, name, TUTTI_PARAM_STRING)->s = value;
}

static inline void test_settings_path(test_settings *g, const char *name, const char *value)
{
    test_settings_slot(g, name, TUTTI_PARAM_PATH)->s = value;
}

static inline void test_settings_enum(test_settings *g, const char *name, const char *value,
                                      int64_t index)
{
    tutti_param *p = test_settings_slot(g, name, TUTTI_PARAM_ENUM);
    p->s = value;
    p->i = index;
}

static inline void test_settings_time(test_settings *g, const char *name, int64_t count,
                                      int32_t unit)
{
    tutti_param *p = test_settings_slot(g, name, TUTTI_PARAM_TIME);
    p->t.count = count;
    p->t.unit = unit;
    p->s = ""; /* the host puts the text here */
}

/* A TIME in "dur": a fraction of the maximum duration. */
static inline void test_settings_dur(test_settings *g, const char *name, double fraction)
{
    tutti_param *p = test_settings_slot(g, name, TUTTI_PARAM_TIME);
    p->t.fraction = fraction;
    p->t.unit = TUTTI_UNIT_DURATION;
    p->s = "";
}

/* An empty LIST of `n` items of `type`, whose values the caller fills in. */
static inline tutti_param *test_settings_list(test_settings *g, const char *name, int32_t type,
                                              uint32_t n)
{
    tutti_param *p = test_settings_slot(g, name, TUTTI_PARAM_LIST);
    const uint32_t first = g->list_used;
    ck_assert_msg(first + n <= TEST_SETTINGS_LIST_CAPACITY, "more than %d list items",
                  TEST_SETTINGS_LIST_CAPACITY);
    p->count = n;
    p->items = &g->list_items[first];
    for (uint32_t k = first; k < first + n; k++) {
        g->list_items[k] = &g->list_values[k];
        g->list_values[k].struct_size = (uint32_t)sizeof g->list_values[k];
        g->list_values[k].type = type;
    }
    g->list_used += n;
    return &g->list_values[first];
}

static inline void test_settings_ints(test_settings *g, const char *name, const int64_t *values,
                                      uint32_t n)
{
    tutti_param *items = test_settings_list(g, name, TUTTI_PARAM_INT, n);
    for (uint32_t k = 0; k < n; k++) {
        items[k].i = values[k];
        items[k].f = (double)values[k];
    }
}

static inline void test_settings_floats(test_settings *g, const char *name,
                                        const double *values, uint32_t n)
{
    tutti_param *items = test_settings_list(g, name, TUTTI_PARAM_FLOAT, n);
    for (uint32_t k = 0; k < n; k++)
        items[k].f = values[k];
}

static inline void test_settings_strings(test_settings *g, const char *name,
                                         const char *const *values, uint32_t n)
{
    tutti_param *items = test_settings_list(g, name, TUTTI_PARAM_STRING, n);
    for (uint32_t k = 0; k < n; k++)
        items[k].s = values[k];
}

static inline void test_settings_times(test_settings *g, const char *name,
                                       const tutti_time *values, uint32_t n)
{
    tutti_param *items = test_settings_list(g, name, TUTTI_PARAM_TIME, n);
    for (uint32_t k = 0; k < n; k++) {
        items[k].t = values[k];
        items[k].s = "";
    }
}

#endif
