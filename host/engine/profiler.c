/* profiler.c - markers, the schedule, and recording. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "engine/engine.h"
#include "engine/profile/profile_internal.h"
#include "tutti/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EVERY_ACTION = 0xf };

int32_t profile_action(const profile_schedule *s, int64_t batch, int64_t batches,
                       int64_t resumed)
{
    const int64_t skip = s->skip_first + resumed, cycle = s->wait + s->warmup + s->active;
    if (batch < skip || (s->repeat && (batch - skip) / cycle >= s->repeat))
        return TUTTI_PROFILE_SKIP;
    const int64_t place = (batch - skip) % cycle;
    if (place < s->wait)
        return TUTTI_PROFILE_SKIP;
    if (place < s->wait + s->warmup)
        return TUTTI_PROFILE_WARMUP;
    return place == cycle - 1 || (batches >= 0 && batch + 1 >= batches)
               ? TUTTI_PROFILE_ACTIVE_AND_SAVE
               : TUTTI_PROFILE_ACTIVE;
}

/* ---- markers ---- */

/* Categories are a marker's own, or with `apart` what tells it from others of its name. */
static bool is_marker(const marker *m, const char *name, const char *categories, bool apart)
{
    return m->apart == apart && strcmp(m->name, name) == 0 &&
           (!apart || strcmp(m->categories, categories) == 0);
}

/* The place of a marker in the table: its own, or the empty one where it belongs. */
static uint32_t *place_of(const profiler *p, const char *name, const char *categories,
                          bool apart)
{
    const uint64_t hash = tutti_hash(name) ^ (apart ? 31 * tutti_hash(categories) : 0);
    uint32_t k = (uint32_t)hash & (p->table_size - 1);
    while (p->table[k] && !is_marker(&p->markers[p->table[k] - 1], name, categories, apart))
        k = (k + 1) & (p->table_size - 1);
    return &p->table[k];
}

static bool grow_table(profiler *p)
{
    if (2 * p->nmarkers < p->table_size)
        return true;
    const uint32_t size = p->table_size ? 2 * p->table_size : 256;
    uint32_t *table = calloc(size, sizeof *table);
    marker *markers = realloc(p->markers, size * sizeof *markers);
    if (markers)
        p->markers = markers;
    if (!table || !markers) {
        free(table);
        return false;
    }
    free(p->table);
    p->table = table;
    p->table_size = size;
    for (uint32_t k = 0; k < p->nmarkers; k++)
        *place_of(p, p->markers[k].name, p->markers[k].categories, p->markers[k].apart) = k + 1;
    return true;
}

static tutti_status take_marker(profiler *p, const char *name, const char *categories,
                                bool apart, uint32_t actions, uint32_t *ret_marker,
                                tutti_error *err)
{
    if (!grow_table(p))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for marker %s", name);
    uint32_t *place = place_of(p, name, categories, apart);
    if (!*place) {
        marker m = {.name = strdup(name),
                    .categories = strdup(categories ? categories : ""),
                    .apart = apart,
                    .actions = actions};
        if (!m.name || !m.categories) {
            free(m.name);
            free(m.categories);
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for marker %s", name);
        }
        p->markers[p->nmarkers++] = m;
        *place = p->nmarkers;
    }
    *ret_marker = *place - 1;
    return TUTTI_OK;
}

/* One for each name. */
static tutti_status find_marker(profiler *p, const char *name, const char *categories,
                                uint32_t actions, uint32_t *ret_marker, tutti_error *err)
{
    return take_marker(p, name, categories, false, actions, ret_marker, err);
}

/* ---- events ---- */

/* The span of a pair of events, or -1. */
static int64_t event_marker(profiler *p, const tutti_event *event)
{
    char name[96];
    uint32_t m = 0;
    if (event_side(event->id) == 0)
        return -1;
    /* These tell the rest of the run where it is, so they are there whatever the schedule says. */
    const bool always =
        event->id == TUTTI_EVENT_FIT_START || event->id == TUTTI_EVENT_FIT_END ||
        event->id == TUTTI_EVENT_EPOCH_START || event->id == TUTTI_EVENT_EPOCH_END;
    (void)snprintf(name, sizeof name, "event/%s", event_canonical(event->id));
    return find_marker(p, name, event_canonical(event->id),
                       always ? EVERY_ACTION : TUTTI_PROFILE_DEFAULT, &m, NULL)
               ? -1
               : (int64_t)m;
}

void profiler_enter(profiler *p, const tutti_event *event)
{
    const tutti_timestamp *t = p->run.time;
    if (event->id == TUTTI_EVENT_AFTER_LOAD)
        p->resumed = t->batch_in_epoch;
    if (event->id == TUTTI_EVENT_EPOCH_START)
        p->resumed = 0;
    if (event->id == TUTTI_EVENT_BEFORE_DATALOADER)
        p->action =
            profile_action(&p->options.schedule, t->batch_in_epoch,
                           p->run.batches ? p->run.batches(p->run.ctx) : -1, p->resumed);
    const int64_t m = event_side(event->id) > 0 ? event_marker(p, event) : -1;
    if (m >= 0)
        profile_finish(p, (uint32_t)m);
}

static void count_cpu(profiler *p)
{
    struct rusage u;
    uint32_t m;
    if (getrusage(RUSAGE_SELF, &u) ||
        find_marker(p, "cpu", "cpu", TUTTI_PROFILE_DEFAULT, &m, NULL))
        return;
    const int64_t cpu = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000000) +
                        (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * INT64_C(1000);
    const int64_t wall = monotonic_ns();
    const double percent =
        p->usage.wall_ns && wall > p->usage.wall_ns
            ? 100.0 * (double)(cpu - p->usage.cpu_ns) / (double)(wall - p->usage.wall_ns)
            : 0.0;
    const bool first = p->usage.wall_ns == 0;
    const tutti_named_value v = {"cpu_percent", percent};
    p->usage.cpu_ns = cpu;
    p->usage.wall_ns = wall;
    if (!first && profile_records(p, m))
        profile_record(p, 'C', m, &v, 1);
}

static void count_memory(profiler *p)
{
    long long all = 0, resident = 0;
    uint32_t m;
    FILE *f = fopen("/proc/self/statm", "r");
    const int got = f ? fscanf(f, "%lld %lld", &all, &resident) : 0;
    if (f)
        (void)fclose(f);
    if (got != 2 || find_marker(p, "memory/process", "memory", TUTTI_PROFILE_DEFAULT, &m, NULL))
        return;
    const double page = (double)sysconf(_SC_PAGESIZE) / 1e9;
    const tutti_named_value v[] = {{"resident_gb", (double)resident * page},
                                   {"virtual_gb", (double)all * page}};
    if (profile_records(p, m))
        profile_record(p, 'C', m, v, 2);
}

tutti_status profiler_leave(profiler *p, const tutti_event *event, tutti_error *err)
{
    const int64_t m = event_side(event->id) < 0 ? event_marker(p, event) : -1;
    if (m >= 0) {
        if (p->markers[m].open) /* its end never came: the batch was cut short */
            profile_finish(p, (uint32_t)m);
        profile_start(p, (uint32_t)m);
    }
    if (event->id != TUTTI_EVENT_BATCH_END)
        return TUTTI_OK;
    if (p->options.sys_prof_cpu)
        count_cpu(p);
    if (p->options.sys_prof_memory)
        count_memory(p);
    if (p->action != TUTTI_PROFILE_ACTIVE_AND_SAVE)
        return TUTTI_OK;
    p->action = TUTTI_PROFILE_SKIP; /* until the next batch says otherwise */
    return profile_save(p, err);
}

uint32_t profiler_begin(profiler *p, const char *kind, const char *name, const char *event)
{
    char text[224], categories[160];
    uint32_t m;
    (void)snprintf(text, sizeof text, "%s/%s/event/%s", kind, name, event);
    (void)snprintf(categories, sizeof categories, "%s,%s", event, name);
    if (find_marker(p, text, categories, TUTTI_PROFILE_DEFAULT, &m, NULL))
        return UINT32_MAX;
    profile_start(p, m);
    return m;
}

uint32_t profiler_begin_work(profiler *p, const char *name)
{
    uint32_t m;
    if (find_marker(p, name, "work", TUTTI_PROFILE_DEFAULT, &m, NULL))
        return UINT32_MAX;
    profile_start(p, m);
    return m;
}

void profiler_end(profiler *p, uint32_t m)
{
    if (m != UINT32_MAX)
        profile_finish(p, m);
}

void profiler_span(profiler *p, const char *name, const char *categories, int64_t begin_ns,
                   int64_t end_ns)
{
    uint32_t m;
    if (!take_marker(p, name, categories, true, TUTTI_PROFILE_DEFAULT, &m, NULL))
        profile_span(p, m, begin_ns, end_ns);
}

void profiler_count(profiler *p, const char *name, const char *categories,
                    const tutti_named_value *values, uint32_t n)
{
    uint32_t m;
    if (!find_marker(p, name, categories, TUTTI_PROFILE_DEFAULT, &m, NULL) &&
        profile_records(p, m))
        profile_record(p, 'C', m, values, n);
}

bool profiler_total_at(const profiler *p, uint32_t k, profiler_total *ret_total)
{
    if (k >= p->nmarkers)
        return false;
    const marker *m = &p->markers[k];
    *ret_total = (profiler_total){m->name, m->sum.count, m->sum.ns, m->sum.own_ns};
    return true;
}

/* ---- tutti.profiler/1 ---- */

static tutti_status service_marker(void *ctx, const char *name, const char *categories,
                                   uint32_t actions, uint32_t *ret_marker, tutti_error *err)
{
    return find_marker(ctx, name, categories, actions, ret_marker, err);
}

static tutti_status check_marker(const profiler *p, uint32_t m, tutti_error *err)
{
    return m < p->nmarkers ? TUTTI_OK
                           : tutti_fail(err, TUTTI_E_RANGE, "there is no marker %u", m);
}

static tutti_status service_start(void *ctx, uint32_t m, tutti_error *err)
{
    profiler *p = ctx;
    if (check_marker(p, m, err))
        return TUTTI_E_RANGE;
    if (p->markers[m].open)
        return tutti_fail(err, TUTTI_E_STATE, "marker %s is started already",
                          p->markers[m].name);
    profile_start(p, m);
    return TUTTI_OK;
}

static tutti_status service_finish(void *ctx, uint32_t m, tutti_error *err)
{
    profiler *p = ctx;
    if (check_marker(p, m, err))
        return TUTTI_E_RANGE;
    if (!p->markers[m].open)
        return tutti_fail(err, TUTTI_E_STATE, "marker %s is not started", p->markers[m].name);
    profile_finish(p, m);
    return TUTTI_OK;
}

static void service_instant(void *ctx, uint32_t m)
{
    profiler *p = ctx;
    if (m < p->nmarkers && profile_records(p, m))
        profile_record(p, 'i', m, NULL, 0);
}

static void service_counter(void *ctx, uint32_t m, const tutti_named_value *values, uint32_t n)
{
    profiler *p = ctx;
    if (m < p->nmarkers && profile_records(p, m))
        profile_record(p, 'C', m, values, n);
}

static int32_t service_action(void *ctx)
{
    return ((const profiler *)ctx)->action;
}

const tutti_profiler_v1 *profiler_service(profiler *p)
{
    p->service = (tutti_profiler_v1){.struct_size = (uint32_t)sizeof p->service,
                                     .ctx = p,
                                     .marker = service_marker,
                                     .start = service_start,
                                     .finish = service_finish,
                                     .instant = service_instant,
                                     .counter = service_counter,
                                     .action = service_action};
    return &p->service;
}
