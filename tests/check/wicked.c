/* wicked.c - a plugin that breaks one point of the contract, which its manifest's default of `how` names. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef WICKED_OPTIMIZER
#define TUTTI_USE_MINOR 1 /* slot_shape */
#elif defined(WICKED_DATASET)
#define TUTTI_USE_MINOR 2 /* tutti.sample_groups/1 */
#define TUTTI_MIN_MINOR 0
#endif
#include "tutti/dataset.h"
#include "tutti/engine.h"
#include "tutti/log.h"
#include "tutti/optimizer.h"
#include "tutti/scheduler.h"
#include "tutti/state.h"
#include "tutti/tutti.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct wicked {
    char *how;
    const tutti_state_v1 *state;
    const tutti_engine_v1 *engine;
    int64_t calls;
} wicked;

static _Atomic int opened;

static int is(const wicked *w, const char *how)
{
    return strcmp(w->how, how) == 0;
}

static void *run_forever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* What some ways of opening leave behind. */
static void leave_behind(const wicked *w)
{
    pthread_t thread;
    if (is(w, "leak"))
        ((volatile char *)malloc(100))[0] = 1;
    if (is(w, "leak_file"))
        (void)open("/dev/null", O_RDONLY);
    if (is(w, "leak_thread") && pthread_create(&thread, NULL, run_forever, NULL) == 0)
        (void)pthread_detach(thread);
}

static tutti_status open_wicked(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    wicked *w = calloc(1, sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "wicked: no memory");
    w->how = strdup(tutti_param_str(params, "how"));
    if (!w->how) {
        free(w);
        return tutti_fail(err, TUTTI_E_NOMEM, "wicked: no memory");
    }
    const int is_single = is(w, "single");
    if (is(w, "memory"))
        *(volatile char *)malloc(8) = 1;
    if (is(w, "memory_kept") && !malloc(8))
        return tutti_fail(err, TUTTI_E_NOMEM, "wicked: no memory");
    if ((is(w, "settings") && tutti_param_i64(params, "size") == 100) ||
        (is(w, "services") && !host->query(host->ctx, TUTTI_LOG_V1)) || (is_single && opened)) {
        const int quiet = is(w, "settings");
        free(w->how);
        free(w);
        return quiet ? TUTTI_E_FAIL : tutti_fail(err, TUTTI_E_STATE, "wicked: not now");
    }
    opened++;
    leave_behind(w);
    w->state = host->query(host->ctx, TUTTI_STATE_V1);
    w->engine = host->query(host->ctx, TUTTI_ENGINE_V1);
    *ret_self = w;
    return TUTTI_OK;
}

static tutti_status close_wicked(void *self, tutti_error *err)
{
    wicked *w = self;
    free(w->how);
    free(w);
    opened--;
    return TUTTI_OK;
}

/* ---- algorithm ---- */

static int32_t match(void *self, const tutti_event *event)
{
    wicked *w = self;
    tutti_tensor x;
    if (is(w, "match_turns"))
        return (int32_t)(w->calls++ % 2);
    if (is(w, "match_writes") && !w->state->get(w->state->ctx, "input", &x, NULL))
        *(float *)x.data += 1;
    return 1;
}

/* Adds what it remembers, and saves nothing. */
static void remember(wicked *w)
{
    tutti_tensor x;
    if (!w->state->get(w->state->ctx, "input", &x, NULL))
        *(float *)x.data += (float)++w->calls;
}

/* What is the process's, or the thread's, by calls of the C library and without. */
static void change_process(const wicked *w)
{
    sigset_t one;
    if (is(w, "traps"))
        (void)feenableexcept(FE_DIVBYZERO);
#ifdef __SSE2__
    if (is(w, "subnormal"))
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#else
    if (is(w, "subnormal"))
        (void)fesetround(FE_UPWARD);
#endif
    if (is(w, "locale"))
        (void)setlocale(LC_ALL, "C.UTF-8");
    if (is(w, "thread_locale"))
        (void)uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0));
    if (is(w, "signals"))
        (void)signal(SIGUSR2, SIG_IGN);
    if (is(w, "sigaction"))
        (void)sigaction(SIGUSR2, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    if (is(w, "handler")) /* by a function that nothing is put in the place of */
        (void)sigset(SIGUSR2, SIG_IGN);
    if (is(w, "mask") && !sigemptyset(&one) && !sigaddset(&one, SIGUSR2))
        (void)pthread_sigmask(SIG_BLOCK, &one, NULL);
    if (is(w, "folder"))
        (void)!chdir("/");
    if (is(w, "folder_file"))
        (void)!fchdir(open("/", O_RDONLY | O_CLOEXEC));
    if (is(w, "streams"))
        (void)close(STDIN_FILENO);
    if (is(w, "environment"))
        (void)setenv("WICKED", "1", 1);
    if (is(w, "unset"))
        (void)unsetenv("WICKED");
    if (is(w, "put"))
        (void)putenv("WICKED=1");
    if (is(w, "umask"))
        (void)umask(0);
    if (is(w, "fork"))
        (void)fork();
    if (is(w, "mallopt"))
        (void)mallopt(M_ARENA_MAX, 1);
}

/* More with each call. */
static void take_more(const wicked *w)
{
    pthread_t thread;
    char *volatile kept;
    if (is(w, "files"))
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (is(w, "threads") && pthread_create(&thread, NULL, run_forever, NULL) == 0)
        (void)pthread_detach(thread);
    if (is(w, "heap") && (kept = malloc(100000)))
        memset(kept, 1, 100000);
}

static tutti_status apply(void *self, const tutti_event *event, int64_t *exit_code,
                          tutti_error *err)
{
    wicked *w = self;
    tutti_error cause = TUTTI_ERROR_INIT;
    if (is(w, "crash"))
        *(volatile int *)NULL = 1;
    if (is(w, "exit"))
        exit(0);
    if (is(w, "rounding"))
        (void)fesetround(FE_UPWARD);
    change_process(w);
    take_more(w);
    if (is(w, "clock"))
        ((tutti_timestamp *)(uintptr_t)event->time)->batch++;
    if (is(w, "output"))
        (void)!write(STDOUT_FILENO, "here\n", 5);
    if (is(w, "loop"))
        for (volatile int k = 0; !k;)
            ;
    if (is(w, "fire"))
        (void)w->engine->fire(w->engine->ctx, TUTTI_EVENT_BATCH_END, &cause);
    if (is(w, "state"))
        remember(w);
    if (is(w, "outputs")) {
        tutti_tensor t;
        return w->state->get(w->state->ctx, "outputs", &t, err);
    }
    return TUTTI_OK;
}

static const void *query(void *self, const char *interface_id)
{
    static const uint32_t tables[2][64] = {{sizeof tables[0]}, {sizeof tables[1]}};
    wicked *w = self;
    return is(w, "query") && strcmp(interface_id, "tutti.saver/1") == 0 ? tables[w->calls++ % 2]
                                                                        : NULL;
}

/* ---- dataset ---- */

static tutti_status info(void *self, tutti_dataset_info *ret_info, tutti_error *err)
{
    ret_info->samples = 64;
    ret_info->ncolumns = 2;
    ret_info->columns[0] =
        (tutti_column){"input", {.dim = {4}, .rank = 1, .dtype = TUTTI_F32}, 0};
    ret_info->columns[1] = (tutti_column){"target", {.dtype = TUTTI_I32}, 10};
    return TUTTI_OK;
}

static tutti_status read_sample(void *self, int64_t index, tutti_tensor *columns,
                                const uint64_t *capacity, uint32_t ncolumns, tutti_error *err)
{
    static float shared[4]; /* of all threads */
    wicked *w = self;
    float own[4], *x = is(w, "race") ? shared : own;
    if (is(w, "files"))
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    if ((index < 0 || index >= 64) && !is(w, "range"))
        return tutti_fail(err, TUTTI_E_RANGE, "wicked: no sample %lld", (long long)index);
    if (capacity[0] < sizeof own || capacity[1] < sizeof(int32_t))
        return tutti_fail(err, TUTTI_E_RANGE, "wicked: too little room");
    for (int k = 0; k < 4; k++) {
        x[k] = (float)((double)index + k); /* any index */
        if (x == shared)
            usleep(50);
    }
    memcpy(columns[0].data, x, sizeof own);
    *(int32_t *)columns[1].data = (int32_t)((uint64_t)index % 10);
    columns[0].desc = (tutti_desc){.dim = {4}, .rank = 1, .dtype = TUTTI_F32};
    columns[1].desc = (tutti_desc){.dtype = TUTTI_I32};
    return TUTTI_OK;
}

#ifdef WICKED_DATASET
static int64_t count_groups(void *self)
{
    return 4;
}

static int64_t first_sample(void *self, int64_t group)
{
    return group == 2 && is(self, "groups") ? 15 : 16 * group;
}
#endif

static const void *query_dataset(void *self, const char *interface_id)
{
    static const tutti_dataset_v1 table = {
        .struct_size = sizeof table, .info = info, .read = read_sample};
#ifdef WICKED_DATASET
    static const tutti_sample_groups_v1 groups = {
        .struct_size = sizeof groups, .count = count_groups, .first = first_sample};
    if (strcmp(interface_id, TUTTI_SAMPLE_GROUPS_V1) == 0)
        return &groups;
#endif
    return strcmp(interface_id, TUTTI_DATASET_V1) == 0 ? &table : NULL;
}

/* ---- scheduler ---- */

static tutti_status multiplier(void *self, const tutti_schedule *s, double *ret,
                               tutti_error *err)
{
    wicked *w = self;
    *ret = is(w, "impure") ? 1.0 / (double)++w->calls : 1.0;
    return TUTTI_OK;
}

static const void *query_scheduler(void *self, const char *interface_id)
{
    static const tutti_scheduler_v1 table = {.struct_size = sizeof table,
                                             .multiplier = multiplier};
    return strcmp(interface_id, TUTTI_SCHEDULER_V1) == 0 ? &table : NULL;
}

#ifdef WICKED_OPTIMIZER
/* ---- optimizer ---- */

/* Halves the first row, whose only number of state counts. */
static void update(void *self, const tutti_update *u)
{
    wicked *w = self;
    if (u->desc->rank < 2 || !u->slot[0])
        return;
    for (int64_t k = 0; k < u->desc->dim[u->desc->rank - 1]; k++)
        u->w[k] *= 0.5f;
    u->slot[0][is(w, "overrun") ? 1 : 0] += 1.0f;
}

static tutti_status slot_shape(void *self, const tutti_desc *desc, uint32_t slot,
                               tutti_desc *shape, tutti_error *err)
{
    *shape = (tutti_desc){{is(self, "shape") ? -2 : 1}, 1, TUTTI_F32};
    return TUTTI_OK;
}

static const void *query_optimizer(void *self, const char *interface_id)
{
    static const char *const names[] = {"count"};
    static const tutti_optimizer_v1 table = {.struct_size = sizeof table,
                                             .nslots = 1,
                                             .slot_names = names,
                                             .lr = 0.1,
                                             .update = update,
                                             .by_weight = 1,
                                             .slot_shape = slot_shape};
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &table : NULL;
}

static const tutti_calls optimizer_calls = {.struct_size = sizeof optimizer_calls,
                                            .open = open_wicked,
                                            .close = close_wicked,
                                            .query = query_optimizer};
static const tutti_object optimizer =
    TUTTI_OBJECT_INIT("wicked", TUTTI_KIND_OPTIMIZER, &optimizer_calls);
#endif

static const tutti_calls algorithm_calls = {.struct_size = sizeof algorithm_calls,
                                            .open = open_wicked,
                                            .match = match,
                                            .apply = apply,
                                            .close = close_wicked,
                                            .query = query};
static const tutti_calls dataset_calls = {.struct_size = sizeof dataset_calls,
                                          .open = open_wicked,
                                          .close = close_wicked,
                                          .query = query_dataset};
static const tutti_calls scheduler_calls = {.struct_size = sizeof scheduler_calls,
                                            .open = open_wicked,
                                            .close = close_wicked,
                                            .query = query_scheduler};
static const tutti_object algorithm =
    TUTTI_OBJECT_INIT("wicked", TUTTI_KIND_ALGORITHM, &algorithm_calls);
static const tutti_object dataset =
    TUTTI_OBJECT_INIT("wicked", TUTTI_KIND_DATASET, &dataset_calls);
static const tutti_object scheduler =
    TUTTI_OBJECT_INIT("wicked", TUTTI_KIND_SCHEDULER, &scheduler_calls);
#if defined(WICKED_ALGORITHM)
static const tutti_object *const objects[] = {&algorithm, NULL};
#elif defined(WICKED_DATASET)
static const tutti_object *const objects[] = {&dataset, NULL};
#elif defined(WICKED_OPTIMIZER)
static const tutti_object *const objects[] = {&optimizer, NULL};
#else
static const tutti_object *const objects[] = {&scheduler, NULL};
#endif
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.wicked.wicked", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
#ifdef WICKED_ENTRY
    static const tutti_plugin twin = TUTTI_PLUGIN_INIT("org.wicked.wicked", "1.0.0", objects);
    static int turn;
    return turn++ % 2 ? &twin : &plugin;
#else
    return &plugin;
#endif
}
