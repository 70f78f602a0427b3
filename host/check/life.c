/* life.c - the checks life, process, match, events, state and device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check/life.h"
#include "check/imports.h"
#include "train/checkpoint_file/checkpoint.h"
#include "train/step/trainer_state.h"
#include "train/trainer/services.h"
#include "tutti/engine.h"
#include "tutti/kernel.h"
#include "tutti/stateful.h"
#include "tutti/weights.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct life {
    const subject *subject;
    child *child;
    registry_probe probe;
    trainer *trainer;
    const tutti_engine_v1 *real_engine;
    tutti_engine_v1 engine; /* with fire as below */
    _Atomic int64_t calls;  /* of the object */
    bool in_match;          /* of our own */
    instance *launcher;     /* of the object, that has asked for kernels; NULL: none has */
} life;

/* ---- what a match could change ---- */

static uint64_t digest(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t k = 0; k < bytes; k++)
        h = (h ^ p[k]) * 0x100000001b3u;
    return h;
}

static uint64_t digest_state(life *l, uint64_t h)
{
    static const char *const names[] = {"input", "target", "outputs", "loss"};
    const tutti_state_v1 *state = &l->trainer->services->state; /* asking keeps outputs */
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        tutti_tensor t;
        if (!state->get(state->ctx, names[k], &t, &e) && t.data)
            h = digest(h, t.data, tutti_nbytes(&t.desc));
    }
    h = digest(h, state->max_duration, sizeof *state->max_duration);
    return digest(h, state->seed, sizeof *state->seed);
}

static uint64_t digest_weights(life *l, uint64_t h)
{
    const tutti_weights_v1 *weights = trainer_service(l->trainer, NULL, TUTTI_WEIGHTS_V1);
    const uint32_t n = weights ? weights->count(weights->ctx) : 0;
    for (uint32_t k = 0; k < n; k++) {
        tutti_error e = TUTTI_ERROR_INIT;
        tutti_weight w = {.struct_size = (uint32_t)sizeof w};
        if (weights->at(weights->ctx, k, &w, &e) || !w.data.data)
            continue;
        h = digest(h, w.data.data, tutti_nbytes(&w.data.desc));
        if (w.grad)
            h = digest(h, w.grad, tutti_nbytes(&w.data.desc));
    }
    return h;
}

/* The object's own memory, as far as it shows it. */
static uint64_t digest_items(instance *i, uint64_t h)
{
    const tutti_stateful_v1 *table = instance_query(i, TUTTI_STATEFUL_V1);
    tutti_state_item items[16];
    tutti_error e = TUTTI_ERROR_INIT;
    uint32_t n = 0;
    if (!table || table->items(instance_self(i), items, 16, &n, &e))
        return h;
    for (uint32_t k = 0; k < n && k < 16; k++)
        if (items[k].tensor.device == TUTTI_DEVICE_CPU && items[k].tensor.data)
            h = digest(h, items[k].tensor.data, tutti_nbytes(&items[k].tensor.desc));
    return h;
}

static uint64_t digest_all(life *l, instance *i)
{
    return digest_items(i, digest_weights(l, digest_state(l, 0xcbf29ce484222325u)));
}

enum { MATCH_TRIES = 4, MATCH_PAUSE_NS = 5000000 };

/* Asks twice more than the run does. */
static void try_match(life *l, instance *i)
{
    const tutti_event *event = crash_breadcrumb.at;
    const tutti_calls *calls = instance_calls(i);
    if (l->in_match || !event || !calls->match)
        return;
    l->in_match = true;
    int32_t first = 0, second = 0;
    bool changes = true;
    /* Threads of the loader may move what the digest sees: only what changes each time is match's doing. */
    for (int try = 0; try < MATCH_TRIES && changes; try++) {
        const struct timespec a_while = {0, try * MATCH_PAUSE_NS};
        (void)nanosleep(&a_while, NULL);
        const uint64_t before = digest_all(l, i);
        first = calls->match(instance_self(i), event);
        const uint64_t after = digest_all(l, i);
        second = calls->match(instance_self(i), event);
        changes = before != after;
    }
    if (changes)
        child_say(l->child, CHECK_MATCH, CHECK_FAILED, "match on %s changes the run or itself",
                  event->name);
    else if (first != second)
        child_say(l->child, CHECK_MATCH, CHECK_FAILED,
                  "match on %s answers %d, then %d to the same", event->name, first, second);
    l->in_match = false;
}

/* Asks where the host does not: "when" promises that match answers 0 there. */
static void ask_left_out(void *ctx, const tutti_event *event)
{
    life *l = ctx;
    const instance *i;
    int32_t id;
    char *when;
    for (size_t k = 0; engine_instance(trainer_engine(l->trainer), k, &i); k++)
        for (size_t n = 0; i && instance_object(i) == l->subject->object &&
                           instance_left_out(i, n, &id, &when);
             n++) {
            if (id == event->id && !l->in_match) {
                l->in_match = true;
                instance_call c = instance_enter(i, "match");
                const int32_t answer = instance_calls(i)->match(instance_self(i), event);
                instance_leave(&c);
                l->in_match = false;
                if (answer)
                    child_say(l->child, CHECK_MATCH, CHECK_FAILED,
                              "match on %s answers %d, where the manifest leaves it out: heard "
                              "when %s",
                              event->name, answer, when ? when : "?");
            }
            free(when);
        }
}

/* Who watches hears all events, so training steps are not run as one: only where there is something to ask. */
static void watch_left_out(life *l)
{
    const instance *i;
    int32_t id;
    char *when = NULL;
    bool any = false;
    for (size_t k = 0; engine_instance(trainer_engine(l->trainer), k, &i); k++)
        if (i && instance_object(i) == l->subject->object &&
            instance_left_out(i, 0, &id, &when)) {
            any = any || instance_calls(i)->match;
            free(when);
        }
    if (any)
        engine_watch(trainer_engine(l->trainer), ask_left_out, l);
}

/* ---- the probe ---- */

static life *firing; /* of the engine's table, whose ctx is the engine's */

static bool is_ours(const life *l, const char *plugin)
{
    return plugin && strcmp(plugin, l->subject->info->plugin_id) == 0;
}

static tutti_status fire(void *ctx, int32_t event, tutti_error *err)
{
    const custom_event *events;
    const registry *r = firing->subject->options->registry;
    const size_t n = registry_events(r, &events);
    const int64_t k = (int64_t)event - TUTTI_EVENT_CUSTOM;
    const char *name = k >= 0 && k < (int64_t)n ? events[k].name : "an event of the engine's";
    if (is_ours(firing, crash_breadcrumb.plugin) &&
        !registry_declares(r, crash_breadcrumb.plugin, name))
        child_say(firing->child, CHECK_EVENTS, CHECK_FAILED,
                  "fires %s, which its manifest does not declare", name);
    return firing->real_engine->fire(ctx, event, err);
}

static const void *serve(void *ctx, instance *i, const char *interface_id, const void *table)
{
    life *l = ctx;
    if (table && instance_object(i) == l->subject->object &&
        strcmp(interface_id, TUTTI_KERNEL_V1) == 0)
        l->launcher = i;
    if (!table || strcmp(interface_id, TUTTI_ENGINE_V1) != 0 ||
        !is_ours(l, object_describe(instance_object(i))->plugin_id))
        return table;
    l->real_engine = table;
    l->engine = *l->real_engine;
    l->engine.fire = fire;
    firing = l;
    return &l->engine;
}

static void look_on(void *ctx, const instance *i, const char *call)
{
    life *l = ctx;
    if (instance_object(i) != l->subject->object)
        return;
    atomic_fetch_add(&l->calls, 1);
    if (l->trainer && strcmp(call, "match") == 0)
        try_match(l, (instance *)(uintptr_t)i);
}

static void report(void *ctx, int level, const char *text)
{
    life *l = ctx;
    char head[200];
    (void)snprintf(head, sizeof head, "plugin %s ", l->subject->info->plugin_id);
    if (level >= TUTTI_LOG_ERROR && strncmp(text, head, strlen(head)) == 0)
        child_say(l->child, CHECK_PROCESS, CHECK_FAILED, "%s", text + strlen(head));
}

/* ---- the run ---- */

/* Kernels that the manifest gives device code must run there: the host would run them on copies of its own. */
static void try_kernels(life *l, plugin_kernels *kernels)
{
    kernel_info k;
    for (uint32_t n = 0; n < instance_kernel_count(l->launcher); n++)
        if (instance_kernel(l->launcher, n, &k) && k.entry &&
            !kernels_run_there(kernels, l->launcher)) {
            child_say(l->child, CHECK_DEVICE, CHECK_FAILED,
                      "kernel %s runs on the CPU: %s has no device code for %s", k.name, k.file,
                      l->subject->options->device);
            return;
        }
}

static tutti_status train(life *l, const char *folder, const char *resume, tutti_error *err)
{
    run_file *run = NULL;
    trainer *t = NULL;
    if (mkdir(folder, 0755) != 0 || chdir(folder) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: cannot be made", folder);
    subject_write_files();
    char here[512];
    tutti_status s = getcwd(here, sizeof here)
                         ? subject_train(l->subject, true, here, &run, &t, err)
                         : tutti_fail(err, TUTTI_E_IO, "%s: has no name", folder);
    plugin_info p;
    registry_plugin(l->subject->options->registry, l->subject->plugin, &p);
    if (!s) {
        const fit_options options = {.resume = resume};
        (void)imports_redirect(p.library);
        imports_fail(0);
        l->trainer = t;
        watch_left_out(l);
        s = trainer_fit(t, &options, err);
        l->trainer = NULL;
    }
    if (!s && l->launcher && context_is_remote(&t->run))
        try_kernels(l, &t->kernels);
    subject_end(run, t);
    return s;
}

static void begin(life *l, child *c, const subject *s)
{
    memset(l, 0, sizeof *l);
    l->subject = s;
    l->child = c;
    l->probe = (registry_probe){.ctx = l,
                                .plugin = s->info->plugin_id,
                                .call = look_on,
                                .service = serve,
                                .report = report};
    registry_watch(s->options->registry, &l->probe);
    imports_begin();
}

void life_whole(child *c, void *subject_)
{
    life l;
    tutti_error e = TUTTI_ERROR_INIT;
    const subject *s = subject_;
    begin(&l, c, s);
    child_begin(c, CHECK_LIFE);
    const tutti_status status = train(&l, "whole", NULL, &e);
    if (status && (s->members || subject_breaks_its_word(s, status)))
        child_say(c, CHECK_LIFE, CHECK_FAILED, "%s", e.text);
    else if (status)
        child_give_up(c, CHECK_LIFE, "", &e);
    if (status)
        return;
    if (!atomic_load(&l.calls))
        child_say(c, CHECK_LIFE, CHECK_NOT_TRIED,
                  "the run has no place for it; name it in check.json");
    const int tried[] = {CHECK_PROCESS, CHECK_EVENTS};
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++)
        if (atomic_load(&l.calls))
            child_begin(c, tried[k]);
    if (strcmp(s->info->kind, TUTTI_KIND_ALGORITHM) == 0)
        child_begin(c, CHECK_MATCH);
    const char *name = imports_forbidden();
    if (name)
        child_say(c, CHECK_PROCESS, CHECK_FAILED,
                  "calls %s, which is the host's alone (see CONTRACT.md)", name);
}

void life_long(child *c, void *subject_)
{
    life l;
    tutti_error e = TUTTI_ERROR_INIT;
    begin(&l, c, subject_);
    child_begin(c, CHECK_PROCESS);
    if (!json_override(l.subject->run, "max_duration", "\"40ba\"", &e))
        (void)train(&l, "long", NULL, &e);
}

void life_condition(child *c, void *subject_)
{
    life l;
    char text[256];
    tutti_error e = TUTTI_ERROR_INIT;
    const subject *s = subject_;
    begin(&l, c, s);
    registry_look(s->options->registry, false);
    tutti_params *p = subject_params(s, NULL, text, sizeof text);
    const bool fits = p && !object_check(s->object, s->name, p, &e);
    params_free(p);
    if (!fits)
        return;
    child_begin(c, CHECK_MATCH);
    child_begin(c, CHECK_LIFE);
    (void)train(&l, "when", NULL, &e);
}

/* ---- two checkpoints ---- */

/* The last counters of a clock are nanoseconds. */
enum { CLOCKS = 3, COUNTERS = 14, WALL = 10 };

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Whether it may differ: what a saver, loggers and callbacks remember of their files, which this run has not, and times of
 * the wall, which end in _ns. */
static bool may_differ(const char *name)
{
    const bool watches = strncmp(name, "logger.", 7) == 0 || strncmp(name, "callback.", 9) == 0;
    return strstr(name, "saver.saved") || ends_with(name, "_ns") ||
           (watches && ends_with(name, ".mark"));
}

static bool same_tensor(const char *name, const tutti_tensor *a, const tutti_tensor *b)
{
    const uint64_t bytes = tutti_nbytes(&a->desc);
    if (!tutti_same_shape(&a->desc, &b->desc) || a->desc.dtype != b->desc.dtype)
        return false;
    if (strcmp(name, "run.clock") != 0)
        return memcmp(a->data, b->data, bytes) == 0;
    const int64_t *x = a->data, *y = b->data;
    for (size_t k = 0; k < bytes / sizeof *x; k++)
        if (x[k] != y[k] && (k >= (size_t)CLOCKS * COUNTERS || k % COUNTERS < WALL))
            return false;
    return true;
}

static void compare(child *c, const checkpoint *a, const checkpoint *b)
{
    if (checkpoint_count(a) != checkpoint_count(b))
        child_say(c, CHECK_STATE, CHECK_FAILED,
                  "a run that went on has %zu tensors in its checkpoint, the other one %zu",
                  checkpoint_count(b), checkpoint_count(a));
    for (size_t k = 0; k < checkpoint_count(a); k++) {
        checkpoint_item one;
        tutti_tensor other;
        tutti_error e = TUTTI_ERROR_INIT;
        checkpoint_at(a, k, &one);
        if (may_differ(one.name))
            continue;
        if (checkpoint_find(b, one.name, &other, &e))
            child_say(c, CHECK_STATE, CHECK_FAILED, "%s", e.text);
        else if (!same_tensor(one.name, &one.tensor, &other))
            child_say(c, CHECK_STATE, CHECK_FAILED,
                      "%s has other bits after a stop: does tutti.stateful/1 have all that the "
                      "object remembers?",
                      one.name);
    }
}

void life_half(child *c, void *subject_)
{
    life l;
    tutti_error e = TUTTI_ERROR_INIT;
    const subject *s = subject_;
    checkpoint *a = NULL, *b = NULL;
    begin(&l, c, s);
    registry_look(s->options->registry, false);
    child_begin(c, CHECK_STATE);
    tutti_status status = train(&l, "half", "../whole/saves/ba4.safetensors", &e);
    if (!status)
        status = checkpoint_open("../whole/saves/latest.safetensors", &a, &e);
    if (!status)
        status = checkpoint_open("saves/latest.safetensors", &b, &e);
    if (status)
        child_say(c, CHECK_STATE, CHECK_FAILED, "%s", e.text);
    else
        compare(c, a, b);
    checkpoint_close(a);
    checkpoint_close(b);
}

/* ---- the CPU and a device ---- */

/* Rounding differs; a kernel that does something else is off by about what it does. */
#define DEVICE_TOLERANCE 0.01

/* |x - y| of two F32 tensors of one shape. */
static double distance(const tutti_tensor *x, const tutti_tensor *y)
{
    const float *a = x->data, *b = y->data;
    double sum = 0.0;
    for (int64_t k = 0; k < tutti_numel(&x->desc); k++)
        sum += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
    return sqrt(sum);
}

/* Holds what a weight is after the device's run to how far it goes in the second half of the CPU's. */
static void compare_weight(child *c, const char *name, const tutti_tensor *cpu,
                           const tutti_tensor *half, const tutti_tensor *device)
{
    if (!tutti_same_shape(&cpu->desc, &half->desc) ||
        !tutti_same_shape(&cpu->desc, &device->desc)) {
        child_say(c, CHECK_DEVICE, CHECK_FAILED, "%s has another shape on the device", name);
        return;
    }
    if (cpu->desc.dtype != TUTTI_F32 || half->desc.dtype != TUTTI_F32 ||
        device->desc.dtype != TUTTI_F32)
        return;
    const double way = distance(cpu, half), off = distance(cpu, device);
    if (!(off <= DEVICE_TOLERANCE * way + 1e-5))
        child_say(c, CHECK_DEVICE, CHECK_FAILED,
                  "%s ends %.3g away from where it ends on the CPU, where its last 4 batches "
                  "move it by %.3g",
                  name, off, way);
}

/* Tensors of three checkpoints that are weights of the model. */
static void compare_weights(child *c, const checkpoint *cpu, const checkpoint *half,
                            const checkpoint *device)
{
    for (size_t k = 0; k < checkpoint_count(cpu); k++) {
        checkpoint_item one;
        tutti_tensor before, other;
        tutti_error e = TUTTI_ERROR_INIT;
        checkpoint_at(cpu, k, &one);
        if (strncmp(one.name, "model.", 6) != 0)
            continue;
        if (checkpoint_find(half, one.name, &before, &e) ||
            checkpoint_find(device, one.name, &other, &e))
            child_say(c, CHECK_DEVICE, CHECK_FAILED, "%s", e.text);
        else
            compare_weight(c, one.name, &one.tensor, &before, &other);
    }
}

void life_device(child *c, void *subject_)
{
    static const char *const paths[] = {"../whole/saves/latest.safetensors",
                                        "../whole/saves/ba4.safetensors",
                                        "saves/latest.safetensors"};
    life l;
    char device[128];
    tutti_error e = TUTTI_ERROR_INIT;
    const subject *s = subject_;
    checkpoint *files[3] = {NULL, NULL, NULL};
    begin(&l, c, s);
    registry_look(s->options->registry, false);
    child_begin(c, CHECK_DEVICE);
    (void)snprintf(device, sizeof device, "\"%s\"", s->options->device);
    tutti_status status = json_override(s->run, "device", device, &e);
    if (!status)
        status = train(&l, "device", NULL, &e);
    for (size_t k = 0; k < 3 && !status; k++)
        status = checkpoint_open(paths[k], &files[k], &e);
    if (status)
        child_say(c, CHECK_DEVICE, CHECK_FAILED, "%s", e.text);
    else
        compare_weights(c, files[0], files[1], files[2]);
    for (size_t k = 0; k < 3; k++)
        checkpoint_close(files[k]);
}
