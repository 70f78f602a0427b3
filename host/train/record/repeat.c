/* repeat.c - a run as its record has it: read, and taken up by a run that repeats it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/record/repeat.h"

#include "base/json.h"
#include "train/checkpoint/reproduction.h"
#include "train/checkpoint/resume.h"
#include "train/record/record.h"
#include "train/step/trainer_state.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_LIMIT = 64 << 20 };

struct run_repeat {
    json_doc *doc;
    const json_node *root;
    char *run;
    char folder[PATH_MAX]; /* of the run */
    char path[PATH_MAX];
};

static const char *text_of(const run_repeat *r, const char *key)
{
    return json_string(json_get(r->root, key));
}

static tutti_status check(const run_repeat *r, tutti_error *err)
{
    const char *format = text_of(r, "format"), *command = text_of(r, "command");
    if (!format || strcmp(format, RECORD_FORMAT) != 0 || !text_of(r, "name") ||
        !text_of(r, "folder") || json_type(json_get(r->root, "run")) != JSON_OBJECT)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: is no record of a run, want " RECORD_FORMAT,
                          r->path);
    if (!command || strcmp(command, "train") != 0)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: is of an engine file, which --repeat cannot repeat; its \"run\" "
                          "is the file for `tutti run`",
                          r->path);
    return TUTTI_OK;
}

tutti_status run_repeat_open(const char *folder, run_repeat **ret, tutti_error *err)
{
    run_repeat *r = calloc(1, sizeof *r);
    if (!r)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read its record", folder);
    tutti_status s = TUTTI_OK;
    if (snprintf(r->folder, sizeof r->folder, "%s", folder) >= (int)sizeof r->folder ||
        snprintf(r->path, sizeof r->path, "%s/" RECORD_FILE, folder) >= (int)sizeof r->path)
        s = tutti_fail(err, TUTTI_E_RANGE, "%.80s...: the path is too long", folder);
    else if (access(r->path, F_OK) != 0)
        s = tutti_fail(err, TUTTI_E_NOTFOUND,
                       "%s: has no " RECORD_FILE ", want the folder of a run (tutti runs)",
                       folder);
    else
        s = json_read(r->path, RECORD_LIMIT, &r->doc, err);
    r->root = s ? NULL : json_root(r->doc);
    if (!s)
        s = check(r, err);
    if (!s && !(r->run = json_text(json_get(r->root, "run"))))
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", r->path);
    if (s)
        run_repeat_free(r);
    else
        *ret = r;
    return s;
}

void run_repeat_free(run_repeat *r)
{
    if (!r)
        return;
    free(r->run);
    json_free(r->doc);
    free(r);
}

const char *run_repeat_path(const run_repeat *r)
{
    return r->path;
}

const char *run_repeat_text(const run_repeat *r)
{
    return r->run;
}

const char *run_repeat_folder(const run_repeat *r)
{
    return text_of(r, "folder");
}

const char *run_repeat_name(const run_repeat *r)
{
    return text_of(r, "name");
}

const char *run_repeat_resume(const run_repeat *r)
{
    return json_string(json_get(json_get(r->root, "start"), "resume"));
}

const char *run_repeat_duration(const run_repeat *r)
{
    return json_string(json_get(json_get(r->root, "start"), "duration"));
}

bool run_repeat_resets_time(const run_repeat *r)
{
    return json_bool(json_get(json_get(r->root, "start"), "reset_time"));
}

/* ---- what cannot be kept ---- */

static void warn(trainer *t, const char *text)
{
    run_log_message(&t->run.log, TUTTI_LOG_WARNING, "train", text);
}

/* The plugin of that id among those that this run has loaded. */
static bool find_plugin(const registry *r, const char *id, plugin_info *ret_info)
{
    for (size_t k = 0; k < registry_plugin_count(r); k++) {
        registry_plugin(r, k, ret_info);
        if (ret_info->loaded && strcmp(ret_info->id, id) == 0)
            return true;
    }
    return false;
}

static void compare_plugin(trainer *t, const run_repeat *r, const json_node *then)
{
    char text[512], hex[REGISTRY_HEX_SIZE] = "";
    plugin_info now;
    const char *id = json_string(json_get(then, "id"));
    const char *version = json_string(json_get(then, "version"));
    const char *hash = json_string(json_get(then, "sha256"));
    if (!id || !version || !find_plugin(t->run.registry, id, &now))
        return; /* as a logger that this run leaves out */
    const bool other = strcmp(version, now.version) != 0;
    const bool known = hash && now.library && !registry_sha256(now.library, hex, NULL);
    if (!other && (!known || strcmp(hex, hash) == 0))
        return;
    (void)snprintf(
        text, sizeof text,
        "%.200s: had plugin %.80s %.20s, sha256 %.12s, this run has %.20s, %.12s; its "
        "results may differ",
        r->path, id, version, hash ? hash : "unknown", now.version, known ? hex : "unknown");
    warn(t, text);
}

static void compare_program(trainer *t, const run_repeat *r)
{
    char text[400];
    const char *version = text_of(r, "version");
    if (version && t->record->version && strcmp(version, t->record->version) != 0) {
        (void)snprintf(text, sizeof text,
                       "%.200s: was computed by tutti %.40s, this is %.40s; results may differ",
                       r->path, version, t->record->version);
        warn(t, text);
    }
    const json_node *plugins = json_get(r->root, "plugins");
    for (size_t k = 0; k < json_count(plugins); k++)
        compare_plugin(t, r, json_at(plugins, k));
}

static void compare_data(trainer *t, const run_repeat *r)
{
    char text[400];
    const json_node *train = json_at(json_get(r->root, "data"), 0);
    const int64_t then = json_int(json_get(train, "samples")), now = trainer_samples(t);
    if (!train || then == now)
        return;
    (void)snprintf(text, sizeof text,
                   "%.200s: had %lld training samples, there are %lld now; results will differ",
                   r->path, (long long)then, (long long)now);
    warn(t, text);
}

static void compare_attempts(trainer *t, const run_repeat *r)
{
    char text[400];
    const json_node *attempts = json_get(r->root, "attempts");
    for (size_t k = 0; k < json_count(attempts); k++)
        if (!json_bool(json_get(json_at(attempts, k), "same_settings"))) {
            (void)snprintf(text, sizeof text,
                           "%.200s: was taken up with other settings than it began with; this "
                           "run has the last ones from its beginning on",
                           r->path);
            warn(t, text);
            return;
        }
}

/* Kernels that the run chose after it was planned lie in its folder, or beside its checkpoints. */
static tutti_status take_later(trainer *t, const run_repeat *r, tutti_error *err)
{
    char folder[PATH_MAX];
    const tutti_status s = reproduction_take_later(&t->run, r->folder, err);
    if (s || snprintf(folder, sizeof folder, "%s/checkpoints", r->folder) >= (int)sizeof folder)
        return s;
    return reproduction_take_later(&t->run, folder, err);
}

tutti_status run_repeat_take(trainer *t, bool accept, tutti_error *err)
{
    const run_repeat *r = t->record->repeats;
    bool same = false;
    if (!r)
        return TUTTI_OK;
    compare_program(t, r);
    compare_data(t, r);
    compare_attempts(t, r);
    const reproduction_texts then = {text_of(r, "kernels"), text_of(r, "machine"),
                                     text_of(r, "threads"), text_of(r, "microbatch")};
    if (!t->run.net)
        return TUTTI_OK;
    if (!then.kernels || !then.machine || !then.threads || !then.microbatch)
        return tutti_fail(err, TUTTI_E_STATE,
                          "%s: does not say which kernels computed the run, which ended before "
                          "they were chosen",
                          r->path);
    const tutti_status s =
        reproduction_take(&t->run, &t->tensors, r->path, &then, accept, &same, err);
    t->resume->same = !s && same;
    return s ? s : take_later(t, r, err);
}
