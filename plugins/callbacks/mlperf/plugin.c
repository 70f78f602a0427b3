/* plugin.c - mlperf: the result file of an MLPerf Training submission, and the system's description. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2
#define TUTTI_MIN_MINOR 0
#include "../../common/synced_name.h"
#include "../monitor.h"
#include "mllog.h"
#include "system.h"
#include "tutti/checkpoint.h"
#include "tutti/log.h"
#include "tutti/stateful.h"
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
    const tutti_checkpoint_v1 *checkpoint;                        /* may be NULL */
    const char *root, *benchmark, *system_name, *cache_clear_cmd; /* the last two: or NULL */
    int64_t index;
    bool exits;
    double target;
    bool writes; /* in this process */
    bool counts_samples;
    system_facts system;
    /* To the header, then to the file; NULL: another process writes, or the timed run is over. */
    FILE *out;
    /* What a run that begins has on top of its file; NULL once training has begun. */
    char *header;
    size_t header_bytes;
    off_t eval_at;       /* bytes of the file before the evaluation under way; -1: none is */
    off_t epoch_at;      /* bytes of the file before the epoch began */
    int64_t epoch;       /* which one that is */
    int64_t epoch_batch; /* batches before it */
    int64_t mark;        /* in checkpoints, as the next: bytes of the file; -1: none */
    int64_t is_over;     /* the timed run is */
    char path[PATH_SIZE];
} mlperf;

#define POINT(m, key, value, metadata)                                                         \
    mllog_line((m)->out, MLLOG_POINT, key, value, metadata, __LINE__)

static tutti_status fail_to_write(const mlperf *m, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "mlperf: cannot write %s: %s", m->path, strerror(errno));
}

static tutti_status check_written(const mlperf *m, tutti_error *err)
{
    return !m->out || (fflush(m->out) == 0 && !ferror(m->out)) ? TUTTI_OK
                                                               : fail_to_write(m, err);
}

/* Training has begun, and the target is not met. */
static bool is_timed(const mlperf *m)
{
    return m->out && !m->header;
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

/* The file itself waits for training: whether the run has one already is known once a checkpoint has been taken. */
static tutti_status open_header(mlperf *m, tutti_error *err)
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
    m->out = open_memstream(&m->header, &m->header_bytes);
    return m->out ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOMEM, "mlperf: no memory");
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
    tutti_status s = open_header(m, err);
    if (s || (s = clear_cache(m, err)))
        return s;
    mllog_line(m->out, MLLOG_START, "init_start", NULL, NULL, __LINE__);
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
        POINT(m, facts[k][0], mllog_text(facts[k][1], text, sizeof text), NULL);
    return TUTTI_OK;
}

/* ---- the file ---- */

static tutti_status open_result(mlperf *m, const char *mode, tutti_error *err)
{
    m->out = fopen(m->path, mode);
    if (m->out)
        return TUTTI_OK;
    return errno == EEXIST
               ? tutti_fail(err, TUTTI_E_EXISTS,
                            "mlperf: %s already exists; give another index", m->path)
               : fail_to_write(m, err);
}

/* What is behind `bytes` goes. */
static tutti_status cut_result(const mlperf *m, off_t bytes, tutti_error *err)
{
    return fflush(m->out) || ftruncate(fileno(m->out), bytes) || fseeko(m->out, bytes, SEEK_SET)
               ? fail_to_write(m, err)
               : TUTTI_OK;
}

/* The run goes on behind what its checkpoint knows of: what came after that is done again.  The header stays the first
 * process's, so that time between processes counts too. */
static tutti_status continue_result(mlperf *m, tutti_error *err)
{
    const tutti_status s = open_result(m, "r+e", err);
    if (s)
        return s;
    const off_t size = fseeko(m->out, 0, SEEK_END) ? -1 : ftello(m->out);
    const off_t known = (off_t)m->mark;
    if (size < 0)
        return fail_to_write(m, err);
    return known >= 0 && known < size ? cut_result(m, known, err) : TUTTI_OK;
}

/* That of a process which was killed before the run's first checkpoint gives way. */
static tutti_status begin_result(mlperf *m, tutti_error *err)
{
    const bool own = m->checkpoint && tutti_run_owns(m->checkpoint, m->path);
    tutti_status s = TUTTI_OK;
    if (m->checkpoint && access(m->path, F_OK) != 0)
        s = tutti_run_own(m->checkpoint, m->path, err);
    if (!s)
        s = open_result(m, own ? "we" : "wxe", err);
    if (!s)
        synced_name(m->path);
    if (!s)
        (void)fwrite(m->header, 1, m->header_bytes, m->out);
    return s;
}

static void tell_late(const mlperf *m)
{
    char text[PATH_SIZE + 200];
    (void)snprintf(
        text, sizeof text,
        "%s is not there; it begins after batch %lld, so that it is no valid submission",
        m->path, (long long)m->monitor.state->time->batch);
    m->log->write(m->log->ctx, TUTTI_LOG_WARNING, text);
}

/* The header is whole; *ret_new: it is in the file. */
static tutti_status take_result(mlperf *m, bool *ret_new, tutti_error *err)
{
    const bool resumed = m->monitor.state->time->batch > 0;
    const bool whole = fclose(m->out) == 0;
    m->out = NULL;
    *ret_new = false;
    if (!whole)
        return tutti_fail(err, TUTTI_E_NOMEM, "mlperf: no memory");
    if (resumed && m->is_over)
        return TUTTI_OK;
    if (resumed && access(m->path, F_OK) == 0)
        return continue_result(m, err);
    if (resumed)
        tell_late(m);
    *ret_new = true;
    return begin_result(m, err);
}

/* ---- training ---- */

static void add_count(const mlperf *m, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    POINT(m, key, text, NULL);
}

static tutti_status start_run(mlperf *m, tutti_error *err)
{
    bool is_new;
    const tutti_state_v1 *state = m->monitor.state;
    tutti_data train = {.struct_size = sizeof train}, eval = train, more = train;
    if (!state->data(state->ctx, 0, &train) || !state->data(state->ctx, 1, &eval) ||
        state->data(state->ctx, 2, &more))
        return tutti_fail(err, TUTTI_E_ARG,
                          "mlperf: want training data and exactly one evaluation");
    if (!m->header)
        return TUTTI_OK;
    const tutti_status s = take_result(m, &is_new, err);
    free(m->header);
    m->header = NULL;
    if (s || !is_new)
        return s;
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

static void start_epoch(mlperf *m, const tutti_event *event)
{
    char text[96];
    if (event->time->batch_in_epoch > 0)
        return; /* `tutti run` tells of an epoch again that it takes up amid */
    m->epoch_at = ftello(m->out);
    m->epoch = event->time->epoch;
    m->epoch_batch = event->time->batch;
    POINT(m, "epoch_start", NULL, mlperf_progress(m, event, "epoch_num", "", text));
    POINT(m, "block_start", NULL,
          mlperf_progress(m, event, "first_epoch_num", ", \"epoch_count\": 1", text));
}

static void end_timed_run(mlperf *m)
{
    POINT(m, "run_stop", NULL, "\"status\": \"success\"");
    (void)fclose(m->out);
    m->out = NULL;
    m->is_over = 1;
}

/* Nothing is known of an evaluation that is cut: the run that goes on does it again. */
static tutti_status drop_eval(mlperf *m, tutti_error *err)
{
    const off_t at = m->eval_at;
    m->eval_at = -1;
    return is_timed(m) && at >= 0 ? cut_result(m, at, err) : TUTTI_OK;
}

static tutti_status end_eval(mlperf *m, const tutti_event *event, tutti_error *err)
{
    const tutti_state_v1 *state = m->monitor.state;
    char text[96], number[32];
    double accuracy = 0.0;
    if (tutti_eval_is_cut(state))
        return drop_eval(m, err);
    m->eval_at = -1;
    tutti_status s = monitor_read(&m->monitor, &accuracy, err);
    if (s)
        return s;
    const bool met = accuracy > m->target;
    if (is_timed(m)) {
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
    if (event->id == TUTTI_EVENT_EVAL_START && is_timed(m))
        m->eval_at = ftello(m->out);
    if (event->id == TUTTI_EVENT_INIT)
        s = m->writes ? mlperf_begin(m, err) : TUTTI_OK;
    else if (event->id == TUTTI_EVENT_FIT_START)
        s = start_run(m, err);
    else if (event->id == TUTTI_EVENT_EVAL_END)
        s = end_eval(m, event, err);
    else if (is_timed(m) && event->id == TUTTI_EVENT_EPOCH_START)
        start_epoch(m, event);
    else if (is_timed(m))
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
    m->checkpoint = host->query(host->ctx, TUTTI_CHECKPOINT_V1);
    if (!m->monitor.state || !m->monitor.metrics || !m->log)
        return TUTTI_E_UNSUPPORTED;
    m->monitor.who = "mlperf";
    m->mark = -1;
    m->eval_at = m->epoch_at = -1;
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
    free(m->header);
    free(m);
    return s;
}

/* The end of what holds.  A run that goes on does an evaluation that is left again, and an epoch without a batch.  Behind
 * an iteration in tokens batch_in_epoch is 0 too, and what that iteration wrote of its epoch holds. */
static off_t whole_bytes(const mlperf *m)
{
    const tutti_timestamp *now = m->monitor.state->time;
    if (m->eval_at >= 0)
        return m->eval_at;
    return m->epoch_at >= 0 && m->epoch == now->epoch && m->epoch_batch == now->batch
               ? m->epoch_at
               : ftello(m->out);
}

/* What a checkpoint knows of is on the disk before it.  A file that cannot be written ends the run at the next event, and
 * keeps no checkpoint from being written. */
static tutti_status mlperf_items(void *self, tutti_state_item *items, uint32_t capacity,
                                 uint32_t *ret_count, tutti_error *err)
{
    mlperf *m = self;
    (void)err;
    *ret_count = 2;
    if (capacity < 2)
        return TUTTI_OK;
    if (is_timed(m) && fflush(m->out) == 0) {
        (void)fsync(fileno(m->out)); /* some file systems have none */
        m->mark = (int64_t)whole_bytes(m);
    }
    memset(items, 0, 2 * sizeof *items);
    (void)snprintf(items[0].name, sizeof items[0].name, "mark");
    (void)snprintf(items[1].name, sizeof items[1].name, "is_over");
    items[0].tensor = items[1].tensor = (tutti_tensor){
        .data = &m->mark, .desc = {.dtype = TUTTI_I64}, .device = TUTTI_DEVICE_CPU};
    items[1].tensor.data = &m->is_over;
    return TUTTI_OK;
}

static const void *mlperf_query(void *self, const char *interface_id)
{
    static const tutti_stateful_v1 stateful = {.struct_size = sizeof stateful,
                                               .items = mlperf_items,
                                               .flags = TUTTI_STATEFUL_MAY_BE_NEW};
    (void)self;
    return strcmp(interface_id, TUTTI_STATEFUL_V1) == 0 ? &stateful : NULL;
}

CALLBACK_PLUGIN("mlperf", .open = mlperf_open, .run_event = mlperf_event, .close = mlperf_close,
                .query = mlperf_query);
