/* tables.c - the checks calls and threads: typed tables, called well, badly, and from several threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/bench.h"
#include "tutti/dataset.h"
#include "tutti/metric.h"
#include "tutti/optimizer.h"
#include "tutti/rng.h"
#include "tutti/scheduler.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, NUMBERS = 1000, CUT = 333, SAMPLES = 48, CAPACITY = 1 << 16 };

/* What is called, and a digest of its answers: the same for the same `turn`. */
typedef struct target {
    bench *bench;
    instance *instance;
    const void *table;
    void *self;
    uint64_t (*answer)(const struct target *t, int turn);
} target;

TUTTI_PRINTF(2, 3)
static void fail(const target *t, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    child_say(t->bench->child, CHECK_CALLS, CHECK_FAILED, "%s", text);
}

static uint64_t digest(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t k = 0; k < bytes; k++)
        h = (h ^ p[k]) * 0x100000001b3u;
    return h;
}

/* ---- dataset ---- */

typedef struct sample {
    tutti_dataset_info info;
    tutti_tensor columns[TUTTI_MAX_COLUMNS];
    uint64_t capacity[TUTTI_MAX_COLUMNS];
    unsigned char *memory;
} sample;

static tutti_status sample_init(const target *t, sample *s, tutti_error *err)
{
    const tutti_dataset_v1 *table = t->table;
    memset(s, 0, sizeof *s);
    s->info.struct_size = (uint32_t)sizeof s->info;
    const tutti_status status = table->info(t->self, &s->info, err);
    s->memory = calloc(TUTTI_MAX_COLUMNS, CAPACITY);
    for (uint32_t k = 0; k < TUTTI_MAX_COLUMNS && s->memory; k++) {
        s->columns[k] =
            (tutti_tensor){s->memory + (size_t)k * CAPACITY, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
        s->capacity[k] = CAPACITY;
    }
    return status ? status : s->memory ? TUTTI_OK : TUTTI_E_NOMEM;
}

static uint64_t read_samples(const target *t, int turn)
{
    const tutti_dataset_v1 *table = t->table;
    tutti_error e = TUTTI_ERROR_INIT;
    uint64_t h = 0xcbf29ce484222325u;
    sample s;
    tutti_status status = sample_init(t, &s, &e);
    h = digest(h, &s.info.samples, sizeof s.info.samples);
    const int64_t n = s.info.samples < SAMPLES ? s.info.samples : SAMPLES;
    for (int64_t k = 0; k < n && !status; k++) {
        const int64_t index = (k * 7 + turn) % n;
        status = table->read(t->self, index, s.columns, s.capacity, s.info.ncolumns, &e);
        for (uint32_t c = 0; c < s.info.ncolumns && !status; c++)
            h = digest(h, s.columns[c].data, tutti_nbytes(&s.columns[c].desc));
    }
    if (status)
        fail(t, "read: %s", e.text);
    free(s.memory);
    return h;
}

/* Two epochs, shuffled and not; the host holds an order to the samples that there are. */
static uint64_t read_orders(const target *t, int turn)
{
    const tutti_sample_order_v1 *table = t->table;
    const int64_t places = table->places(t->self);
    int64_t *index = places > 0 ? malloc((size_t)places * sizeof *index) : NULL;
    uint64_t h = digest(0xcbf29ce484222325u, &places, sizeof places);
    if (!index)
        fail(t, "an epoch has %lld places", (long long)places);
    for (uint32_t k = 0; index && k < 4; k++) {
        const tutti_epoch epoch = {.struct_size = sizeof epoch,
                                   .shuffle = k & 1,
                                   .seed = 17,
                                   .epoch = (k >> 1) + turn,
                                   .batch_size = 8};
        tutti_error e = TUTTI_ERROR_INIT;
        if (table->order(t->self, &epoch, index, (uint64_t)places, &e))
            fail(t, "order: %s", e.text);
        h = digest(h, index, (size_t)places * sizeof *index);
    }
    free(index);
    return h;
}

/* Where groups begin; they cover the samples without gaps. */
static uint64_t read_groups(const target *t, int turn)
{
    const tutti_sample_groups_v1 *table = t->table;
    const tutti_dataset_v1 *data = instance_query(t->instance, TUTTI_DATASET_V1);
    tutti_dataset_info info = {.struct_size = sizeof info};
    tutti_error e = TUTTI_ERROR_INIT;
    const int64_t count = table->count(t->self);
    uint64_t h = digest(0xcbf29ce484222325u, &count, sizeof count);
    int64_t before = 0;
    (void)turn;
    if (!data || data->info(t->self, &info, &e))
        return h;
    if (count < 1)
        fail(t, "there are %lld groups", (long long)count);
    for (int64_t k = 0; k < count; k++) {
        const int64_t first = table->first(t->self, k);
        if (first < before || first > info.samples || (k == 0 && first != 0))
            fail(t, "group %lld of %lld begins at sample %lld of %lld", (long long)k,
                 (long long)count, (long long)first, (long long)info.samples);
        h = digest(h, &first, sizeof first);
        before = first;
    }
    if (TUTTI_HAS(table, tutti_sample_groups_v1, expect) && table->expect)
        table->expect(t->self, &before, info.samples > before);
    return h;
}

/* Numbers that are no sample's, and no room. */
static void misuse_dataset(const target *t)
{
    static const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX};
    const tutti_dataset_v1 *table = t->table;
    tutti_error e = TUTTI_ERROR_INIT;
    sample s;
    if (sample_init(t, &s, &e) == TUTTI_OK) {
        for (size_t k = 0; k <= sizeof wrong / sizeof *wrong; k++) {
            const int64_t index = k ? wrong[k - 1] : s.info.samples;
            tutti_error cause = TUTTI_ERROR_INIT;
            const tutti_status status =
                table->read(t->self, index, s.columns, s.capacity, s.info.ncolumns, &cause);
            if (!status)
                fail(t, "read gives a sample %lld of %lld", (long long)index,
                     (long long)s.info.samples);
            else
                bench_judge_refusal(t->bench, CHECK_CALLS, "read", status, &cause);
        }
        memset(s.capacity, 0, sizeof s.capacity);
        tutti_error cause = TUTTI_ERROR_INIT;
        if (s.info.samples && table->read(t->self, 0, s.columns, s.capacity, s.info.ncolumns,
                                          &cause) != TUTTI_E_RANGE)
            fail(t, "read without room gives %s, want E_RANGE",
                 tutti_status_name(cause.status));
    }
    free(s.memory);
}

/* ---- scheduler ---- */

static uint64_t schedule(const target *t, int turn)
{
    const tutti_scheduler_v1 *table = t->table;
    uint64_t h = 0xcbf29ce484222325u;
    for (int64_t batch = 0; batch <= 40; batch++) {
        const tutti_timestamp now = {.struct_size = (uint32_t)sizeof now,
                                     .batch = batch,
                                     .epoch = batch / 4,
                                     .batch_in_epoch = batch % 4,
                                     .sample = 16 * batch};
        const tutti_schedule s = {.struct_size = (uint32_t)sizeof s,
                                  .now = &now,
                                  .max_duration = {10, 0, TUTTI_UNIT_EPOCH, 0},
                                  .dataloader_len = 4,
                                  .scale_ratio = 1};
        tutti_error e = TUTTI_ERROR_INIT;
        double factor = 0;
        const tutti_status status = table->multiplier(t->self, &s, &factor, &e);
        if (status)
            bench_judge_refusal(t->bench, CHECK_CALLS, "multiplier", status, &e);
        else if (!isfinite(factor))
            fail(t, "multiplier gives %g at batch %lld", factor, (long long)batch);
        h = digest(h, &factor, sizeof factor);
    }
    (void)turn;
    return h;
}

/* ---- optimizer ---- */

typedef struct param_range {
    float w[NUMBERS], g[NUMBERS], slot[TUTTI_OPTIMIZER_MAX_SLOTS][NUMBERS];
    uint16_t low[NUMBERS];
    float *own[TUTTI_OPTIMIZER_MAX_SLOTS]; /* slots of shapes of the optimizer's, and BEHIND */
    int64_t numbers[TUTTI_OPTIMIZER_MAX_SLOTS]; /* of these */
} param_range;

/* Behind the numbers of a slot of the optimizer's own shape, which stay as they are. */
enum { BEHIND = 16 };

static void update(const target *t, param_range *s, int64_t from, int64_t to, int64_t step)
{
    const tutti_optimizer_v1 *table = t->table;
    tutti_update u = {.struct_size = (uint32_t)sizeof u,
                      .n = to - from,
                      .w = s->w + from,
                      .g = s->g + from,
                      .lr = 0.01,
                      .lr_initial = 0.02,
                      .step = step};
    for (uint32_t k = 0; k < table->nslots && k < TUTTI_OPTIMIZER_MAX_SLOTS; k++)
        u.slot[k] = s->slot[k] + from;
    table->update(t->self, &u);
}

static void in_order(void *ctx, int64_t count, void (*part)(void *arg, int64_t k), void *arg)
{
    for (int64_t k = 0; k < count; k++)
        part(arg, k);
}

static void last_first(void *ctx, int64_t count, void (*part)(void *arg, int64_t k), void *arg)
{
    for (int64_t k = count; k > 0; k--)
        part(arg, k - 1);
}

static bool updates_weights(const target *t)
{
    const tutti_optimizer_v1 *table = t->table;
    return TUTTI_HAS(table, tutti_optimizer_v1, by_weight) && table->by_weight;
}

static const tutti_desc matrix = {{NUMBERS / 40, 40}, 2, TUTTI_F32};

/* Slots of the matrix, of the shapes that the optimizer gives. */
static bool take_slots(const target *t, param_range *s)
{
    const tutti_optimizer_v1 *table = t->table;
    const bool asks = TUTTI_HAS(table, tutti_optimizer_v1, slot_shape) && table->slot_shape;
    for (uint32_t k = 0; k < table->nslots && k < TUTTI_OPTIMIZER_MAX_SLOTS; k++) {
        tutti_desc shape = matrix;
        tutti_error e = TUTTI_ERROR_INIT;
        if (asks)
            (void)table->slot_shape(t->self, &matrix, k, &shape, &e);
        if (e.status || tutti_desc_check(&shape, 0, &e) || shape.dtype != TUTTI_F32) {
            fail(t, "slot_shape gives slot %u of a weight (%d, 40) %s", k, NUMBERS / 40,
                 e.status ? e.text : "another dtype than f32");
            return false;
        }
        s->numbers[k] = tutti_numel(&shape);
        s->own[k] = calloc((size_t)s->numbers[k] + BEHIND, sizeof *s->own[k]);
        if (!s->own[k])
            return false;
        memset(s->own[k] + s->numbers[k], 0x41, BEHIND * sizeof *s->own[k]);
    }
    return true;
}

/* Their bytes, in `h`; what is behind them is as it was. */
static uint64_t leave_slots(const target *t, param_range *s, uint64_t h)
{
    unsigned char want[BEHIND * sizeof(float)];
    memset(want, 0x41, sizeof want);
    for (int k = 0; k < TUTTI_OPTIMIZER_MAX_SLOTS && s->own[k]; k++) {
        const void *behind = s->own[k] + s->numbers[k];
        if (memcmp(behind, want, sizeof want) != 0)
            fail(t, "update writes behind slot %d, which has %lld numbers", k,
                 (long long)s->numbers[k]);
        h = digest(h, s->own[k], (size_t)s->numbers[k] * sizeof *s->own[k]);
        free(s->own[k]);
    }
    return h;
}

/* All of it as one matrix, its parts in an order of `turn`'s. */
static void update_weight(const target *t, param_range *s, int turn, int64_t step)
{
    const tutti_optimizer_v1 *table = t->table;
    const uint64_t bytes = table->scratch ? table->scratch(t->self, &matrix) : 0;
    tutti_update u = {.struct_size = (uint32_t)sizeof u,
                      .n = NUMBERS,
                      .w = s->w,
                      .g = s->g,
                      .lr = 0.01,
                      .lr_initial = 0.02,
                      .step = step,
                      .desc = &matrix,
                      .path = "check.weight",
                      .scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL,
                      .each = turn % 2 ? last_first : in_order,
                      .gradient_norm = 2.0};
    for (uint32_t k = 0; k < table->nslots && k < TUTTI_OPTIMIZER_MAX_SLOTS; k++)
        u.slot[k] = s->numbers[k] ? s->own[k] : NULL;
    if (u.scratch)
        memset(u.scratch, turn % 2 ? 0xFF : 0x55, (size_t)bytes);
    if (u.scratch || !bytes)
        table->update(t->self, &u);
    free(u.scratch);
}

/* Three updates, cut, or divided into parts, where `turn` says: it makes no difference. */
static uint64_t optimize(const target *t, int turn)
{
    param_range *s = calloc(1, sizeof *s);
    uint64_t h = 0xcbf29ce484222325u;
    for (int k = 0; s && k < NUMBERS; k++) {
        const tutti_rng4 d = tutti_rng(3, TUTTI_RNG_PLUGIN, 0, (uint64_t)k);
        s->w[k] = (float)d.v[0] * 4.6566129e-10f - 1.0f;
        s->g[k] = (float)d.v[1] * 4.6566129e-10f - 1.0f;
    }
    const bool whole = updates_weights(t);
    const bool there = s && (!whole || take_slots(t, s));
    for (int64_t step = 1; there && step <= 3; step++) {
        const int64_t cut = turn % 2 ? CUT : 0;
        if (whole) {
            update_weight(t, s, turn, step);
            continue;
        }
        update(t, s, 0, cut, step);
        update(t, s, cut, NUMBERS, step);
    }
    if (s)
        h = leave_slots(t, s, digest(digest(h, s->w, sizeof s->w), s->slot, sizeof s->slot));
    for (int k = 0; s && k < NUMBERS; k++)
        if (!isfinite(s->w[k])) {
            fail(t, "update makes a weight %g of finite numbers", (double)s->w[k]);
            break;
        }
    free(s);
    return h;
}

/* ---- metric ---- */

/* Nothing gathered, twice: the sums and the number are those of the first time. */
static void try_metric(const target *t)
{
    const tutti_metric_v1 *table = t->table;
    table->reset(t->self);
    const double none = table->compute(t->self);
    if (!isnan(none))
        fail(t, "compute gives %g of nothing, want NaN", none);
    float few[2] = {0};
    const tutti_tensor odd = {few, {{1, 1, 1, 1, 2}, 5, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_metric_input in = {.struct_size = (uint32_t)sizeof in,
                                   .noutputs = 1,
                                   .outputs = &odd,
                                   .targets = &odd,
                                   .ntargets = 1,
                                   .samples = 1};
    tutti_error e = TUTTI_ERROR_INIT;
    const tutti_status s = table->update(t->self, &in, &e);
    if (s)
        bench_judge_refusal(t->bench, CHECK_CALLS, "update", s, &e);
    table->reset(t->self);
    for (uint32_t k = 0; k < table->nsums; k++)
        if (table->sums[k] != 0)
            fail(t, "sum %u is %g after reset, want 0", k, table->sums[k]);
}

/* ---- threads ---- */

typedef struct worker {
    const target *target;
    int turn;
    uint64_t answer;
} worker;

static void *run_worker(void *ctx)
{
    worker *w = ctx;
    crash_thread_begin();
    w->answer = w->target->answer(w->target, w->turn);
    crash_thread_end();
    return NULL;
}

/* What one call after the other gives, all at once give too. */
static void try_at_once(const target *t)
{
    uint64_t want[THREADS];
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int n = 0;
    for (int k = 0; k < THREADS; k++)
        want[k] = t->answer(t, k);
    for (int k = 0; k < THREADS; k++)
        if (t->answer(t, k) != want[k])
            fail(t, "the same call gives another answer the second time");
    child_begin(t->bench->child, CHECK_THREADS);
    for (; n < THREADS; n++) {
        workers[n] = (worker){t, n, 0};
        if (pthread_create(&threads[n], NULL, run_worker, &workers[n]) != 0)
            break;
    }
    for (int k = 0; k < n; k++) {
        (void)pthread_join(threads[k], NULL);
        if (workers[k].answer != want[k])
            child_say(t->bench->child, CHECK_THREADS, CHECK_FAILED,
                      "its calls tagged [any] give other answers from %d threads at once",
                      THREADS);
    }
}

static void try_again(const target *t)
{
    const uint64_t first = t->answer(t, 0);
    if (t->answer(t, 0) != first)
        fail(t, "the same call gives another answer the second time");
}

static void try_optimizer(target *t)
{
    if (optimize(t, 0) != optimize(t, 1))
        fail(t, updates_weights(t)
                    ? "update gives other numbers where `each` calls its parts in another order"
                    : "update gives other numbers where a range is cut in two");
}

static void try_table(bench *b, instance *i)
{
    static const struct {
        const char *id;
        uint64_t (*answer)(const target *t, int turn);
    } rows[] = {{TUTTI_DATASET_V1, read_samples},      {TUTTI_SAMPLE_ORDER_V1, read_orders},
                {TUTTI_SAMPLE_GROUPS_V1, read_groups}, {TUTTI_SCHEDULER_V1, schedule},
                {TUTTI_OPTIMIZER_V1, optimize},        {TUTTI_METRIC_V1, NULL}};
    bool any = false;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        target t = {b, i, instance_query(i, rows[k].id), instance_self(i), rows[k].answer};
        if (!t.table)
            continue;
        any = true;
        instance_call c = instance_enter(i, "a call of its table");
        if (strcmp(rows[k].id, TUTTI_DATASET_V1) == 0)
            misuse_dataset(&t);
        const bool optimizer = strcmp(rows[k].id, TUTTI_OPTIMIZER_V1) == 0;
        if (optimizer)
            try_optimizer(&t);
        if (!t.answer)
            try_metric(&t);
        else if (optimizer && updates_weights(&t)) /* one call comes after the other */
            try_again(&t);
        else
            try_at_once(&t);
        instance_leave(&c);
    }
    if (!any)
        child_say(b->child, CHECK_CALLS, CHECK_NOT_TRIED,
                  "calls of kind %s are made in the training run alone",
                  b->subject->info->kind);
}

void bench_check_tables(child *c, void *subject_)
{
    bench b;
    tutti_error e = TUTTI_ERROR_INIT;
    bool given;
    instance *i = NULL;
    if (!bench_begin(&b, subject_, c, CHECK_CALLS))
        return;
    registry_look(b.subject->options->registry, false);
    if (bench_open(&b, NULL, &given, &i, &e))
        child_give_up(c, CHECK_CALLS, "", &e);
    else {
        try_table(&b, i);
        instance_free(i);
    }
    bench_end(&b);
}
