/* load_rules.c - whether what a run file leaves out of a file stands in that file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/pretrained/load_rules.h"

#include "base/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALGORITHMS = 64 };

/* A foreign file has other names than this run, whose weights are "model.NAME". */
static bool has_like(const checkpoint *c, const load_report *report, const char *pattern)
{
    char name[1024];
    for (size_t k = 0; k < report->count; k++) {
        (void)snprintf(name, sizeof name, "model.%s", report->rows[k].name);
        if (run_pattern_matches(pattern, name))
            return true;
    }
    for (size_t k = 0; k < checkpoint_count(c); k++) {
        checkpoint_item item;
        checkpoint_at(c, k, &item);
        if (run_pattern_matches(pattern, item.name))
            return true;
    }
    return false;
}

/* Cuts `text`, "KIND NAME" a line, into its names of algorithms. */
static void algorithms_of(char *text, const char **ret_names)
{
    static const char kind[] = "algorithm ";
    size_t n = 0;
    char *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && n < MOST_ALGORITHMS;
         line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, kind, sizeof kind - 1) == 0)
            ret_names[n++] = line + sizeof kind - 1;
    ret_names[n] = NULL;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static void check_algorithms(const run_checkpoints *rules, const char *path,
                             const checkpoint *c, run_log *log)
{
    const char *objects = checkpoint_value(c, "objects"), *names[MOST_ALGORITHMS + 1];
    char *text = objects ? strdup(objects) : NULL;
    algorithms_of(text, names);
    for (const char **name = rules->excluded; text && name && *name; name++) {
        char line[640];
        if (is_among(*name, names))
            continue;
        (void)snprintf(
            line, sizeof line,
            "%.300s: has no algorithm %.100s, which load_exclude_algorithms leaves out%s", path,
            *name, suggest_word(*name, names).text);
        run_log_message(log, TUTTI_LOG_WARNING, "train", line);
    }
    free(text);
}

void load_rules_check(const run_checkpoints *rules, const char *path, const checkpoint *c,
                      const load_report *report, run_log *log)
{
    for (const char **pattern = rules->ignored; pattern && *pattern; pattern++) {
        char line[640];
        if (has_like(c, report, *pattern))
            continue;
        (void)snprintf(line, sizeof line,
                       "%.300s: has nothing like %.150s, which load_ignore_keys leaves out",
                       path, *pattern);
        run_log_message(log, TUTTI_LOG_WARNING, "train", line);
    }
    check_algorithms(rules, path, c, log);
}
