/* run_folder.c - the folder of a run: its record, whether somebody works in it, what it has logged. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RECORD_FILE "record.json"
#define RECORD_FORMAT "tutti.record/1"
enum { RECORD_LIMIT = 64 << 20 };

/* Whether the process that the lock file names is one of this machine that has ended. */
static bool is_gone(int fd)
{
    char text[320], host[256], here[256] = "";
    long pid = 0;
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    (void)gethostname(here, sizeof here - 1);
    return sscanf(text, "process %ld on %255s", &pid, host) == 2 && strcmp(host, here) == 0 &&
           kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Whether a process holds the folder's lock, as who trains does.  The lock is tried only where somebody is there who
 * may have it: a run that begins must not find it taken by who looks on. */
static bool is_held(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/.lock", folder) >= (int)sizeof path)
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    const bool held = !is_gone(fd) && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return held;
}

/* ---- where the log is ---- */

/* `file` with {run_name} replaced, from the run's or the run file's folder on. */
static void set_log_path(run_folder *r, const char *file, const char *base)
{
    static const char word[] = "{run_name}";
    const char *at = strstr(file, word);
    char name[PATH_MAX];
    if (at)
        (void)snprintf(name, sizeof name, "%.*s%s%s", (int)(at - file), file, r->name,
                       at + sizeof word - 1);
    else
        (void)snprintf(name, sizeof name, "%s", file);
    if (*name == '/')
        (void)snprintf(r->log_path, sizeof r->log_path, "%.4090s", name);
    else
        (void)snprintf(r->log_path, sizeof r->log_path, "%.2000s/%.2000s", base, name);
}

static void find_log(run_folder *r)
{
    const char *folder = json_string(json_get(r->root, "folder"));
    const json_node *loggers = json_get(json_get(r->root, "run"), "loggers");
    for (size_t k = 0; k < json_count(loggers) && !*r->log_path; k++) {
        const json_node *logger = json_at(loggers, k);
        const char *name = json_string(json_get(logger, "name"));
        const char *file = json_string(json_get(logger, "filename"));
        const char *bare = name ? strrchr(name, ':') : NULL;
        if (!name || strcmp(bare ? bare + 1 : name, "jsonl") != 0)
            continue;
        set_log_path(r, file ? file : "log.jsonl", file && folder ? folder : r->path);
    }
}

/* ---- the record ---- */

static const char *status_of(const run_folder *r)
{
    const char *told = json_string(json_get(r->root, "status"));
    if (!told || strcmp(told, "running") != 0)
        return told ? told : "interrupted";
    return is_held(r->path) ? "running" : "interrupted"; /* without a word: it was killed */
}

static double real_of(const json_node *node)
{
    return json_type(node) == JSON_REAL || json_type(node) == JSON_INT ? json_real(node)
                                                                       : (double)NAN;
}

/* The first metric of an evaluation, else the loss. */
static void judge_by_record(run_folder *r)
{
    const json_node *metrics = json_get(r->root, "metrics");
    const json_node *found = json_get(metrics, "loss/train/total");
    for (size_t k = 0; k < json_count(metrics); k++) {
        const char *name = json_key(json_at(metrics, k));
        if (strncmp(name, "metrics/", 8) == 0 && strncmp(name, "metrics/train/", 14) != 0) {
            found = json_at(metrics, k);
            break;
        }
    }
    if (!found)
        return;
    r->metric = json_key(found);
    r->best =
        real_of(json_get(found, history_less_is_better(r->metric) ? "least" : "greatest"));
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The last time that the file was written to. */
static double changed(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_mtim.tv_sec : 0;
}

static void take_times(run_folder *r, const char *record)
{
    const json_node *ended = json_get(r->root, "ended");
    const double written = changed(record), logged = changed(r->log_path);
    r->started = json_real(json_get(r->root, "started"));
    const double end = ended                               ? json_real(ended)
                       : strcmp(r->status, "running") == 0 ? now()
                       : logged > written                  ? logged
                                                           : written;
    r->seconds = end > r->started ? end - r->started : 0;
}

static tutti_status read_record(run_folder *r, const char *path, tutti_error *err)
{
    tutti_status s = json_read(path, RECORD_LIMIT, &r->doc, err);
    if (s)
        return s;
    r->root = json_root(r->doc);
    r->name = json_string(json_get(r->root, "name"));
    const char *format = json_string(json_get(r->root, "format"));
    if (!r->name || !format || strcmp(format, RECORD_FORMAT) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is no record of a run, want " RECORD_FORMAT,
                          path);
    find_log(r);
    r->status = status_of(r);
    r->batches = json_int(json_get(r->root, "batches"));
    r->best = (double)NAN;
    judge_by_record(r);
    take_times(r, path);
    return TUTTI_OK;
}

static void fini(run_folder *r)
{
    free(r->path);
    json_free(r->doc);
    history_fini(&r->log);
}

/* ---- lists ---- */

static tutti_status add(run_list *l, const char *folder, const char *record, tutti_error *err)
{
    run_folder *all = realloc(l->items, (l->count + 1) * sizeof *all);
    if (!all)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", folder);
    l->items = all;
    run_folder *r = &all[l->count];
    *r = (run_folder){.path = strdup(folder)};
    const tutti_status s = r->path ? read_record(r, record, err)
                                   : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", folder);
    if (s)
        fini(r);
    l->count += !s;
    return s;
}

static int by_start(const void *a, const void *b)
{
    const run_folder *x = a, *y = b;
    const int order = (x->started > y->started) - (x->started < y->started);
    return order ? order : strcmp(x->path, y->path);
}

static bool record_of(const char *folder, char *path)
{
    return snprintf(path, PATH_MAX, "%s/" RECORD_FILE, folder) < PATH_MAX &&
           access(path, F_OK) == 0;
}

static tutti_status leave_out(run_list *l, const char *why)
{
    char **all = realloc((void *)l->left_out, (l->nleft_out + 1) * sizeof *all);
    if (!all)
        return TUTTI_E_NOMEM;
    l->left_out = all;
    all[l->nleft_out] = strdup(why);
    return all[l->nleft_out] ? (l->nleft_out++, TUTTI_OK) : TUTTI_E_NOMEM;
}

static tutti_status add_below(run_list *l, const char *folder, DIR *dir, tutti_error *err)
{
    char below[PATH_MAX], record[PATH_MAX];
    const struct dirent *e;
    const size_t first = l->count;
    while ((e = readdir(dir))) {
        if (e->d_name[0] == '.' ||
            snprintf(below, sizeof below, "%s/%s", folder, e->d_name) >= (int)sizeof below ||
            !record_of(below, record))
            continue;
        tutti_error why = TUTTI_ERROR_INIT;
        tutti_status s = add(l, below, record, &why);
        if (s && s != TUTTI_E_NOMEM)
            s = leave_out(l, why.text);
        if (s)
            return tutti_fail(err, s, "%s: no memory to read it", below);
    }
    if (l->count > first)
        qsort(&l->items[first], l->count - first, sizeof *l->items, by_start);
    return TUTTI_OK;
}

tutti_status run_list_add(run_list *l, const char *folder, tutti_error *err)
{
    char path[PATH_MAX], record[PATH_MAX];
    const size_t n = strlen(folder), slash = n > 1 && folder[n - 1] == '/';
    (void)snprintf(path, sizeof path, "%.*s", (int)(n - slash), folder);
    if (record_of(path, record))
        return add(l, path, record, err);
    DIR *dir = opendir(path);
    if (!dir)
        return tutti_fail(err, errno == ENOENT ? TUTTI_E_NOTFOUND : TUTTI_E_IO, "%s: %s", path,
                          strerror(errno));
    const tutti_status s = add_below(l, path, dir, err);
    (void)closedir(dir);
    return s;
}

void run_list_fini(run_list *l)
{
    for (size_t k = 0; k < l->count; k++)
        fini(&l->items[k]);
    for (size_t k = 0; k < l->nleft_out; k++)
        free(l->left_out[k]);
    free(l->items);
    free((void *)l->left_out);
    *l = (run_list){.items = NULL};
}

/* ---- the log ---- */

static void judge_by_log(run_folder *r)
{
    const series *found = history_find(&r->log, "loss/train/total");
    double step;
    for (size_t k = 0; k < r->log.nseries; k++) {
        const char *name = r->log.series[k].name;
        if (strncmp(name, "metrics/", 8) == 0 && strncmp(name, "metrics/train/", 14) != 0) {
            found = &r->log.series[k];
            break;
        }
    }
    if (!found)
        return;
    r->metric = found->name;
    r->best = series_best(found, history_less_is_better(found->name), &step);
}

static tutti_status read_log(run_folder *r, tutti_error *err)
{
    tutti_error e = TUTTI_ERROR_INIT;
    if (!*r->log_path)
        return TUTTI_OK;
    const tutti_status s = history_read(&r->log, r->log_path, &e);
    if (s && s != TUTTI_E_NOTFOUND)
        return tutti_fail(err, s, "%s", e.text);
    if (!r->metric)
        judge_by_log(r);
    if (!json_get(r->root, "ended"))
        r->batches = r->log.batch;
    return TUTTI_OK;
}

tutti_status run_folder_read_log(run_folder *r, tutti_error *err)
{
    return r->log.nseries ? TUTTI_OK : read_log(r, err);
}

tutti_status run_folder_look_again(run_folder *r, bool *ret_again, tutti_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    run_folder now = {.path = r->path, .log = r->log};
    if (!record_of(r->path, path))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no record any more", r->path);
    tutti_status s = read_record(&now, path, err);
    if (s) {
        json_free(now.doc);
        return s;
    }
    json_free(r->doc);
    *r = now;
    *ret_again = *r->log_path && stat(r->log_path, &st) == 0 && st.st_size < r->log.offset;
    if (*ret_again)
        history_fini(&r->log);
    return read_log(r, err);
}

tutti_status run_folder_read_traces(run_folder *r, tutti_error *err)
{
    const json_node *traces = json_get(json_get(r->root, "run"), "traces");
    char path[PATH_MAX];
    const size_t logged = r->log.nrows; /* the log has them already */
    for (size_t k = 0; !logged && r->log.nrows == 0 && k < json_count(traces); k++) {
        const char *file = json_string(json_get(json_at(traces, k), "file"));
        tutti_error e = TUTTI_ERROR_INIT;
        if (!file || snprintf(path, sizeof path, *file == '/' ? "%.0s%s" : "%s/%s", r->path,
                              file) >= (int)sizeof path)
            continue;
        const tutti_status s = history_read_traces(&r->log, path, &e);
        if (s && s != TUTTI_E_NOTFOUND)
            return tutti_fail(err, s, "%s", e.text);
    }
    return TUTTI_OK;
}
