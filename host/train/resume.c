/* resume.c - what a checkpoint holds, and taking a run up from it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory.h"
#include "graph/place.h"
#include "train/provenance.h"
#include "train/trainer_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tensors: "model.<path>", "optimizer.<slot>.<path>", "<kind>.<instance>.<item>",
 * "evaluation.<label>": the batch at which it was last due, i64, "run.clock": the counters below, i64,
 * and with amp_fp16 "run.loss_scale".  Texts: "tutti" (format), "run" (the run file), and provenance's. */
enum {
    CLOCK_FIELDS = 14,             /* counters of a timestamp: of now, before, last schedule */
    CLOCK_STEP = 3 * CLOCK_FIELDS, /* optimizer updates */
    CLOCK_HAS_PREVIOUS,
    CLOCK_SIZE
};

typedef struct items {
    checkpoint_item *list;
    char (*names)[192];
    size_t count;
    size_t room;
    unsigned char *staged; /* what lies on a device, for writing */
} items;

static tutti_status items_add(items *v, const tutti_tensor *tensor, tutti_error *err,
                              const char *format, ...) TUTTI_PRINTF(4, 5);

static tutti_status items_add(items *v, const tutti_tensor *tensor, tutti_error *err,
                              const char *format, ...)
{
    if (v->count == v->room)
        return tutti_fail(err, TUTTI_E_RANGE, "the checkpoint has more than %zu tensors",
                          v->room);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(v->names[v->count], sizeof v->names[0], format, args);
    va_end(args);
    v->list[v->count].name = v->names[v->count];
    v->list[v->count++].tensor = *tensor;
    return TUTTI_OK;
}

static tutti_tensor flat(void *data, int32_t dtype, int64_t n)
{
    tutti_tensor t = {.data = data, .device = TUTTI_DEVICE_CPU};
    t.desc.rank = 1;
    t.desc.dim[0] = n;
    t.desc.dtype = dtype;
    return t;
}

/* The state of one object: its items' memory is saved from and loaded to in place. */
static tutti_status add_object(trainer *t, items *v, instance *i, tutti_error *err)
{
    const tutti_stateful_v1 *table = instance_query(i, TUTTI_STATEFUL_V1);
    uint32_t n = 0;
    if (!table)
        return TUTTI_OK;
    t->mirrors.who = instance_name(i);
    tutti_status s = table->items(instance_self(i), NULL, 0, &n, err);
    if (s || n == 0)
        return s;
    tutti_state_item *list = calloc(n, sizeof *list);
    if (!list)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the state of %s",
                          instance_name(i));
    uint32_t count = 0;
    s = table->items(instance_self(i), list, n, &count, err);
    for (uint32_t k = 0; s == TUTTI_OK && k < count && k < n; k++)
        s = items_add(v, &list[k].tensor, err, "%s.%s.%s",
                      object_describe(instance_object(i))->kind, instance_name(i),
                      list[k].name);
    free(list);
    return s;
}

static size_t count_objects(trainer *t)
{
    size_t total = 0;
    for (size_t k = 0; k < t->run.participants.count; k++) {
        const tutti_stateful_v1 *table =
            instance_query(t->run.participants.items[k], TUTTI_STATEFUL_V1);
        uint32_t n = 0;
        tutti_error e = TUTTI_ERROR_INIT;
        t->mirrors.who = instance_name(t->run.participants.items[k]);
        if (table &&
            table->items(instance_self(t->run.participants.items[k]), NULL, 0, &n, &e) == 0)
            total += n;
    }
    t->mirrors.who = NULL;
    return total;
}

/* Everything that a checkpoint keeps, as views of where it lives. */
static tutti_status collect(trainer *t, int64_t *clock, items *v, tutti_error *err)
{
    const uint32_t n = net_weight_count(t->run.net);
    v->room = (size_t)n * (1 + TUTTI_OPTIMIZER_MAX_SLOTS) + count_objects(t) + t->nevals + 2;
    v->list = calloc(v->room, sizeof *v->list);
    v->names = calloc(v->room, sizeof *v->names);
    if (!v->list || !v->names)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a checkpoint of %u weights", n);
    tutti_tensor c = flat(clock, TUTTI_I64, CLOCK_SIZE);
    tutti_status s = items_add(v, &c, err, "run.clock");
    c = scaler_state(&t->scaler);
    if (s == TUTTI_OK && t->scaler.on)
        s = items_add(v, &c, err, "run.loss_scale");
    for (size_t k = 0; s == TUTTI_OK && k < t->nevals; k++) {
        c = flat(&t->evals[k].due.last_batch, TUTTI_I64, 1);
        s = items_add(v, &c, err, "evaluation.%s", t->evals[k].spec->label);
    }
    for (uint32_t k = 0; s == TUTTI_OK && k < n; k++) {
        const tutti_weight *w = net_weight(t->run.net, k);
        s = items_add(v, &w->data, err, "model.%s", w->path);
        const int64_t at = net_offset(t->run.net, k);
        if (at < 0)
            continue;
        const tutti_optimizer_v1 *o = t->updater.groups[0].table;
        for (uint32_t j = 0; s == TUTTI_OK && j < t->updater.nslots; j++) {
            tutti_tensor one = w->data;
            one.data = t->updater.slots[j] + at;
            s = items_add(v, &one, err, "optimizer.%s.%s", o->slot_names[j], w->path);
        }
    }
    for (size_t k = 0; s == TUTTI_OK && k < t->run.participants.count; k++)
        s = add_object(t, v, t->run.participants.items[k], err);
    t->mirrors.who = NULL;
    return s;
}

/* Copies to the host what lies on a device. */
static tutti_status bring(const trainer *t, items *v, tutti_error *err)
{
    const tutti_device *d = context_device(&t->run);
    uint64_t bytes = 0, at = 0;
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < v->count; k++)
        if (v->list[k].tensor.device != TUTTI_DEVICE_CPU)
            bytes += memory_round(tutti_nbytes(&v->list[k].tensor.desc));
    if (bytes == 0)
        return TUTTI_OK;
    v->staged = memory_take(bytes);
    if (!v->staged)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of a checkpoint",
                          (unsigned long long)bytes);
    for (size_t k = 0; k < v->count && !s; k++) {
        tutti_tensor *one = &v->list[k].tensor;
        const uint64_t size = tutti_nbytes(&one->desc);
        if (one->device == TUTTI_DEVICE_CPU)
            continue;
        s = place_copy(d, v->staged + at, one->data, size,
                       TUTTI_COPY_FROM_DEVICE | TUTTI_COPY_NON_BLOCKING, err);
        one->data = v->staged + at;
        one->device = TUTTI_DEVICE_CPU;
        at += memory_round(size);
    }
    tutti_error ignored = TUTTI_ERROR_INIT; /* copies begun must end before the memory goes */
    const tutti_status ended = d->table->synchronise(d->device, NULL, s ? &ignored : err);
    return s ? s : ended;
}

static void items_fini(items *v)
{
    free(v->staged);
    free(v->list);
    free(v->names);
}

static void clock_write(const trainer *t, int64_t *clock)
{
    memcpy(clock, &t->run.clock.now.iteration, CLOCK_FIELDS * sizeof *clock);
    memcpy(clock + CLOCK_FIELDS, &t->run.clock.previous.iteration,
           CLOCK_FIELDS * sizeof *clock);
    memcpy(clock + 2 * CLOCK_FIELDS, &t->run.clock.scheduled.iteration,
           CLOCK_FIELDS * sizeof *clock);
    clock[CLOCK_STEP] = t->updater.step;
    clock[CLOCK_HAS_PREVIOUS] = t->run.clock.has_previous;
}

static void clock_read(trainer *t, const int64_t *clock)
{
    memcpy(&t->run.clock.now.iteration, clock, CLOCK_FIELDS * sizeof *clock);
    memcpy(&t->run.clock.previous.iteration, clock + CLOCK_FIELDS,
           CLOCK_FIELDS * sizeof *clock);
    memcpy(&t->run.clock.scheduled.iteration, clock + 2 * CLOCK_FIELDS,
           CLOCK_FIELDS * sizeof *clock);
    t->run.clock.previous.struct_size = sizeof t->run.clock.previous;
    t->updater.step = clock[CLOCK_STEP];
    t->scalars.settled = false;
    t->run.clock.has_previous = clock[CLOCK_HAS_PREVIOUS] != 0;
}

/* Freezes what was frozen when `c` was written: it has no optimizer state there. */
static tutti_status freeze(trainer *t, const checkpoint *c, tutti_error *err)
{
    const char *line = checkpoint_value(c, "frozen");
    while (line && *line) {
        const size_t n = strcspn(line, "\n");
        for (uint32_t k = 0; k < net_weight_count(t->run.net); k++) {
            const char *path = net_weight(t->run.net, k)->path;
            if (strlen(path) == n && memcmp(path, line, n) == 0)
                net_freeze(t->run.net, k);
        }
        line += n + (line[n] == '\n');
    }
    const tutti_status s = net_commit(t->run.net, err);
    return s ? s : updater_fit(&t->updater, err);
}

tutti_status trainer_save(trainer *t, const char *path, tutti_error *err)
{
    items v = {NULL, NULL, 0, 0, NULL};
    int64_t clock[CLOCK_SIZE] = {0};
    provenance o;
    tutti_status s = mirrors_flush(&t->mirrors, false, err);
    if (!s && t->scaler.on && t->scalars.on)
        s = scalars_fetch(&t->scalars, NULL, err);
    if (s || (s = provenance_write(&t->run, &o, err)))
        return s;
    clock_write(t, clock);
    s = collect(t, clock, &v, err);
    if (s == TUTTI_OK)
        s = bring(t, &v, err);
    if (s == TUTTI_OK) {
        const checkpoint_text texts[] = {{"format", "pt"},           {"tutti", "1"},
                                         {"run", t->run.file->text}, {"plugins", o.plugins},
                                         {"surgery", o.surgery},     {"frozen", o.frozen}};
        s = checkpoint_write(path, v.list, v.count, texts, sizeof texts / sizeof *texts, err);
    }
    items_fini(&v);
    provenance_fini(&o);
    return s;
}

/* Weights that this run's model does not have are left out, but not silently. */
static void tell_unused(trainer *t, const char *path, const checkpoint *c, const items *v)
{
    const char *first = NULL;
    size_t unused = 0;
    for (size_t k = 0; k < checkpoint_count(c); k++) {
        checkpoint_item item;
        checkpoint_at(c, k, &item);
        bool known = strncmp(item.name, "model.", 6) != 0;
        for (size_t j = 0; j < v->count && !known; j++)
            known = strcmp(v->list[j].name, item.name) == 0;
        if (known)
            continue;
        first = first ? first : item.name;
        unused++;
    }
    if (unused == 0)
        return;
    char text[600];
    (void)snprintf(text, sizeof text,
                   "%s: %zu of its weights are not in this run's model and are left out, such "
                   "as %s",
                   path, unused, first);
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
}

static tutti_status restore(trainer *t, const char *path, const checkpoint *c, const items *v,
                            tutti_error *err)
{
    for (size_t k = 0; k < v->count; k++) {
        tutti_tensor from;
        tutti_error e = TUTTI_ERROR_INIT;
        const tutti_tensor *to = &v->list[k].tensor;
        if (checkpoint_find(c, v->list[k].name, &from, &e)) {
            if (strncmp(v->list[k].name, "model.", 6) != 0 &&
                strncmp(v->list[k].name, "optimizer.", 10) != 0 &&
                strcmp(v->list[k].name, "run.clock") != 0)
                continue; /* an object or evaluation that joined the run since */
            return tutti_fail(err, TUTTI_E_NOTFOUND,
                              "%s: has no %s; it was written by another model or optimizer",
                              path, v->list[k].name);
        }
        if (!tutti_same_shape(&from.desc, &to->desc) || from.desc.dtype != to->desc.dtype) {
            char have[96], want[96];
            return tutti_fail(err, TUTTI_E_SHAPE, "%s: %s is %s, this run's is %s", path,
                              v->list[k].name, tutti_desc_text(&from.desc, have, sizeof have),
                              tutti_desc_text(&to->desc, want, sizeof want));
        }
    }
    mirrors_invalidate(&t->mirrors, MIRROR_ALL);
    net_touch_weights(t->run.net);
    for (size_t k = 0; k < v->count; k++) {
        tutti_tensor from;
        tutti_error e = TUTTI_ERROR_INIT;
        const tutti_tensor *to = &v->list[k].tensor;
        if (checkpoint_find(c, v->list[k].name, &from, &e))
            continue;
        const tutti_status s = place_copy(
            to->device == TUTTI_DEVICE_CPU ? NULL : context_device(&t->run), to->data,
            from.data, tutti_nbytes(&from.desc), TUTTI_COPY_TO_DEVICE, err);
        if (s)
            return s;
    }
    for (size_t k = 0; k < t->run.participants.count; k++) {
        const tutti_stateful_v1 *table =
            instance_query(t->run.participants.items[k], TUTTI_STATEFUL_V1);
        const tutti_status s =
            table && table->restored
                ? table->restored(instance_self(t->run.participants.items[k]), err)
                : TUTTI_OK;
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static tutti_status load_file(trainer *t, const char *path, tutti_error *err)
{
    items v = {NULL, NULL, 0, 0, NULL};
    checkpoint *c = NULL;
    int64_t clock[CLOCK_SIZE] = {0};
    tutti_status s = checkpoint_open(path, &c, err);
    if (s || (s = provenance_check(&t->run, path, c, err)) || (s = freeze(t, c, err)) ||
        (s = collect(t, clock, &v, err)) || (s = restore(t, path, c, &v, err)))
        goto fail;
    tell_unused(t, path, c, &v);
    clock_read(t, clock);

fail:
    checkpoint_close(c);
    items_fini(&v);
    return s;
}

const tutti_saver_v1 *trainer_saver(trainer *t, void **ret_self)
{
    for (size_t k = 0; k < t->run.participants.count; k++) {
        const tutti_saver_v1 *saver =
            instance_query(t->run.participants.items[k], TUTTI_SAVER_V1);
        if (saver) {
            *ret_self = instance_self(t->run.participants.items[k]);
            return saver;
        }
    }
    return NULL;
}

tutti_status trainer_load(trainer *t, const char *path, tutti_error *err)
{
    char text[640];
    if (strcmp(path, "auto") == 0) {
        void *self;
        const tutti_saver_v1 *saver = trainer_saver(t, &self);
        if (!saver || !TUTTI_HAS(saver, tutti_saver_v1, latest) || !saver->latest)
            return tutti_fail(err, TUTTI_E_STATE,
                              "--resume auto needs a checkpoint_saver among the callbacks");
        path = saver->latest(self);
        if (!path || access(path, F_OK) != 0) {
            run_log_message(&t->run.log, TUTTI_LOG_INFO, "train",
                            "no checkpoint yet: a fresh start");
            return TUTTI_OK;
        }
    }
    const tutti_status s = load_file(t, path, err);
    if (s == TUTTI_OK) {
        (void)snprintf(text, sizeof text, "resumed from %s at batch %lld", path,
                       (long long)t->run.clock.now.batch);
        run_log_message(&t->run.log, TUTTI_LOG_INFO, "train", text);
    }
    return s;
}
