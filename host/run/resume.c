/* resume.c - what a checkpoint keeps of a loop: its state_dict, its place in epochs and data, what functions made of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "run/run_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of older checkpoints: newer ones have it beside the loop (train/checkpoint/progress.h). */
static void take_values(loop_run *l, const json_node *values)
{
    for (size_t k = 0; k < json_count(values); k++) {
        const json_node *at = json_at(values, k);
        const tutti_named_value v = {json_key(at), json_real(at)};
        training_restore_value(l->trainer, &v);
    }
}

/* What functions have asked of the loop, and set. */
static void add_kept(const loop_run *l, const loop_place *at, text_buffer *b)
{
    const int32_t *asked = l->kept.requests;
    text_add(b, ", \"epochs\": %" PRId64 ", \"iterations\": %" PRId64, at->epochs,
             at->iterations);
    if (asked[RUN_TERMINATE])
        text_add(b, ", \"terminate\": %d", (int)asked[RUN_TERMINATE]);
    if (asked[RUN_TERMINATE_EPOCH] && at->iterations > 0)
        text_add(b, ", \"terminate_epoch\": %d", (int)asked[RUN_TERMINATE_EPOCH]);
    if (l->kept.data) {
        text_add(b, ", \"data\": ");
        text_add_quoted(b, l->kept.data);
    }
    if (l->pending) {
        text_add(b, ", \"pending\": ");
        text_add_quoted(b, l->pending);
    }
    if (isfinite(l->output))
        text_add(b, ", \"output\": %.17g", l->output);
    run_save_limits(l, b);
}

/* An iteration that is under way is made again: it counts once its batch has. */
static tutti_status save(void *ctx, char **ret_text, tutti_error *err)
{
    loop_run *l = ctx;
    tutti_loop_state *st = tutti_loop_get_state(l->loop);
    const int64_t iteration = st->iteration;
    const loop_place at = loop_get_place(l->loop);
    char *dict = NULL;
    text_buffer b = {0};
    tutti_status s = training_flush(l->trainer, err);
    if (s)
        return s;
    st->iteration = at.iteration;
    s = tutti_loop_state_dict(l->loop, 0, &dict, err);
    st->iteration = iteration;
    if (s)
        return s;
    text_add(&b, "{\"state\": %s, \"pass\": %" PRId64 ", \"place\": %" PRId64, dict, l->pass,
             l->place - l->fetched);
    free(dict);
    add_kept(l, &at, &b);
    text_add(&b, l->asked ? ", \"asked\": true}" : "}");
    *ret_text = b.data;
    return b.failed ? tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loop's state")
                    : TUTTI_OK;
}

/* Where epochs are not said, they follow from the iterations. */
static tutti_status take_state(loop_run *l, const json_node *root, tutti_error *err)
{
    const json_node *epochs = json_get(root, "epochs");
    char *dict = json_text(json_get(root, "state"));
    if (!dict)
        return tutti_fail(err, TUTTI_E_FORMAT, "the loop's state is missing");
    l->kept.older = epochs == NULL;
    const tutti_status s = epochs ? loop_load_at(l->loop, dict, json_int(epochs),
                                                 json_int(json_get(root, "iterations")), err)
                                  : tutti_loop_load_state_dict(l->loop, dict, err);
    free(dict);
    return s;
}

static tutti_status take_kept(loop_run *l, const json_node *root, tutti_error *err)
{
    const char *data = json_string(json_get(root, "data"));
    const char *pending = json_string(json_get(root, "pending"));
    const json_node *output = json_get(root, "output");
    if (!output)
        output = json_get(json_get(root, "values"), "output");
    l->output = output ? json_real(output) : (double)NAN;
    l->kept.requests[RUN_TERMINATE] = (int32_t)json_int(json_get(root, "terminate"));
    l->kept.requests[RUN_TERMINATE_EPOCH] =
        (int32_t)json_int(json_get(root, "terminate_epoch"));
    run_take_limits(l, json_get(root, "limits"));
    if (pending && !(l->pending = strdup(pending)))
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a loop's state");
    const tutti_status s = data ? run_use_data(l, data, err) : TUTTI_OK;
    return s == TUTTI_E_NOTFOUND
               ? tutti_fail(err, s, "the loop goes through the data of %s, which the run lacks",
                            data)
               : s;
}

/* Likewise. */
static void take_attributes(loop_run *l, const json_node *attributes)
{
    const custom_event *customs;
    const size_t n = registry_events(l->registry, &customs);
    for (size_t k = 0; k < n; k++) {
        int64_t *value = engine_event_attribute(l->engine, TUTTI_EVENT_CUSTOM + (int32_t)k);
        const json_node *kept = value ? json_get(attributes, customs[k].attribute) : NULL;
        if (kept)
            *value = json_int(kept);
    }
}

static tutti_status take(loop_run *l, const json_node *root, tutti_error *err)
{
    const tutti_status s = take_state(l, root, err);
    if (s)
        return s;
    l->pass = json_int(json_get(root, "pass"));
    l->place = json_int(json_get(root, "place"));
    l->placed = l->pass >= 0;
    l->taken_up = true;
    l->asked = json_bool(json_get(root, "asked"));
    take_values(l, json_get(root, "values"));
    take_attributes(l, json_get(root, "attributes"));
    return take_kept(l, root, err);
}

void run_place_older(loop_run *l)
{
    const tutti_loop_state *st = tutti_loop_get_state(l->loop);
    if (!l->taken_up || !l->kept.older || st->epoch_length < 1 || st->iteration == 0)
        return;
    const int64_t made = st->iteration % st->epoch_length;
    const bool owes = made == 0 && trainer_time(l->trainer)->batch_in_epoch > 0;
    loop_set_place(l->loop, st->epoch - owes, owes ? st->epoch_length : made);
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
