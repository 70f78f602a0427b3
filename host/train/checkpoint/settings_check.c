/* settings_check.c - what a run file says otherwise than the one that a checkpoint was written with. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/settings_check.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD = 3, PATH_SIZE = 192 }; /* differences that are told, the others are counted */

typedef struct comparison {
    char text[600];
    size_t used;
    uint32_t count;
    bool lost; /* there was no memory for a value */
} comparison;

/* Settings that change no result, or that a resumed run may well change. */
static bool is_free(const char *path)
{
    static const char *const all[] = {"name",
                                      "max_duration",
                                      "eval",
                                      "loggers",
                                      "callbacks",
                                      "handlers",
                                      "traces",
                                      "profiler",
                                      "threads",
                                      "device",
                                      "on_nonfinite",
                                      "deterministic",
                                      "train.workers",
                                      "load_weights",
                                      "load_strict",
                                      "load_ignore_keys",
                                      "load_exclude_algorithms",
                                      "save_on",
                                      "train.prefetch",
                                      "train.resident",
                                      "watchdog_s",
                                      "train.metrics",
                                      NULL};
    for (size_t k = 0; all[k]; k++)
        if (strcmp(all[k], path) == 0)
            return true;
    return strncmp(path, "x-", 2) == 0;
}

static void add(comparison *c, const char *path, const char *then, const char *now)
{
    if (c->count++ >= TOLD)
        return;
    const int n = snprintf(c->text + c->used, sizeof c->text - c->used,
                           "%s%s was %.60s, is %.60s", c->used ? "; " : "", path, then, now);
    c->used += n > 0 && (size_t)n < sizeof c->text - c->used ? (size_t)n : 0;
}

static void differ(comparison *c, const char *path, const json_node *then, const json_node *now)
{
    char *a = then ? json_text(then) : NULL, *b = now ? json_text(now) : NULL;
    c->lost = c->lost || (then && !a) || (now && !b);
    add(c, path, a ? a : "not set", b ? b : "not set");
    free(a);
    free(b);
}

static void compare(comparison *c, const char *path, const json_node *then,
                    const json_node *now);

static const char *below(char *to, const char *path, const char *key)
{
    (void)snprintf(to, PATH_SIZE, "%s%s%s", path, *path ? "." : "", key);
    return to;
}

static void compare_members(comparison *c, const char *path, const json_node *then,
                            const json_node *now)
{
    char name[PATH_SIZE];
    for (size_t k = 0; k < json_count(then); k++) {
        const json_node *member = json_at(then, k);
        compare(c, below(name, path, json_key(member)), member,
                json_get(now, json_key(member)));
    }
    for (size_t k = 0; k < json_count(now); k++) {
        const json_node *member = json_at(now, k);
        if (!json_get(then, json_key(member)))
            compare(c, below(name, path, json_key(member)), NULL, member);
    }
}

static void compare(comparison *c, const char *path, const json_node *then,
                    const json_node *now)
{
    char name[PATH_SIZE], number[24];
    if (is_free(path))
        return;
    const int type = then ? json_type(then) : JSON_NULL;
    if (!then || !now || type != json_type(now)) {
        differ(c, path, then, now);
        return;
    }
    if (type == JSON_OBJECT) {
        compare_members(c, path, then, now);
        return;
    }
    if (type == JSON_ARRAY && json_count(then) == json_count(now)) {
        for (size_t k = 0; k < json_count(then); k++) {
            (void)snprintf(number, sizeof number, "%zu", k);
            compare(c, below(name, path, number), json_at(then, k), json_at(now, k));
        }
        return;
    }
    char *a = json_text(then), *b = json_text(now);
    c->lost = c->lost || !a || !b;
    if (a && b && strcmp(a, b) != 0)
        add(c, path, a, b);
    free(a);
    free(b);
}

/* As JSON, whatever stands in the file's text. */
static tutti_status compare_texts(comparison *c, const char *path, const char *then,
                                  const char *now, tutti_error *err)
{
    json_doc *a = NULL, *b = NULL;
    tutti_status s = json_parse(path, then, strlen(then), &a, err);
    if (!s)
        s = json_parse("run", now, strlen(now), &b, err);
    if (!s)
        compare(c, "", json_root(a), json_root(b));
    if (!s && c->lost)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to compare its settings", path);
    json_free(a);
    json_free(b);
    return s;
}

tutti_status settings_check(run_context *run, int64_t samples, const char *path,
                            const checkpoint *file, bool strict, tutti_error *err)
{
    comparison c = {.used = 0};
    char text[1024], more[40] = "", number[24];
    const char *then = checkpoint_value(file, "run"), *had = checkpoint_value(file, "samples");
    tutti_status s = then ? compare_texts(&c, path, then, run->file->text, err) : TUTTI_OK;
    if (s)
        return s;
    (void)snprintf(number, sizeof number, "%lld", (long long)samples);
    if (had && strcmp(had, number) != 0)
        add(&c, "the number of training samples", had, number);
    if (c.count == 0)
        return TUTTI_OK;
    if (c.count > TOLD)
        (void)snprintf(more, sizeof more, "; and %u more", c.count - TOLD);
    (void)snprintf(text, sizeof text, "%s: was written with other settings: %s%s", path, c.text,
                   more);
    if (strict)
        return tutti_fail(err, TUTTI_E_ARG, "%s", text);
    run_log_message(&run->log, TUTTI_LOG_WARNING, "train", text);
    return TUTTI_OK;
}
