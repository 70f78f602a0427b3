/* plugin.c - mlperf: the result file of an MLPerf Training submission, and the system's description. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../monitor.h"
#include "mllog.h"
#include "system.h"
#include "tutti/log.h"
#include "tutti/world.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, WORDS = 64 };

typedef struct mlperf {
    monitor monitor; /* of the metric that has a target */
    const tutti_log_v1 *log;
    const char *root, *benchmark, *system_name, *cache_clear_cmd; /* the last two: or NULL */
    int64_t index;
    bool exits;
    double target;
    bool writes; /* in this process */
    bool counts_samples;
    system_facts system;
    FILE *out; /* NULL: not open yet, or the timed run is over */
    char path[PATH_SIZE];
} mlperf;

#define POINT(m, key, value, metadata)                                                         \
    mllog_line((m)->out, MLLOG_POINT, key, value, metadata, __LINE__)

static tutti_status check_written(const mlperf *m, tutti_error *err)
{
    if (!m->out || (fflush(m->out) == 0 && !ferror(m->out)))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_IO, "mlperf: cannot write %s: %s", m->path, strerror(errno));
}

/* ---- init ---- */

/* The folders on the way to `path`, which is put together again. */
static tutti_status make_folders(char *path, tutti_error *err)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        const int failed = mkdir(path, 0777) != 0 && errno != EEXIST;
        const tutti_status s =
            failed ? tutti_fail(err, TUTTI_E_IO, "mlperf: cannot make the folder %s: %s", path,
                                strerror(errno))
                   : TUTTI_OK;
        *c = '/';
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static tutti_status set_path(const mlperf *m, char path[PATH_SIZE], const char *below,
                             tutti_error *err)
{
    const int n = snprintf(path, PATH_SIZE, "%s/%s", m->root, below);
    if (n < 0 || n >= PATH_SIZE)
        return tutti_fail(err, TUTTI_E_RANGE, "mlperf: root_folder is too long");
    return make_folders(path, err);
}

/* The words of `command` without a shell, as upstream runs it. */
static tutti_status run_command(const char *command, tutti_error *err)
{
    char *words[WORDS + 1] = {NULL}, *rest = NULL, *copy = strdup(command);
    size_t n = 0;
    pid_t child = 0;
    int status = 0;
    if (!copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "mlperf: no memory for cache_clear_cmd");
    for (char *w = strtok_r(copy, " \t\n", &rest); w && n < WORDS;
         w = strtok_r(NULL, " \t\n", &rest))
        words[n++] = w;
    int failed = n ? posix_spawnp(&child, words[0], NULL, NULL, words, environ) : EINVAL;
    while (!failed && waitpid(child, &status, 0) < 0)
        failed = errno == EINTR ? 0 : errno;
    free(copy);
    if (failed)
        return tutti_fail(err, TUTTI_E_FAIL, "mlperf: cache_clear_cmd \"%s\": %s", command,
                          strerror(failed));
    return status == 0 ? TUTTI_OK
                       : tutti_fail(err, TUTTI_E_FAIL,
                                    "mlperf: cache_clear_cmd \"%s\" ended with status %d",
                                    command, WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

static tutti_status clear_cache(const mlperf *m, tutti_error *err)
{
    const char *command = m->cache_clear_cmd;
    if (!command) {
        m->log->write(m->log->ctx, TUTTI_LOG_WARNING,
                      "cache_clear_cmd is not set: a valid submission needs it");
        return TUTTI_OK;
    }
    const tutti_status s = run_command(command, err);
    if (!s)
        mllog_line(m->out, MLLOG_START, "cache_clear", NULL, NULL, __LINE__);
    return s;
}

static tutti_status open_files(mlperf *m, tutti_error *err)
{
    char below[1024], description[PATH_SIZE];
    (void)snprintf(below, sizeof below, "systems/%s.json", m->system.name);
    tutti_status s = set_path(m, description, below, err);
    if (s || (s = system_write(&m->system, description, err)))
        return s;
    (void)snprintf(below, sizeof below, "results/%s/%s/result_%lld.txt", m->system.name,
                   m->benchmark, (long long)m->index);
    if ((s = set_path(m, m->path, below, err)))
        return s;
    m->out = fopen(m->path, "wxe");
    if (m->out)
        return TUTTI_OK;
    return errno == EEXIST
               ? tutti_fail(err, TUTTI_E_EXISTS,
                            "mlperf: %s already exists; give another index", m->path)
               : tutti_fail(err, TUTTI_E_IO, "mlperf: cannot write %s: %s", m->path,
                            strerror(errno));
}

static tutti_status mlperf_begin(mlperf *m, tutti_error *err)
{
    char text[512];
    const char *const facts[][2] = {{"submission_benchmark", m->benchmark},
                                    {"submission_division", m->system.division},
                                    {"submission_org", m->system.submitter},
                                    {"submission_platform", m->system.name},
                                    {"submission_status", m->system.status}};
    m->system.device = m->monitor.state->device(m->monitor.state->ctx);
    system_look(&m->system, m->system_name);
    tutti_status s = open_files(m, err);
    if (s || (s = clear_cache(m, err)))
        return s;
    mllog_line(m->out, MLLOG_START, "init_start", NULL, NULL, __LINE__);
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        POINT(m, facts[k][0], mllog_text(facts[k][1], text, sizeof text), NULL);
    return TUTTI_OK;
}

/* ---- training ---- */

static void add_count(const mlperf *m, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    POINT(m, key, text, NULL);
}

static tutti_status start_run(const mlperf *m, tutti_error *err)
{
    const tutti_state_v1 *state = m->monitor.state;
    tutti_data train = {.struct_size = sizeof train}, eval = train, more = train;
    if (!state->data(state->ctx, 0, &train) || !state->data(state->ctx, 1, &eval) ||
        state->data(state->ctx, 2, &more))
        return tutti_fail(err, TUTTI_E_ARG,
                          "mlperf: want training data and exactly one evaluation");
    if (!m->out)
        return TUTTI_OK;
    add_count(m, "seed", (int64_t)*state->seed);
    add_count(m, "global_batch_size", train.batch_size);
    add_count(m, "device_train_microbatch_size", state->microbatch_size(state->ctx));
    add_count(m, "train_samples", train.samples);
    add_count(m, "eval_samples", eval.samples);
    POINT(m, "init_stop", NULL, NULL);
    POINT(m, "run_start", NULL, NULL);
    return TUTTI_OK;
}

/* "epoch_num": what the benchmark counts, under `name`. */
static const char *mlperf_progress(const mlperf *m, const tutti_event *event, const char *name,
                                   const char *more, char text[96])
{
    const long long now = m->counts_samples ? event->time->sample : event->time->epoch;
    (void)snprintf(text, 96, "\"%s\": %lld%s", name, now, more);
    return text;
}

static void start_epoch(const mlperf *m, const tutti_event *event)
{
    char text[96];
    POINT(m, "epoch_start", NULL, mlperf_progress(m, event, "epoch_num", "", text));
    POINT(m, "block_start", NULL,
          mlperf_progress(m, event, "first_epoch_num", ", \"epoch_count\": 1", text));
}

static void end_timed_run(mlperf *m)
{
    POINT(m, "run_stop", NULL, "\"status\": \"success\"");
    (void)fclose(m->out);
    m->out = NULL;
}

static tutti_status end_eval(mlperf *m, const tutti_event *event, tutti_error *err)
{
    const tutti_state_v1 *state = m->monitor.state;
    char text[96], number[32];
    double accuracy = 0.0;
    if (tutti_eval_is_cut(state))
        return TUTTI_OK;
    tutti_status s = monitor_read(&m->monitor, &accuracy, err);
    if (s)
        return s;
    const bool met = accuracy > m->target;
    if (m->out) {
        POINT(m, "eval_stop", NULL, mlperf_progress(m, event, "epoch_num", "", text));
        POINT(m, "eval_accuracy", mllog_number(accuracy, number, sizeof number),
              mlperf_progress(m, event, "epoch_num", "", text));
        POINT(m, "block_stop", NULL, mlperf_progress(m, event, "first_epoch_num", "", text));
        s = check_written(m, err);
        if (met)
            end_timed_run(m);
    }
    if (met && m->exits)
        state->stop_training(state->ctx, "mlperf: the target is met");
    return s;
}

static tutti_status mlperf_event(void *self, const tutti_event *event, tutti_error *err)
{
    mlperf *m = self;
    char text[96];
    tutti_status s = TUTTI_OK;
    if (event->id == TUTTI_EVENT_INIT)
        s = m->writes ? mlperf_begin(m, err) : TUTTI_OK;
    else if (event->id == TUTTI_EVENT_FIT_START)
        s = start_run(m, err);
    else if (event->id == TUTTI_EVENT_EVAL_END)
        s = end_eval(m, event, err);
    else if (m->out && event->id == TUTTI_EVENT_EPOCH_START)
        start_epoch(m, event);
    else if (m->out)
        POINT(m, event->id == TUTTI_EVENT_EPOCH_END ? "epoch_stop" : "eval_start", NULL,
              mlperf_progress(m, event, "epoch_num", "", text));
    return s ? s : check_written(m, err);
}

/* ---- the object ---- */

static tutti_status mlperf_fill(mlperf *m, const tutti_host *host, const tutti_params *params,
                                tutti_error *err)
{
    const tutti_world_v1 *world = host->query(host->ctx, TUTTI_WORLD_V1);
    m->monitor.state = callback_service(host, "mlperf", TUTTI_STATE_V1, err);
    m->monitor.metrics = callback_service(host, "mlperf", TUTTI_METRICS_V1, err);
    m->log = callback_service(host, "mlperf", TUTTI_LOG_V1, err);
    if (!m->monitor.state || !m->monitor.metrics || !m->log)
        return TUTTI_E_UNSUPPORTED;
    m->monitor.who = "mlperf";
    m->monitor.metric = tutti_param_str(params, "metric_name");
    m->monitor.label = tutti_param_str(params, "metric_label");
    m->root = tutti_param_str(params, "root_folder");
    m->benchmark = tutti_param_str(params, "benchmark");
    m->system_name = tutti_param_str(params, "system_name");
    m->cache_clear_cmd = tutti_param_str(params, "cache_clear_cmd");
    m->index = tutti_param_i64(params, "index");
    m->exits = tutti_param_i64(params, "exit_at_target") != 0;
    m->target = tutti_param_f64(params, "target");
    m->writes = !world || world->rank(world->ctx) == 0;
    m->counts_samples = strcmp(m->benchmark, "bert") == 0;
    m->system =
        (system_facts){.submitter = tutti_param_str(params, "submitter"),
                       .division = tutti_param_str(params, "division"),
                       .status = tutti_param_str(params, "status"),
                       .processes = world ? world->size(world->ctx) : 1,
                       .processors = tutti_param_i64(params, "host_processors_per_node")};
    return TUTTI_OK;
}

static tutti_status mlperf_open(const tutti_host *host, const tutti_params *params,
                                void **ret_self, tutti_error *err)
{
    mlperf *m = calloc(1, sizeof *m);
    const tutti_status s = m ? mlperf_fill(m, host, params, err)
                             : tutti_fail(err, TUTTI_E_NOMEM, "mlperf: no memory");
    if (s)
        free(m);
    else
        *ret_self = m;
    return s;
}

static tutti_status mlperf_close(void *self, tutti_error *err)
{
    mlperf *m = self;
    const tutti_status s = check_written(m, err);
    if (m->out)
        (void)fclose(m->out);
    free(m);
    return s;
}

CALLBACK_PLUGIN("mlperf", .open = mlperf_open, .run_event = mlperf_event,
                .close = mlperf_close);
