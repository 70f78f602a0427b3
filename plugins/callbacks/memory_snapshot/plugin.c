/* plugin.c - memory_snapshot: where a training step's results lie in memory, as JSON and as a picture. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1 /* tutti.plan/1 */
#include "../callback.h"
#include "tutti/checkpoint.h"
#include "tutti/files.h"
#include "tutti/log.h"
#include "tutti/plan.h"
#include "tutti/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

enum { PATH_SIZE = 1024, WIDTH = 1200, HEIGHT = 600 };

typedef struct memory_snapshot {
    const tutti_plan_v1 *plan;
    const tutti_checkpoint_v1 *checkpoint;
    int64_t skip; /* batches that are left to skip */
    int64_t max_entries;
    int64_t start; /* of the interval; -1: not begun */
    tutti_time interval;
    const char *filename;
    const char *remote_name; /* NULL: files stay here */
    const tutti_files_v1 *files;
    const tutti_log_v1 *log; /* may be NULL */
    int32_t rank;
    bool overwrite;
    bool done;
    char folder[PATH_SIZE];
} memory_snapshot;

static tutti_status snapshot_open(const tutti_host *host, const tutti_params *params,
                                  void **ret_self, tutti_error *err)
{
    const char *folder = tutti_param_str(params, "folder");
    const tutti_world_v1 *world = host->query(host->ctx, TUTTI_WORLD_V1);
    memory_snapshot m = {
        .plan = callback_service(host, "memory_snapshot", TUTTI_PLAN_V1, err),
        .checkpoint = callback_service(host, "memory_snapshot", TUTTI_CHECKPOINT_V1, err),
        .skip = tutti_param_i64(params, "skip_batches"),
        .max_entries = tutti_param_i64(params, "max_entries"),
        .start = -1,
        .interval = tutti_param_time(params, "interval"),
        .filename = tutti_param_str(params, "filename"),
        .remote_name = tutti_param_str(params, "remote_file_name"),
        .files = host->query(host->ctx, TUTTI_FILES_V1),
        .log = host->query(host->ctx, TUTTI_LOG_V1),
        .rank = world ? world->rank(world->ctx) : 0,
        .overwrite = tutti_param_i64(params, "overwrite") != 0};
    if (!m.plan || !m.checkpoint)
        return TUTTI_E_UNSUPPORTED;
    const int n = snprintf(m.folder, sizeof m.folder, "%s%s%s",
                           *folder == '/' ? "" : m.checkpoint->run_folder(m.checkpoint->ctx),
                           *folder == '/' ? "" : "/", folder);
    if (n < 0 || (size_t)n >= sizeof m.folder)
        return tutti_fail(err, TUTTI_E_RANGE, "memory_snapshot: folder is too long");
    memory_snapshot *self = malloc(sizeof *self);
    if (!self)
        return tutti_fail(err, TUTTI_E_NOMEM, "memory_snapshot: no memory");
    *self = m;
    *ret_self = self;
    return TUTTI_OK;
}

static tutti_status snapshot_check(const tutti_params *params, tutti_error *err)
{
    if (tutti_param_time(params, "interval").count <= 0)
        return tutti_fail(err, TUTTI_E_RANGE, "memory_snapshot: interval must be above 0");
    return strchr(tutti_param_str(params, "filename"), '/')
               ? tutti_fail(
                     err, TUTTI_E_ARG,
                     "memory_snapshot: filename is %s, want a name without / (the setting "
                     "folder says where)",
                     tutti_param_str(params, "filename"))
               : TUTTI_OK;
}

/* ---- files ---- */

/* Makes the folder and those above it. */
static tutti_status make_folder(char *path, tutti_error *err)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        const int failed = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
        if (slash)
            *slash = '/';
        if (failed)
            return tutti_fail(err, TUTTI_E_IO, "memory_snapshot: cannot make the folder %s: %s",
                              path, strerror(failed));
        if (!slash)
            return TUTTI_OK;
    }
}

/* Rank 0 makes it; unless files may be written over, it is empty. */
static tutti_status claim_folder(memory_snapshot *m, tutti_error *err)
{
    const struct dirent *entry;
    tutti_status s = m->rank ? TUTTI_OK : make_folder(m->folder, err);
    DIR *dir = s || m->rank || m->overwrite ? NULL : opendir(m->folder);
    while (dir && !s && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            s = tutti_fail(err, TUTTI_E_EXISTS,
                           "memory_snapshot: %s has files already: choose another folder, or "
                           "set overwrite",
                           m->folder);
    if (dir)
        (void)closedir(dir);
    return s;
}

/* Adds what the placeholder at `text` stands for; its length, 0 for none. */
static size_t fill_name(const memory_snapshot *m, const tutti_timestamp *t, const char *text,
                        char *to, size_t size)
{
    const struct {
        const char *word;
        long long number;
    } words[] = {{"{rank}", m->rank}, {"{epoch}", t->epoch}, {"{batch}", t->batch}};
    static const char name[] = "{run_name}";
    if (strncmp(text, name, sizeof name - 1) == 0) {
        (void)snprintf(to, size, "%s", m->checkpoint->run_name(m->checkpoint->ctx));
        return sizeof name - 1;
    }
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strncmp(text, words[k].word, strlen(words[k].word)) == 0) {
            (void)snprintf(to, size, "%lld", words[k].number);
            return strlen(words[k].word);
        }
    return 0;
}

/* Adds the pattern with its placeholders filled, and the end, to the text at `to`. */
static void add_name(const memory_snapshot *m, const tutti_timestamp *t, const char *pattern,
                     const char *end, char *to, size_t size)
{
    for (const char *c = pattern; *c && strlen(to) + 1 < size;) {
        const size_t used = strlen(to);
        const size_t filled = fill_name(m, t, c, to + used, size - used);
        if (!filled)
            to[used] = *c, to[used + 1] = '\0';
        c += filled ? filled : 1;
    }
    (void)snprintf(to + strlen(to), size - strlen(to), "%s", end);
}

static FILE *open_file(const memory_snapshot *m, const tutti_timestamp *t, const char *end,
                       char *path, size_t size, tutti_error *err)
{
    (void)snprintf(path, size, "%s/", m->folder);
    add_name(m, t, m->filename, end, path, size);
    FILE *f = fopen(path, m->overwrite ? "w" : "wx");
    if (!f)
        (void)tutti_fail(err, TUTTI_E_IO, "memory_snapshot: cannot write %s: %s", path,
                         strerror(errno));
    return f;
}

/* The file is whole: it goes to the loggers that send files.  What keeps it here is told and ends nothing. */
static void send_file(const memory_snapshot *m, const tutti_timestamp *t, const char *end,
                      const char *path)
{
    char name[PATH_SIZE] = "";
    tutti_error why = TUTTI_ERROR_INIT;
    if (!m->remote_name)
        return;
    add_name(m, t, m->remote_name, end, name, sizeof name);
    const tutti_status s =
        m->files ? m->files->upload(m->files->ctx, name, path, m->overwrite, &why)
                 : tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s is not sent: this host has no %s",
                              path, TUTTI_FILES_V1);
    if (s && m->log)
        m->log->write(m->log->ctx, TUTTI_LOG_WARNING, why.text);
}

static tutti_status close_file(FILE *f, const char *path, tutti_error *err)
{
    const bool bad = ferror(f) != 0;
    return fclose(f) || bad
               ? tutti_fail(err, TUTTI_E_IO, "memory_snapshot: cannot write %s", path)
               : TUTTI_OK;
}

/* ---- what is in them ---- */

/* Calls `put` for each result that is written. */
static tutti_status each_result(const memory_snapshot *m, const tutti_plan_facts *facts,
                                FILE *f,
                                void (*put)(FILE *f, const tutti_plan_facts *facts,
                                            const tutti_planned *r, uint32_t k),
                                tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < facts->results && k < m->max_entries && !s; k++) {
        tutti_planned r = {.struct_size = sizeof r};
        if (!(s = m->plan->result(m->plan->ctx, k, &r, err)))
            put(f, facts, &r, k);
    }
    return s;
}

static void put_json(FILE *f, const tutti_plan_facts *facts, const tutti_planned *r, uint32_t k)
{
    (void)facts;
    (void)fprintf(
        f,
        "%s\n  {\"op\": \"%s\", \"module\": \"%s\", \"bytes\": %llu, \"offset\": %llu, "
        "\"first\": %u, \"last\": %u}",
        k ? "," : "", r->op, r->module, (unsigned long long)r->bytes,
        (unsigned long long)r->offset, r->first, r->last);
}

static void put_box(FILE *f, const tutti_plan_facts *facts, const tutti_planned *r, uint32_t k)
{
    const double x = (double)WIDTH / (facts->steps ? facts->steps : 1);
    const double y = (double)HEIGHT / (double)(facts->arena_bytes ? facts->arena_bytes : 1);
    (void)fprintf(f,
                  "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                  "fill=\"hsl(%u 60%% 70%%)\" stroke=\"#444\" stroke-width=\".3\">"
                  "<title>%s %s: %llu bytes at %llu, steps %u to %u</title></rect>\n",
                  x * r->first, y * (double)r->offset, x * (r->last - r->first + 1),
                  y * (double)r->bytes, k * 47 % 360, r->op, r->module,
                  (unsigned long long)r->bytes, (unsigned long long)r->offset, r->first,
                  r->last);
}

static tutti_status write_json(const memory_snapshot *m, const tutti_timestamp *t,
                               const tutti_plan_facts *facts, tutti_error *err)
{
    char path[PATH_SIZE + 256];
    FILE *f = open_file(m, t, ".json", path, sizeof path, err);
    if (!f)
        return TUTTI_E_IO;
    (void)fprintf(
        f,
        "{\"batch\": %lld, \"steps\": %u, \"arena_bytes\": %llu, \"peak_bytes\": %llu, "
        "\"places\": %u, \"results\": [",
        (long long)t->batch, facts->steps, (unsigned long long)facts->arena_bytes,
        (unsigned long long)facts->peak_bytes, facts->results);
    const tutti_status s = each_result(m, facts, f, put_json, err);
    (void)fprintf(f, "\n]}\n");
    const tutti_status closed = close_file(f, path, s ? NULL : err);
    if (!s && !closed)
        send_file(m, t, ".json", path);
    return s ? s : closed;
}

static tutti_status write_picture(const memory_snapshot *m, const tutti_timestamp *t,
                                  const tutti_plan_facts *facts, tutti_error *err)
{
    char path[PATH_SIZE + 256];
    FILE *f = open_file(m, t, ".html", path, sizeof path, err);
    if (!f)
        return TUTTI_E_IO;
    (void)fprintf(
        f,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>memory of a step</title>\n"
        "<p>Steps from left to right, the arena's %llu bytes from top to bottom; %llu "
        "are in use at a time at most.</p>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n",
        (unsigned long long)facts->arena_bytes, (unsigned long long)facts->peak_bytes, WIDTH,
        HEIGHT);
    const tutti_status s = each_result(m, facts, f, put_box, err);
    (void)fprintf(f, "</svg>\n");
    const tutti_status closed = close_file(f, path, s ? NULL : err);
    if (!s && !closed)
        send_file(m, t, ".html", path);
    return s ? s : closed;
}

/* ---- when ---- */

static tutti_status take_snapshot(memory_snapshot *m, const tutti_timestamp *t,
                                  tutti_error *err)
{
    tutti_plan_facts facts = {.struct_size = sizeof facts};
    tutti_status s = m->plan->describe(m->plan->ctx, &facts, err);
    if (!s)
        s = write_json(m, t, &facts, err);
    return s ? s : write_picture(m, t, &facts, err);
}

static tutti_status snapshot_event(void *self, const tutti_event *event, tutti_error *err)
{
    memory_snapshot *m = self;
    if (event->id == TUTTI_EVENT_INIT)
        return claim_folder(m, err);
    if (m->done)
        return TUTTI_OK;
    const int64_t now = tutti_timestamp_get(event->time, m->interval.unit);
    if (event->id == TUTTI_EVENT_BATCH_START) {
        m->start = m->start < 0 && m->skip == 0 ? now : m->start;
        return TUTTI_OK;
    }
    if (m->skip > 0) {
        m->skip--;
        return TUTTI_OK;
    }
    if (m->start < 0 || now < m->start + m->interval.count)
        return TUTTI_OK;
    m->done = true;
    return take_snapshot(m, event->time, err);
}

CALLBACK_PLUGIN_CHECKED("memory_snapshot", snapshot_check, .open = snapshot_open,
                        .run_event = snapshot_event, .close = callback_close);
