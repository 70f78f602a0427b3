/* run_checkpoints.c - what a run file says of files to load, and of signals that save. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "train/run_file/run_published.h"
#include "train/run_file/run_reader.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file of weights at a path, from the run file's folder on; NULL when not given. */
static char *read_weights(run_reader *r, const json_node *at)
{
    const char *given = json_string(at);
    char *path = NULL;
    if (!given)
        return NULL;
    const bool remote = text_is_address(given);
    if (remote || *given == '/')
        path = strdup(given);
    else if (asprintf(&path, "%s/%s", r->folder, given) < 0)
        path = NULL;
    if (!path)
        faults_add_no_memory(r->faults, at);
    if (!path || remote)
        return path;
    char *file = published_weights(path, at, r->faults);
    free(path);
    return file;
}

/* The array of texts at `key`, which are the document's; NULL where there is none. */
static const char **read_texts(run_reader *r, const json_node *root, const char *key,
                               const char *want)
{
    const json_node *list = json_get(root, key);
    size_t n = 0;
    const char **texts = json_array_alloc(list, sizeof *texts, want, &n, r->faults);
    for (size_t k = 0; texts && k < n; k++) {
        texts[k] = json_string(json_at(list, k));
        if (!texts[k] || !*texts[k])
            faults_add(r->faults, json_at(list, k), "want a string that is not empty");
    }
    return texts;
}

static void read_signals(run_reader *r, const json_node *root)
{
    static const char *const words[] = {"hup", "usr1", "usr2",
                                        NULL}; /* RUN_SAVES_ON_*, by bits */
    const json_node *list = json_get(root, "save_on");
    if (!list || !json_want(list, JSON_ARRAY, "an array of signals", r->faults))
        return;
    r->run->checkpoints.signals = 0;
    for (size_t k = 0; k < json_count(list); k++) {
        const char *word = json_string(json_at(list, k));
        size_t bit = 0;
        while (word && words[bit] && strcmp(words[bit], word) != 0)
            bit++;
        if (word && words[bit])
            r->run->checkpoints.signals |= 1u << bit;
        else
            faults_add(r->faults, json_at(list, k), "want \"hup\", \"usr1\" or \"usr2\"");
    }
}

void run_read_checkpoints(run_reader *r, const json_node *root)
{
    run_checkpoints *c = &r->run->checkpoints;
    c->weights = read_weights(r, json_get(root, "load_weights"));
    if (c->weights && r->run->model.object)
        c->names = published_names(r->run->model.object, &c->published, r->faults);
    c->ignored = read_texts(r, root, "load_ignore_keys", "an array of patterns of names");
    c->excluded = read_texts(r, root, "load_exclude_algorithms", "an array of algorithms");
    read_signals(r, root);
}

void run_checkpoints_fini(run_checkpoints *c)
{
    free(c->weights);
    json_free(c->published);
    free(c->ignored);
    free(c->excluded);
}

bool run_pattern_matches(const char *pattern, const char *name)
{
    char part[1024];
    const size_t size = strlen(name);
    for (size_t n = 1; n <= size && size < sizeof part; n++) {
        if (n < size && name[n] != '.')
            continue;
        (void)snprintf(part, sizeof part, "%.*s", (int)n, name);
        if (fnmatch(pattern, part, 0) == 0)
            return true;
    }
    return false;
}

bool run_ignores(const run_checkpoints *c, const char *name)
{
    for (const char **p = c->ignored; p && *p; p++)
        if (run_pattern_matches(*p, name))
            return true;
    return false;
}

bool run_excludes(const run_checkpoints *c, const char *algorithm)
{
    for (const char **name = c->excluded; name && *name; name++)
        if (strcmp(*name, algorithm) == 0)
            return true;
    return false;
}
