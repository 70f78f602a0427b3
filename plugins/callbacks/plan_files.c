/* plan_files.c - places of a plan's results as JSON and as a picture; the folder and the names of such files. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 2 /* tutti.plan/1, tutti_run_owns */
#define TUTTI_MIN_MINOR 1 /* the second an older host does not know */
#include "plan_files.h"

#include "callback.h"
#include "tutti/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum { WIDTH = 1200, HEIGHT = 600 };

tutti_status plan_files_init(plan_files *m, const char *who, const tutti_host *host,
                             const tutti_params *params, tutti_error *err)
{
    const char *folder = tutti_param_str(params, "folder");
    const tutti_world_v1 *world = host->query(host->ctx, TUTTI_WORLD_V1);
    *m = (plan_files){.who = who,
                      .plan = callback_service(host, who, TUTTI_PLAN_V1, err),
                      .checkpoint = callback_service(host, who, TUTTI_CHECKPOINT_V1, err),
                      .max_entries = tutti_param_i64(params, "max_entries"),
                      .filename = tutti_param_str(params, "filename"),
                      .remote_name = tutti_param_str(params, "remote_file_name"),
                      .sent = host->query(host->ctx, TUTTI_FILES_V1),
                      .log = host->query(host->ctx, TUTTI_LOG_V1),
                      .rank = world ? world->rank(world->ctx) : 0,
                      .overwrite = tutti_param_i64(params, "overwrite") != 0};
    if (!m->plan || !m->checkpoint)
        return TUTTI_E_UNSUPPORTED;
    const int n = snprintf(m->folder, sizeof m->folder, "%s%s%s",
                           *folder == '/' ? "" : m->checkpoint->run_folder(m->checkpoint->ctx),
                           *folder == '/' ? "" : "/", folder);
    return n >= 0 && (size_t)n < sizeof m->folder
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_RANGE, "%s: folder is too long", who);
}

tutti_status plan_files_check(const char *who, const tutti_params *params, tutti_error *err)
{
    const char *name = tutti_param_str(params, "filename");
    return strchr(name, '/')
               ? tutti_fail(err, TUTTI_E_ARG,
                            "%s: filename is %s, want a name without / (the setting folder "
                            "says where)",
                            who, name)
               : TUTTI_OK;
}

/* ---- files ---- */

/* Makes the folder and those above it. */
static tutti_status make_folder(const char *who, char *path, tutti_error *err)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = '\0';
        const int failed = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
        if (slash)
            *slash = '/';
        if (failed)
            return tutti_fail(err, TUTTI_E_IO, "%s: cannot make the folder %s: %s", who, path,
                              strerror(failed));
        if (!slash)
            return TUTTI_OK;
    }
}

tutti_status plan_files_claim(plan_files *m, const tutti_timestamp *now, tutti_error *err)
{
    const struct dirent *entry;
    m->goes_on = now->batch > 0 || tutti_run_owns(m->checkpoint, m->folder);
    tutti_status s = m->rank ? TUTTI_OK : make_folder(m->who, m->folder, err);
    DIR *dir = s || m->rank || m->overwrite || m->goes_on ? NULL : opendir(m->folder);
    while (dir && !s && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            s = tutti_fail(err, TUTTI_E_EXISTS,
                           "%s: %s has files already: choose another folder, or set overwrite",
                           m->who, m->folder);
    if (dir)
        (void)closedir(dir);
    return s ? s : tutti_run_own(m->checkpoint, m->folder, err);
}

/* Adds what the placeholder at `text` stands for; its length, 0 for none. */
static size_t fill_name(const plan_files *m, const tutti_timestamp *t, const char *text,
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
static void add_name(const plan_files *m, const tutti_timestamp *t, const char *pattern,
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

static void set_file_path(const plan_files *m, const tutti_timestamp *t, const char *end,
                          char *path, size_t size)
{
    (void)snprintf(path, size, "%s/", m->folder);
    add_name(m, t, m->filename, end, path, size);
}

bool plan_files_exists(const plan_files *m, const tutti_timestamp *t, const char *end)
{
    char path[PLAN_FILES_PATH + 256];
    struct stat st;
    set_file_path(m, t, end, path, sizeof path);
    return stat(path, &st) == 0;
}

static FILE *open_file(const plan_files *m, const tutti_timestamp *t, const char *end,
                       char *path, size_t size, tutti_error *err)
{
    set_file_path(m, t, end, path, size);
    FILE *f = fopen(path, m->overwrite || m->goes_on ? "w" : "wx");
    if (!f)
        (void)tutti_fail(err, TUTTI_E_IO, "%s: cannot write %s: %s", m->who, path,
                         strerror(errno));
    return f;
}

static tutti_status close_file(const plan_files *m, FILE *f, const char *path, tutti_error *err)
{
    const bool bad = ferror(f) != 0;
    return fclose(f) || bad ? tutti_fail(err, TUTTI_E_IO, "%s: cannot write %s", m->who, path)
                            : TUTTI_OK;
}

/* The file is whole: it goes to the loggers that send files.  What keeps it here is told and ends nothing. */
static void send_file(const plan_files *m, const tutti_timestamp *t, const char *end,
                      const char *path)
{
    char name[PLAN_FILES_PATH] = "";
    tutti_error why = TUTTI_ERROR_INIT;
    if (!m->remote_name)
        return;
    add_name(m, t, m->remote_name, end, name, sizeof name);
    const tutti_upload what = {.struct_size = sizeof what,
                               .overwrite = m->overwrite || m->goes_on,
                               .remote_name = name,
                               .path = path};
    const tutti_status s =
        m->sent ? m->sent->upload(m->sent->ctx, &what, &why)
                : tutti_fail(&why, TUTTI_E_UNSUPPORTED, "%s is not sent: this host has no %s",
                             path, TUTTI_FILES_V1);
    if (s && m->log)
        m->log->write(m->log->ctx, TUTTI_LOG_WARNING, why.text);
}

/* ---- what is in them ---- */

/* Calls `put` for each result that is written. */
static tutti_status each_result(const plan_files *m, const tutti_plan_facts *facts, FILE *f,
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

tutti_status plan_files_json(const plan_files *m, const tutti_timestamp *t, const char *end,
                             const char *members, const tutti_plan_facts *facts,
                             tutti_error *err)
{
    char path[PLAN_FILES_PATH + 256];
    FILE *f = open_file(m, t, end, path, sizeof path, err);
    if (!f)
        return TUTTI_E_IO;
    (void)fprintf(
        f,
        "{%s\"batch\": %lld, \"steps\": %u, \"arena_bytes\": %llu, \"peak_bytes\": %llu, "
        "\"places\": %u, \"results\": [",
        members, (long long)t->batch, facts->steps, (unsigned long long)facts->arena_bytes,
        (unsigned long long)facts->peak_bytes, facts->results);
    const tutti_status s = each_result(m, facts, f, put_json, err);
    (void)fprintf(f, "\n]}\n");
    const tutti_status closed = close_file(m, f, path, s ? NULL : err);
    if (!s && !closed)
        send_file(m, t, end, path);
    return s ? s : closed;
}

tutti_status plan_files_picture(const plan_files *m, const tutti_timestamp *t, const char *end,
                                const tutti_plan_facts *facts, tutti_error *err)
{
    char path[PLAN_FILES_PATH + 256];
    FILE *f = open_file(m, t, end, path, sizeof path, err);
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
    const tutti_status closed = close_file(m, f, path, s ? NULL : err);
    if (!s && !closed)
        send_file(m, t, end, path);
    return s ? s : closed;
}
