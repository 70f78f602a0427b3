/* resume.c - what a checkpoint keeps of a loop: its state_dict, and where it stands in the data. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "run/run_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The counters of custom events, by name. */
static void add_attributes(loop_run *l, text_buffer *b)
{
    const custom_event *customs;
    const size_t n = registry_events(l->registry, &customs);
    const char *comma = "";
    text_add(b, ", \"attributes\": {");
    for (size_t k = 0; k < n; k++) {
        const int64_t *value =
            engine_event_attribute(l->engine, TUTTI_EVENT_CUSTOM + (int32_t)k);
        if (!value || *value == 0)
            continue;
        text_add(b, "%s", comma);
        text_add_quoted(b, customs[k].attribute);
        text_add(b, ": %" PRId64, *value);
        comma = ", ";
    }
    text_add(b, "}");
}

/* Whether the same run logs the same number again: no time, no speed. */
static bool is_result(const char *name)
{
    return strcmp(name, "output") == 0 || strncmp(name, "loss/", 5) == 0 ||
           strncmp(name, "metrics/", 8) == 0;
}

/* What handlers of the next events may ask for. */
static void add_values(const loop_run *l, text_buffer *b)
{
    tutti_named_value v;
    const char *comma = "";
    text_add(b, ", \"values\": {");
    for (uint32_t k = 0; training_value(l->trainer, k, &v); k++) {
        if (!is_result(v.name) || !isfinite(v.value))
            continue;
        text_add(b, "%s", comma);
        text_add_quoted(b, v.name);
        text_add(b, ": %.17g", v.value);
        comma = ", ";
    }
    text_add(b, "}");
}

static void take_values(loop_run *l, const json_node *values)
{
    for (size_t k = 0; k < json_count(values); k++) {
        const json_node *at = json_at(values, k);
        const tutti_named_value v = {json_key(at), json_real(at)};
        training_restore_value(l->trainer, &v);
    }
}

/* An iteration that is under way is made again: it counts once its batch has. */
static tutti_status save(void *ctx, char **ret_text, tutti_error *err)
{
    loop_run *l = ctx;
    tutti_loop_state *st = tutti_loop_get_state(l->loop);
    const int64_t iteration = st->iteration;
    char *dict = NULL;
    text_buffer b = {0};
    tutti_status s = training_flush(l->trainer, err);
    if (s)
        return s;
    st->iteration = trainer_time(l->trainer)->batch;
    s = tutti_loop_state_dict(l->loop, 0, &dict, err);
    st->iteration = iteration;
    if (s)
        return s;
    text_add(&b, "{\"state\": %s, \"pass\": %" PRId64 ", \"place\": %" PRId64, dict, l->pass,
             l->place);
    free(dict);
    add_attributes(l, &b);
    add_values(l, &b);
    text_add(&b, l->asked ? ", \"asked\": true}" : "}");
    *ret_text = b.data;
    return b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loop's state")
                    : TUTTI_OK;
}

static tutti_status take(loop_run *l, const json_node *root, tutti_error *err)
{
    const custom_event *customs;
    const size_t n = registry_events(l->registry, &customs);
    char *dict = json_text(json_get(root, "state"));
    if (!dict)
        return tutti_fail(err, TUTTI_E_FORMAT, "the loop's state is missing");
    const tutti_status s = tutti_loop_load_state_dict(l->loop, dict, err);
    free(dict);
    if (s)
        return s;
    l->pass = json_int(json_get(root, "pass"));
    l->place = json_int(json_get(root, "place"));
    l->placed = l->pass >= 0;
    l->taken_up = true;
    l->asked = json_bool(json_get(root, "asked"));
    take_values(l, json_get(root, "values"));
    for (size_t k = 0; k < n; k++) {
        int64_t *value = engine_event_attribute(l->engine, TUTTI_EVENT_CUSTOM + (int32_t)k);
        const json_node *kept =
            value ? json_get(json_get(root, "attributes"), customs[k].attribute) : NULL;
        if (kept)
            *value = json_int(kept);
    }
    return TUTTI_OK;
}

static tutti_status load(void *ctx, const char *path, const char *text, tutti_error *err)
{
    json_doc *doc = NULL;
    if (!text)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: holds no loop; it was written by `tutti train`", path);
    tutti_status s = json_parse(path, text, strlen(text), &doc, err);
    if (s)
        return s;
    s = take(ctx, json_root(doc), err);
    json_free(doc);
    return s;
}

static tutti_status do_nothing(tutti_loop *l, void *batch, void **ret_output, void *ctx,
                               tutti_error *err)
{
    return TUTTI_OK;
}

tutti_status run_check_dict(const loop_run *l, const char *json, tutti_error *err)
{
    tutti_loop_options options = TUTTI_LOOP_OPTIONS_INIT;
    tutti_loop *other = NULL;
    options.process = do_nothing;
    options.deterministic = l->run->loop.deterministic;
    tutti_status s = tutti_loop_create(&options, &other, err);
    if (!s)
        s = tutti_loop_load_state_dict(other, json, err);
    tutti_loop_destroy(other);
    return s;
}

void run_join_checkpoints(loop_run *l)
{
    training_on_checkpoint(l->trainer, save, load, l);
}
