/* provenance.c - what wrote a checkpoint: plugins, surgery, what was frozen; whether this run is alike. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/checkpoint/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every plugin in use, one line each: "id version". */
static char *plugins_text(const run_context *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t k = 0; k < registry_plugin_count(run->registry); k++) {
        plugin_info p;
        registry_plugin(run->registry, k, &p);
        if (p.loaded)
            (void)fprintf(out, "%s %s\n", p.id, p.version);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool is_surgery(const instance *i)
{
    const object_info *o = object_describe(instance_object(i));
    for (const char *const *trait = o->traits; trait && *trait; trait++)
        if (strcmp(*trait, "required_on_load") == 0)
            return true;
    return false;
}

/* The algorithms that change the model, one line each: "name settings", settings as JSON. */
static char *surgery_text(const run_context *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    bool whole = true;
    for (size_t k = 0; k < run->participants.count; k++) {
        const instance *i = run->participants.items[k];
        if (!is_surgery(i))
            continue;
        char *params = params_text(instance_params(i));
        whole = whole && params;
        (void)fprintf(out, "%s %s\n", object_describe(instance_object(i))->name,
                      params ? params : "");
        free(params);
    }
    if (fclose(out) != 0 || !whole) {
        free(text);
        return NULL;
    }
    return text;
}

static char *frozen_text(const run_context *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (uint32_t k = 0; run->net && k < net_weight_count(run->net); k++)
        if (net_frozen(run->net, k))
            (void)fprintf(out, "%s\n", net_weight(run->net, k)->path);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

tutti_status provenance_write(const run_context *run, char *objects, provenance *ret_provenance,
                              tutti_error *err)
{
    provenance o = {plugins_text(run), objects, surgery_text(run), frozen_text(run)};
    if (!o.plugins || !o.objects || !o.surgery || !o.frozen) {
        provenance_fini(&o);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the checkpoint's provenance");
    }
    *ret_provenance = o;
    return TUTTI_OK;
}

void provenance_fini(provenance *o)
{
    free(o->plugins);
    free(o->objects);
    free(o->surgery);
    free(o->frozen);
    *o = (provenance){NULL, NULL, NULL, NULL};
}

/* Copies the line at *text to `line` and steps past it; false at the end. */
static bool next_line(const char **text, char *line, size_t size)
{
    const size_t n = strcspn(*text, "\n");
    if (n == 0)
        return false;
    (void)snprintf(line, size, "%.*s", (int)n, *text);
    *text += n + ((*text)[n] == '\n');
    return true;
}

/* Finds the line of `text` whose first word is `word`; what follows the word goes to `rest`. */
static bool find_word(const char *text, const char *word, char *rest, size_t size)
{
    char line[2048];
    const size_t n = strlen(word);
    while (next_line(&text, line, sizeof line))
        if (strncmp(line, word, n) == 0 && line[n] == ' ') {
            (void)snprintf(rest, size, "%.*s", (int)size - 1, line + n + 1);
            return true;
        }
    return false;
}

/* Files without the list: whether any tensor is of that object. */
static bool has_tensor_of(const checkpoint *c, const char *label)
{
    const size_t n = strlen(label);
    for (size_t k = 0; k < checkpoint_count(c); k++) {
        checkpoint_item item;
        checkpoint_at(c, k, &item);
        if (strncmp(item.name, label, n) == 0 && item.name[n] == '.')
            return true;
    }
    return false;
}

bool provenance_has(const checkpoint *c, const char *label)
{
    char line[512];
    const size_t kind = strcspn(label, ".");
    const char *text = checkpoint_value(c, "objects");
    if (!text)
        return has_tensor_of(c, label);
    while (next_line(&text, line, sizeof line)) {
        if (strcspn(line, " ") == kind && line[kind])
            line[kind] = '.';
        if (strcmp(line, label) == 0)
            return true;
    }
    return false;
}

/* Whether a state that version `then` wrote can be read by `now`: same first number, not older. */
static bool can_read(const char *now, const char *then)
{
    int a[2] = {0, 0}, b[2] = {0, 0};
    (void)sscanf(now, "%d.%d", &a[0], &a[1]);
    (void)sscanf(then, "%d.%d", &b[0], &b[1]);
    return a[0] == b[0] && a[1] >= b[1];
}

static tutti_status check_plugins(const char *path, const char *then, const char *now,
                                  tutti_error *err)
{
    char line[256], here[48];
    while (next_line(&then, line, sizeof line)) {
        char *version = strchr(line, ' ');
        if (!version)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: \"%s\" names no plugin and its version",
                              path, line);
        *version++ = '\0';
        /* What this run leaves out has its state left out too. */
        if (find_word(now, line, here, sizeof here) && !can_read(here, version))
            return tutti_fail(err, TUTTI_E_VERSION,
                              "%s: was written with plugin %s %s, this run has %s; use the "
                              "version that wrote it, or start anew",
                              path, line, version, here);
    }
    return TUTTI_OK;
}

/* Adds to `out` the words that add algorithm `name` to the run, as its `number`-th. */
static void say_addition(FILE *out, size_t number, const char *name, const char *settings)
{
    const bool none = strcmp(settings, "{}") == 0;
    (void)fprintf(out, " --set 'algorithms.%zu={\"name\": \"%s\"%s%s'", number, name,
                  none ? "" : ", ", none ? "}" : settings + 1);
}

static tutti_status check_surgery(run_context *run, const char *path, const char *then,
                                  const char *now, tutti_error *err)
{
    char line[2048], here[2048], missing[256] = "", command[800] = "";
    FILE *out = fmemopen(command, sizeof command, "w");
    size_t count = run->file->participants.algorithms.count;
    if (!out)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to check it", path);
    while (next_line(&then, line, sizeof line)) {
        char *settings = strchr(line, ' ');
        if (!settings)
            continue;
        *settings++ = '\0';
        if (run_excludes(&run->file->checkpoints, line))
            continue;
        if (!find_word(now, line, here, sizeof here)) {
            const size_t used = strlen(missing), left = sizeof missing - used;
            if (snprintf(missing + used, left, "%s%s", used ? ", " : "", line) >= (int)left)
                missing[used] = '\0'; /* too many for a sentence; the command has them all */
            say_addition(out, count++, line, settings);
            continue;
        }
        if (strcmp(here, settings) != 0) {
            char text[4608];
            (void)snprintf(text, sizeof text,
                           "%s: its model was changed by %s %s, this run's by %s", path, line,
                           settings, here);
            run_log_message(&run->log, TUTTI_LOG_WARNING, "train", text);
        }
    }
    (void)fclose(out);
    if (!*missing)
        return TUTTI_OK;
    const bool fits = strlen(path) + strlen(missing) + strlen(command) < 400;
    if (!fits) /* an error is one sentence of limited length */
        run_log_message(&run->log, TUTTI_LOG_WARNING, "train", command);
    return tutti_fail(err, TUTTI_E_ARG,
                      "%s: its model was changed by %s, which this run does not have; add%s",
                      path, missing, fits ? command : " what was said above");
}

tutti_status provenance_check(run_context *run, const char *path, const checkpoint *c,
                              tutti_error *err)
{
    provenance now;
    const char *plugins = checkpoint_value(c, "plugins");
    const char *surgery = checkpoint_value(c, "surgery");
    if (!plugins)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: does not say which plugins wrote it", path);
    tutti_status s = provenance_write(run, strdup(""), &now, err);
    if (s)
        return s;
    s = check_plugins(path, plugins, now.plugins, err);
    if (s == TUTTI_OK && surgery)
        s = check_surgery(run, path, surgery, now.surgery, err);
    provenance_fini(&now);
    return s;
}
