/* plugin.c - in_memory: everything that is logged, kept for plugins and programs that read it. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tables */
#define TUTTI_MIN_MINOR 0 /* which an older host does not send */
#include "../common/json_line.h"
#include "../logger.h"
#include "series.h"
#include "tutti/history.h"

/* A GPU's metrics come up to so many batches after theirs. */
enum { RECENT = 16 };

/* A setting of the run, or a table that was logged. */
typedef struct setting {
    char *name;
    char *json;
} setting;

/* In the order in which the names first came. */
typedef struct setting_list {
    setting *items;
    uint32_t count;
} setting_list;

typedef struct in_memory {
    const tutti_state_v1 *state;
    series_set metrics;
    setting_list settings, tables;
    tutti_timestamp recent[RECENT]; /* when batches started, by their number */
    tutti_history_v1 history;
} in_memory;

static tutti_status fail_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "in_memory: no memory for what is logged");
}

/* ---- the calls of a logger ---- */

static tutti_status in_memory_event(void *self, const tutti_event *event, tutti_error *err)
{
    in_memory *m = self;
    (void)err;
    if (event->id == TUTTI_EVENT_BATCH_START)
        m->recent[event->time->batch % RECENT] = *event->time;
    return TUTTI_OK;
}

/* The time of batch `step`: now, or when it started. */
static tutti_timestamp time_of(const in_memory *m, uint64_t step)
{
    tutti_timestamp t = *m->state->time;
    if (t.batch == (int64_t)step)
        return t;
    const tutti_timestamp *then = &m->recent[step % RECENT];
    if (then->struct_size && then->batch == (int64_t)step)
        return *then;
    t.batch = (int64_t)step;
    return t;
}

static tutti_status in_memory_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                      uint64_t step, tutti_error *err)
{
    in_memory *m = self;
    const tutti_timestamp time = time_of(m, step);
    bool kept = true;
    for (uint32_t k = 0; k < n; k++)
        kept = series_add(&m->metrics, values[k].name, values[k].value, &time) && kept;
    return kept ? TUTTI_OK : fail_memory(err);
}

static setting *find_setting(const setting_list *list, const char *name)
{
    for (uint32_t k = 0; k < list->count; k++)
        if (strcmp(list->items[k].name, name) == 0)
            return &list->items[k];
    return NULL;
}

static setting *add_setting(setting_list *list, const char *name)
{
    setting *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    list->items = grown;
    setting fresh = {strdup(name), NULL};
    if (!fresh.name)
        return NULL;
    list->items[list->count] = fresh;
    return &list->items[list->count++];
}

/* The list owns `json`, which may be NULL for what no memory was left for; the last one of a name counts. */
static bool set_setting(setting_list *list, const char *name, char *json)
{
    setting *s = json ? find_setting(list, name) : NULL;
    s = s || !json ? s : add_setting(list, name);
    if (!s) {
        free(json);
        return false;
    }
    free(s->json);
    s->json = json;
    return true;
}

static void free_settings(setting_list *list)
{
    for (uint32_t k = 0; k < list->count; k++) {
        free(list->items[k].name);
        free(list->items[k].json);
    }
    free(list->items);
}

static tutti_status in_memory_hyperparameters(void *self, const tutti_named_text *values,
                                              uint32_t n, tutti_error *err)
{
    in_memory *m = self;
    for (uint32_t k = 0; k < n; k++)
        if (!set_setting(&m->settings, values[k].name, strdup(values[k].text)))
            return fail_memory(err);
    return TUTTI_OK;
}

static tutti_status in_memory_table(void *self, const tutti_table *table, uint64_t step,
                                    tutti_error *err)
{
    in_memory *m = self;
    char *json = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&json, &size);
    (void)step;
    if (!out)
        return fail_memory(err);
    json_line_split(out, table);
    if (fclose(out) != 0) {
        free(json);
        json = NULL;
    }
    return set_setting(&m->tables, table->name, json) ? TUTTI_OK : fail_memory(err);
}

/* ---- tutti.history/1 ---- */

static const char *in_memory_history_name_at(void *ctx, uint32_t k)
{
    const in_memory *m = ctx;
    return k < m->metrics.count ? m->metrics.items[k].name : NULL;
}

static uint64_t in_memory_history_count(void *ctx, const char *name)
{
    const series *s = series_find(&((const in_memory *)ctx)->metrics, name);
    return s ? s->count : 0;
}

static tutti_status in_memory_find(const in_memory *m, const char *name,
                                   const series **ret_series, tutti_error *err)
{
    const series *s = series_find(&m->metrics, name);
    if (!s || !s->count)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "in_memory: nothing has been logged as \"%s\"",
                          name);
    *ret_series = s;
    return TUTTI_OK;
}

static tutti_status in_memory_history_latest(void *ctx, const char *name, double *ret_value,
                                             tutti_error *err)
{
    const series *s = NULL;
    const tutti_status status = in_memory_find(ctx, name, &s, err);
    if (!status)
        *ret_value = s->points[s->count - 1].value;
    return status;
}

static tutti_status in_memory_history_timeseries(void *ctx, const char *name, const char *field,
                                                 double *ret_values, uint64_t capacity,
                                                 tutti_error *err)
{
    const in_memory *m = ctx;
    const series *s = NULL;
    const tutti_status status = in_memory_find(m, name, &s, err);
    if (status)
        return status;
    double unused = 0.0;
    const bool numbers = !field || strcmp(field, name) == 0;
    if (!numbers && !series_field(m->state->time, field, &unused))
        return tutti_fail(err, TUTTI_E_ARG,
                          "in_memory: a time has no \"%s\"; want a counter such as \"batch\", "
                          "\"epoch\" or \"total_wct\"",
                          field);
    for (uint64_t k = 0; k < s->count && k < capacity; k++)
        if (numbers)
            ret_values[k] = s->points[k].value;
        else
            (void)series_field(&m->metrics.times[s->points[k].time], field, &ret_values[k]);
    return TUTTI_OK;
}

static const char *in_memory_history_hyperparameter_at(void *ctx, uint32_t k)
{
    const setting_list *list = &((const in_memory *)ctx)->settings;
    return k < list->count ? list->items[k].name : NULL;
}

static const char *in_memory_history_hyperparameter(void *ctx, const char *name)
{
    const setting *s = find_setting(&((const in_memory *)ctx)->settings, name);
    return s ? s->json : NULL;
}

static const char *in_memory_history_table_at(void *ctx, uint32_t k)
{
    const setting_list *list = &((const in_memory *)ctx)->tables;
    return k < list->count ? list->items[k].name : NULL;
}

static const char *in_memory_history_table(void *ctx, const char *name)
{
    const setting *s = find_setting(&((const in_memory *)ctx)->tables, name);
    return s ? s->json : NULL;
}

/* ---- the object ---- */

static tutti_status in_memory_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = logger_service(host, "in_memory", TUTTI_STATE_V1, err);
    in_memory *m = state ? calloc(1, sizeof *m) : NULL;
    (void)params;
    if (!m)
        return state ? fail_memory(err) : TUTTI_E_UNSUPPORTED;
    m->state = state;
    m->history = (tutti_history_v1){.struct_size = sizeof m->history,
                                    .ctx = m,
                                    .name_at = in_memory_history_name_at,
                                    .count = in_memory_history_count,
                                    .latest = in_memory_history_latest,
                                    .timeseries = in_memory_history_timeseries,
                                    .hyperparameter_at = in_memory_history_hyperparameter_at,
                                    .hyperparameter = in_memory_history_hyperparameter,
                                    .table_at = in_memory_history_table_at,
                                    .table = in_memory_history_table};
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status in_memory_close(void *self, tutti_error *err)
{
    in_memory *m = self;
    (void)err;
    free_settings(&m->settings);
    free_settings(&m->tables);
    series_clear(&m->metrics);
    free(m);
    return TUTTI_OK;
}

static const void *in_memory_query(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table,
                                          .metrics = in_memory_metrics,
                                          .hyperparameters = in_memory_hyperparameters,
                                          .table = in_memory_table};
    if (strcmp(interface_id, TUTTI_LOGGER_V1) == 0)
        return &table;
    return strcmp(interface_id, TUTTI_HISTORY_V1) == 0 ? &((in_memory *)self)->history : NULL;
}

LOGGER_PLUGIN("in_memory", .open = in_memory_open, .run_event = in_memory_event,
              .close = in_memory_close, .query = in_memory_query);
