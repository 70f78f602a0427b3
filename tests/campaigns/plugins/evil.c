/* evil.c - a plugin that does what `how` says, at the end of a batch, in a data worker or in a logger. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/dataset.h"
#include "tutti/layer.h"
#include "tutti/log.h"
#include "tutti/logger.h"
#include "tutti/model.h"
#include "tutti/module.h"
#include "tutti/optimizer.h"
#include "tutti/penalty.h"
#include "tutti/stateful.h"
#include "tutti/tutti.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct evil {
    const char *how;
    const tutti_event *event; /* of the call under way */
    tutti_error *err;
    unsigned char *mapped; /* 4 pages of a file */
    const tutti_module_v1 *modules;
    tutti_module layer; /* of the model */
    const tutti_log_v1 *log;
    pthread_t talker; /* while it talks */
    int talks;
    float pixels[16];
} evil;

static volatile int zero;
static int *volatile nowhere;

/* ---- ends ---- */

static void segv(evil *e)
{
    *nowhere = 1;
}

static void divide(evil *e)
{
    zero = 100 / zero;
}

static void trap(evil *e)
{
    __builtin_trap();
}

static void call_abort(evil *e)
{
    abort();
}

static void free_twice(evil *e)
{
    void *volatile p = malloc(64);
    free(p);
    free(p);
}

static int deeper(int depth)
{
    volatile char room[4096];
    room[depth % 4096] = (char)depth;
    return zero ? depth : deeper(depth + 1) + room[0];
}

static void overflow(evil *e)
{
    (void)deeper(0);
}

static void exit_0(evil *e)
{
    exit(0);
}

static void exit_3(evil *e)
{
    exit(3);
}

static void end_thread(evil *e)
{
    pthread_exit(NULL);
}

static void interrupt(evil *e)
{
    raise(SIGTERM);
}

/* A child that goes on as if it were the run. */
static void call_fork(evil *e)
{
    static int forked;
    if (!forked++)
        (void)fork();
}

/* ---- in a thread of its own ---- */

static void *run_segv(void *unused)
{
    *nowhere = 1;
    return unused;
}

static void *run_abort(void *unused)
{
    abort();
    return unused;
}

static void *run_exit(void *unused)
{
    exit(0);
    return unused;
}

static void *run_sleep(void *unused)
{
    sleep(3600);
    return unused;
}

static void start(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) == 0)
        (void)pthread_detach(thread);
}

static void thread_segv(evil *e)
{
    start(run_segv);
    (void)sleep(60); /* the thread ends the process before */
}

static void thread_abort(evil *e)
{
    start(run_abort);
    (void)sleep(60); /* the thread ends the process before */
}

static void thread_exit(evil *e)
{
    start(run_exit);
    (void)sleep(60); /* the thread ends the process before */
}

/* Two threads write one number, and neither waits for the other. */
static int raced;

static void *run_race(void *unused)
{
    raced++;
    return unused;
}

static void race(evil *e)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_race, NULL))
        return;
    raced++;
    (void)pthread_join(thread, NULL);
}

/* ---- no end ---- */

/* From now on nothing comes back. */
static void tell_tester(void)
{
    (void)close(open("hung", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void loop(evil *e)
{
    tell_tester();
    while (!zero)
        ;
}

static void hang(evil *e)
{
    tell_tester();
    for (;;)
        pause();
}

static void dawdle(evil *e)
{
    usleep(700000);
}

/* ---- changes ---- */

static void rounding(evil *e)
{
    (void)fesetround(FE_UPWARD);
}

static void traps(evil *e)
{
    (void)feenableexcept(FE_DIVBYZERO);
}

static void subnormal(evil *e)
{
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#else
    rounding(e);
#endif
}

static void locale(evil *e)
{
    (void)setlocale(LC_ALL, "C.UTF-8");
}

static void comma(evil *e)
{
    if (!setlocale(LC_ALL, "evil"))
        (void)tutti_fail(e->err, TUTTI_E_NOTFOUND, "there is no such locale");
}

/* The same for the thread that calls. */
static void comma_here(evil *e)
{
    static locale_t one;
    if (!one && !(one = newlocale(LC_ALL_MASK, "evil", (locale_t)0)))
        (void)tutti_fail(e->err, TUTTI_E_NOTFOUND, "there is no such locale");
    else
        (void)uselocale(one);
}

static void folder(evil *e)
{
    (void)!chdir("/");
}

static void signals(evil *e)
{
    (void)signal(SIGINT, SIG_IGN);
}

static void mask(evil *e)
{
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR1);
    (void)pthread_sigmask(SIG_BLOCK, &one, NULL);
}

static void streams(evil *e)
{
    (void)close(1);
}

static void ticks(evil *e)
{
    memset((void *)(uintptr_t)e->event->time, 0x7f, sizeof *e->event->time);
}

static void files(evil *e)
{
    (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void threads(evil *e)
{
    start(run_sleep);
}

static void heap(evil *e)
{
    char *volatile kept = malloc(100000);
    if (kept)
        memset(kept, 1, 100000);
}

/* No evil: any thread may say something.  It talks while others log, until the next batch ends. */
static void *run_talk(void *self)
{
    const evil *e = self;
    for (int k = 0; k < 200 || (k < 5000 && __atomic_load_n(&e->talks, __ATOMIC_RELAXED)); k++)
        e->log->write(e->log->ctx, TUTTI_LOG_INFO, "a word of a thread");
    return NULL;
}

static void end_talk(evil *e)
{
    if (__atomic_exchange_n(&e->talks, 0, __ATOMIC_RELAXED))
        (void)pthread_join(e->talker, NULL);
}

static void talk(evil *e)
{
    end_talk(e);
    __atomic_store_n(&e->talks, e->log != NULL, __ATOMIC_RELAXED);
    if (e->log && pthread_create(&e->talker, NULL, run_talk, e) != 0)
        __atomic_store_n(&e->talks, 0, __ATOMIC_RELAXED);
}

/* ---- answers ---- */

static void no_end_of_text(evil *e)
{
    memset(e->err->text, 'x', sizeof e->err->text);
    e->err->status = TUTTI_E_FAIL;
}

static void percent(evil *e)
{
    (void)snprintf(e->err->text, sizeof e->err->text, "%s", "%s%n%s%n");
    e->err->status = TUTTI_E_FAIL;
}

static void no_text(evil *e)
{
    e->err->status = TUTTI_E_FAIL;
}

static const struct {
    const char *how;
    void (*act)(evil *e);
} acts[] = {
    {"segv", segv},
    {"divide", divide},
    {"trap", trap},
    {"abort", call_abort},
    {"free_twice", free_twice},
    {"overflow", overflow},
    {"exit_0", exit_0},
    {"exit_3", exit_3},
    {"end_thread", end_thread},
    {"interrupt", interrupt},
    {"fork", call_fork},
    {"thread_segv", thread_segv},
    {"thread_abort", thread_abort},
    {"thread_exit", thread_exit},
    {"race", race},
    {"loop", loop},
    {"hang", hang},
    {"dawdle", dawdle},
    {"rounding", rounding},
    {"traps", traps},
    {"subnormal", subnormal},
    {"locale", locale},
    {"comma", comma},
    {"comma_here", comma_here},
    {"folder", folder},
    {"signals", signals},
    {"mask", mask},
    {"streams", streams},
    {"clock", ticks},
    {"files", files},
    {"threads", threads},
    {"talk", talk},
    {"heap", heap},
    {"no_end_of_text", no_end_of_text},
    {"percent", percent},
    {"no_text", no_text},
};

static tutti_status act(evil *e, const char *how, const tutti_event *event, tutti_error *err)
{
    e->event = event;
    e->err = err;
    for (size_t k = 0; k < sizeof acts / sizeof *acts; k++)
        if (strcmp(acts[k].how, how) == 0)
            acts[k].act(e);
    return err->status;
}

/* A function for handlers of run files. */
TUTTI_EXPORT tutti_status evil_act(const char *how, tutti_error *err);

tutti_status evil_act(const char *how, tutti_error *err)
{
    static evil e;
    return act(&e, how, NULL, err);
}

/* ---- objects ---- */

static tutti_status open_evil(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    evil *e = calloc(1, sizeof *e);
    if (!e)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory");
    e->how = tutti_param_find(params, "how") ? tutti_param_str(params, "how") : "segv";
    e->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    e->log = host->query(host->ctx, TUTTI_LOG_V1);
    *ret_self = e;
    return strncmp(e->how, "open_", 5) == 0 ? act(e, e->how + 5, NULL, err) : TUTTI_OK;
}

static tutti_status close_evil(void *self, tutti_error *err)
{
    evil *e = self;
    const tutti_status s =
        strncmp(e->how, "close_", 6) == 0 ? act(e, e->how + 6, NULL, err) : TUTTI_OK;
    end_talk(e);
    free(e);
    return s;
}

static tutti_status run_event(void *self, const tutti_event *event, tutti_error *err)
{
    evil *e = self;
    if (strcmp(e->how, "positive") == 0)
        return 7;
    if (strcmp(e->how, "saver") == 0)
        interrupt(e);
    return act(e, e->how, event, err);
}

/* A saver of nothing, which says so only where that is asked for. */
static int32_t due(void *self, int32_t event)
{
    return 0;
}

static tutti_status save(void *self, tutti_error *err)
{
    return act(self, "segv", NULL, err);
}

static const char *older(void *self, uint32_t k)
{
    tutti_error err = TUTTI_ERROR_INIT;
    (void)act(self, "segv", NULL, &err);
    return NULL;
}

static const void *query(void *self, const char *interface_id)
{
    static const tutti_saver_v1 saver = {
        .struct_size = sizeof saver, .due = due, .save = save, .latest = NULL, .older = older};
    static const tutti_saver_v1 lister = {.struct_size = sizeof lister,
                                          .due = due,
                                          .save = save,
                                          .latest = (const char *(*)(void *))older,
                                          .older = older};
    const evil *e = self;
    if (strcmp(interface_id, TUTTI_SAVER_V1) == 0 && strncmp(e->how, "saver", 5) == 0)
        return strcmp(e->how, "saver") == 0 ? &saver : &lister;
    return strcmp(e->how, "garbage_table") == 0 ? (const void *)0x10 : NULL;
}

/* At the second step; "team": by threads that are not the run's own. */
static void update(void *self, const tutti_update *u)
{
    evil *e = self;
    tutti_error err = TUTTI_ERROR_INIT;
    const int own = gettid() == getpid();
    if (u->step == 2 && !(strcmp(e->how, "team") == 0 && own))
        (void)act(e, strcmp(e->how, "team") == 0 ? "segv" : e->how, NULL, &err);
}

static const void *query_optimizer(void *self, const char *interface_id)
{
    static const tutti_optimizer_v1 table = {
        .struct_size = sizeof table, .lr = 0.01, .update = update};
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &table : NULL;
}

static int32_t match(void *self, const tutti_event *event)
{
    return 0;
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                          tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_value term(void *self, tutti_graph *g, const tutti_penalty_input *in)
{
    evil *e = self;
    tutti_error err = TUTTI_ERROR_INIT;
    (void)act(e, e->how, NULL, &err);
    return in->loss;
}

static const void *query_algorithm(void *self, const char *interface_id)
{
    static const tutti_penalty_v1 table = {.struct_size = sizeof table, .term = term};
    return strcmp(interface_id, TUTTI_PENALTY_V1) == 0 ? &table : NULL;
}

static tutti_status build_layer(void *self, tutti_module m, tutti_error *err)
{
    return TUTTI_OK;
}

static tutti_status trace_layer(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    evil *e = self;
    tutti_error err = TUTTI_ERROR_INIT;
    return act(e, e->how, NULL, &err);
}

static const void *query_layer(void *self, const char *interface_id)
{
    static const tutti_layer_v1 table = {
        .struct_size = sizeof table, .build = build_layer, .trace = trace_layer};
    return strcmp(interface_id, TUTTI_LAYER_V1) == 0 ? &table : NULL;
}

static tutti_status build_model(void *self, tutti_module root, const tutti_column *columns,
                                uint32_t ncolumns, tutti_error *err)
{
    evil *e = self;
    tutti_status s = act(e, e->how, NULL, err);
    if (!s)
        s = e->modules->create(e->modules->ctx, "evil", NULL, 0, &e->layer, err);
    return s ? s : e->modules->add(e->modules->ctx, root, "evil", e->layer, err);
}

static tutti_status trace_model(void *self, tutti_graph *g, tutti_module root,
                                const tutti_value *inputs, uint32_t ninputs,
                                tutti_value *outputs, uint32_t noutputs)
{
    evil *e = self;
    return g->call(g, e->layer, inputs, 1, outputs, 1);
}

static tutti_value model_loss(void *self, tutti_graph *g, const tutti_value *outputs,
                              uint32_t noutputs, const tutti_value *targets, uint32_t ntargets,
                              int32_t reduction)
{
    return outputs[0];
}

static const void *query_model(void *self, const char *interface_id)
{
    static const char *const inputs[] = {"input", NULL}, *const targets[] = {"target", NULL};
    static const tutti_model_v1 table = {.struct_size = sizeof table,
                                         .noutputs = 1,
                                         .inputs = inputs,
                                         .targets = targets,
                                         .build = build_model,
                                         .trace = trace_model,
                                         .loss = model_loss};
    return strcmp(interface_id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static tutti_status info(void *self, tutti_dataset_info *ret_info, tutti_error *err)
{
    ret_info->samples = 64;
    ret_info->ncolumns = 2;
    ret_info->columns[0] = (tutti_column){"input", {{16}, 1, TUTTI_F32}};
    ret_info->columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, 10};
    return TUTTI_OK;
}

/* Four pages of a file that then has but one. */
static void map_and_cut(evil *e)
{
    const int fd = open("cut.bin", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (ftruncate(fd, 16384) == 0)
        e->mapped = mmap(NULL, 16384, PROT_READ, MAP_SHARED, fd, 0);
    (void)!ftruncate(fd, 4096);
    (void)close(fd);
}

static tutti_status read_sample(void *self, int64_t index, tutti_tensor *columns,
                                const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    evil *e = self;
    if (strcmp(e->how, "cut") == 0 && !e->mapped)
        map_and_cut(e);
    memset(columns[0].data, 0, 64);
    if (e->mapped)
        memcpy(columns[0].data, e->mapped + 256 * index, 64);
    *(int32_t *)columns[1].data = (int32_t)(index % 10);
    if (strncmp(e->how, "every_", 6) == 0)
        return act(e, e->how + 6, NULL, err);
    return index == 40 ? act(e, e->how, NULL, err) : TUTTI_OK;
}

static const void *query_dataset(void *self, const char *interface_id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = info, .read = read_sample};
    return strcmp(interface_id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

static tutti_status log_metrics(void *self, const tutti_named_value *values, uint32_t n,
                                uint64_t step, tutti_error *err)
{
    evil *e = self;
    return act(e, e->how, NULL, err);
}

static const void *query_logger(void *self, const char *interface_id)
{
    static const tutti_logger_v1 table = {.struct_size = sizeof table, .metrics = log_metrics};
    return strcmp(interface_id, TUTTI_LOGGER_V1) == 0 ? &table : NULL;
}

static const tutti_calls callback_calls = {.struct_size = sizeof callback_calls,
                                           .open = open_evil,
                                           .run_event = run_event,
                                           .close = close_evil,
                                           .query = query};
static const tutti_calls dataset_calls = {.struct_size = sizeof dataset_calls,
                                          .open = open_evil,
                                          .close = close_evil,
                                          .query = query_dataset};
static const tutti_calls logger_calls = {.struct_size = sizeof logger_calls,
                                         .open = open_evil,
                                         .run_event = run_event,
                                         .close = close_evil,
                                         .query = query_logger};
static const tutti_object callback =
    TUTTI_OBJECT_INIT("evil", TUTTI_KIND_CALLBACK, &callback_calls);
static const tutti_object dataset =
    TUTTI_OBJECT_INIT("evil", TUTTI_KIND_DATASET, &dataset_calls);
static const tutti_object logger = TUTTI_OBJECT_INIT("evil", TUTTI_KIND_LOGGER, &logger_calls);
#define CALLS(of)                                                                              \
    static const tutti_calls of##_calls = {.struct_size = sizeof of##_calls,                   \
                                           .open = open_evil,                                  \
                                           .match = match,                                     \
                                           .apply = apply,                                     \
                                           .close = close_evil,                                \
                                           .query = query_##of}
CALLS(optimizer);
CALLS(algorithm);
CALLS(layer);
CALLS(model);
static const tutti_object optimizer =
                              TUTTI_OBJECT_INIT("evil", TUTTI_KIND_OPTIMIZER, &optimizer_calls),
                          algorithm =
                              TUTTI_OBJECT_INIT("evil", TUTTI_KIND_ALGORITHM, &algorithm_calls),
                          layer = TUTTI_OBJECT_INIT("evil", TUTTI_KIND_LAYER, &layer_calls),
                          model = TUTTI_OBJECT_INIT("evil", TUTTI_KIND_MODEL, &model_calls);
static const tutti_object *const objects[] = {&callback,  &dataset, &logger, &optimizer,
                                              &algorithm, &layer,   &model,  NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.evil.evil", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
#ifdef EVIL_ENTRY
    return EVIL_ENTRY;
#else
    return &plugin;
#endif
}

#ifdef EVIL_LOAD
__attribute__((constructor)) static void load(void)
{
    evil e = {.how = EVIL_LOAD};
    tutti_error err = TUTTI_ERROR_INIT;
    (void)act(&e, e.how, NULL, &err);
}
#endif
