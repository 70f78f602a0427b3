/* save.c - state_dict and load_state_dict: the counters of a run as JSON. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "loop/loop_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_number(text_buffer *b, const char *key, int64_t value)
{
    text_add(b, "%s", b->size > 1 ? ", " : "");
    text_add_quoted(b, key);
    if (value == TUTTI_LOOP_NONE)
        text_add(b, ": null");
    else
        text_add(b, ": %" PRId64, value);
}

static tutti_status add_value(text_buffer *b, const named_value *v, tutti_error *err)
{
    char real[TEXT_REAL_SIZE];
    switch (v->value.type) {
    case TUTTI_LOOP_INT:
        add_number(b, v->name, v->value.integer);
        return TUTTI_OK;
    case TUTTI_LOOP_REAL:
    case TUTTI_LOOP_TEXT:
        text_add(b, ", ");
        text_add_quoted(b, v->name);
        text_add(b, ": ");
        if (v->value.type == TUTTI_LOOP_TEXT)
            text_add_quoted(b, v->value.text);
        else
            text_add(b, "%s", text_real(v->value.real, real));
        return TUTTI_OK;
    default:
        return tutti_fail(err, TUTTI_E_NOTFOUND, "the state has no %s to save", v->name);
    }
}

tutti_status tutti_loop_state_dict(tutti_loop *l, int by_epoch, char **ret_text,
                                   tutti_error *err)
{
    const tutti_loop_state *st = &l->state;
    text_buffer b = {0};
    text_add(&b, "{");
    add_number(&b, "epoch_length", st->epoch_length);
    if (by_epoch)
        add_number(&b, "epoch", st->epoch);
    else
        add_number(&b, "iteration", st->iteration);
    if (st->max_iters != TUTTI_LOOP_NONE)
        add_number(&b, "max_iters", st->max_iters);
    else
        add_number(&b, "max_epochs", st->max_epochs);
    tutti_status s = TUTTI_OK;
    for (const named_value *v = l->attributes; v && !s; v = v->next)
        if (v->saved)
            s = add_value(&b, v, err);
    if (l->options.deterministic)
        text_add(&b, ", \"rng_states\": [\"%" PRIu64 "\", \"%" PRIu64 "\"]", l->random.rng.key,
                 l->random.rng.counter);
    text_add(&b, "}");
    if (!s && b.failed)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the state of a loop");
    if (s) {
        free(b.data);
        return s;
    }
    *ret_text = b.data;
    return TUTTI_OK;
}

loop_place loop_get_place(const tutti_loop *l)
{
    const loop_counters *c = &l->counters;
    /* That of an epoch which is to be cut is not made. */
    const bool again = c->under_way && !atomic_load(&l->requests.terminate_epoch);
    return (loop_place){.iteration = l->state.iteration - again,
                        .epochs = l->state.epoch - c->open,
                        .iterations = c->open        ? c->iter_counter - again
                                      : c->has_first ? c->first
                                                     : 0};
}

void loop_set_place(tutti_loop *l, int64_t epochs, int64_t iterations)
{
    l->state.epoch = epochs;
    l->counters = (loop_counters){.has_first = true, .first = iterations};
}

/* What a text says, before anything of it is taken up. */
typedef struct loaded {
    int64_t epoch_length;
    int64_t iteration;
    int64_t epoch;
    int64_t max_epochs;
    int64_t max_iters;
    bool placed;   /* the epoch is known beside the text */
    int64_t first; /* and iterations of the next one */
    bool has_rng;
    tutti_loop_rng rng;
} loaded;

static tutti_status read_number(const json_node *root, const char *key, int64_t *ret_number,
                                tutti_error *err)
{
    const json_node *n = json_get(root, key);
    *ret_number = TUTTI_LOOP_NONE;
    if (!n || json_type(n) == JSON_NULL)
        return TUTTI_OK;
    if (json_type(n) != JSON_INT || json_int(n) < 0)
        return tutti_fail(err, TUTTI_E_ARG, "%s is no whole number from 0", key);
    *ret_number = json_int(n);
    return TUTTI_OK;
}

/* The count that is not given follows from the other one and epoch_length. */
static tutti_status complete_counts(loaded *in, tutti_error *err)
{
    if (in->iteration == 0 || in->epoch == 0) {
        in->iteration = in->epoch = 0;
        return TUTTI_OK;
    }
    if (in->epoch_length == TUTTI_LOOP_NONE || in->epoch_length < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "epoch_length must be 1 or more to tell epochs from iterations");
    if (in->iteration != TUTTI_LOOP_NONE)
        in->epoch = in->iteration / in->epoch_length;
    else if (__builtin_mul_overflow(in->epoch, in->epoch_length, &in->iteration))
        return tutti_fail(err, TUTTI_E_ARG, "epoch %lld is too large", (long long)in->epoch);
    return TUTTI_OK;
}

static tutti_status check_limit(const char *key, int64_t limit, int64_t least, tutti_error *err)
{
    if (limit == TUTTI_LOOP_NONE || (limit >= 1 && limit >= least))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_ARG, "%s is %lld, want at least %lld", key, (long long)limit,
                      (long long)(least > 1 ? least : 1));
}

static tutti_status read_counts(const json_node *root, loaded *in, tutti_error *err)
{
    const bool iteration = json_get(root, "iteration") != NULL;
    const bool epoch = json_get(root, "epoch") != NULL;
    if (iteration && epoch)
        return tutti_fail(err, TUTTI_E_ARG, "iteration and epoch exclude each other");
    if (!json_get(root, "epoch_length"))
        return tutti_fail(err, TUTTI_E_ARG, "epoch_length is missing");
    if (!iteration && !epoch)
        return tutti_fail(err, TUTTI_E_ARG, "iteration (or epoch) is missing");
    if (!json_get(root, "max_epochs") == !json_get(root, "max_iters"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "exactly one of max_epochs and max_iters is wanted");
    const int64_t epochs = in->epoch;
    tutti_status s = read_number(root, "epoch_length", &in->epoch_length, err);
    if (!s)
        s = read_number(root, "iteration", &in->iteration, err);
    if (!s)
        s = read_number(root, "epoch", &in->epoch, err);
    if (in->placed)
        in->epoch = epochs;
    if (!s)
        s = read_number(root, "max_epochs", &in->max_epochs, err);
    if (!s)
        s = read_number(root, "max_iters", &in->max_iters, err);
    if (!s && in->iteration == TUTTI_LOOP_NONE && in->epoch == TUTTI_LOOP_NONE)
        s = tutti_fail(err, TUTTI_E_ARG, "%s is null", iteration ? "iteration" : "epoch");
    if (!s && !in->placed)
        s = complete_counts(in, err);
    if (!s) /* a limit that a handler has set may have been passed */
        s = check_limit("max_epochs", in->max_epochs, in->placed ? 1 : in->epoch, err);
    return s ? s : check_limit("max_iters", in->max_iters, in->placed ? 1 : in->iteration, err);
}

static tutti_status read_rng(const json_node *root, loaded *in, tutti_error *err)
{
    const json_node *n = json_get(root, "rng_states");
    if (!n)
        return tutti_fail(err, TUTTI_E_ARG, "rng_states is missing");
    if (json_type(n) == JSON_NULL)
        return TUTTI_OK;
    const char *key = json_string(json_at(n, 0)), *counter = json_string(json_at(n, 1));
    if (json_type(n) != JSON_ARRAY || json_count(n) != 2 || !key || !counter)
        return tutti_fail(err, TUTTI_E_ARG, "rng_states is no pair of texts");
    in->rng.key = strtoull(key, NULL, 10);
    in->rng.counter = strtoull(counter, NULL, 10);
    in->has_rng = true;
    return TUTTI_OK;
}

static tutti_status take_values(tutti_loop *l, const json_node *root, tutti_error *err)
{
    for (const named_value *v = l->attributes; v; v = v->next) {
        const json_node *n = v->saved ? json_get(root, v->name) : NULL;
        if (!n)
            continue;
        const tutti_loop_value value = {.type = json_type(n) == JSON_INT      ? TUTTI_LOOP_INT
                                                : json_type(n) == JSON_STRING ? TUTTI_LOOP_TEXT
                                                : json_type(n) == JSON_REAL   ? TUTTI_LOOP_REAL
                                                                              : TUTTI_LOOP_NULL,
                                        .integer = json_int(n),
                                        .real = json_real(n),
                                        .text = json_string(n)};
        const tutti_status s = tutti_loop_set(l, v->name, &value, err);
        if (s)
            return s;
    }
    return TUTTI_OK;
}

static tutti_status load(tutti_loop *l, const json_node *root, loaded in, tutti_error *err)
{
    if (json_type(root) != JSON_OBJECT)
        return tutti_fail(err, TUTTI_E_ARG, "the state of a loop is %s, want an object",
                          json_type_name(root));
    tutti_status s = read_counts(root, &in, err);
    for (const named_value *v = l->attributes; v && !s; v = v->next)
        if (v->saved && !json_get(root, v->name))
            s = tutti_fail(err, TUTTI_E_ARG, "%s is missing", v->name);
    if (!s && l->options.deterministic)
        s = read_rng(root, &in, err);
    if (!s)
        s = take_values(l, root, err);
    if (s)
        return s;
    l->state.epoch_length = in.epoch_length;
    l->state.iteration = in.iteration;
    l->state.max_epochs = in.max_epochs;
    l->state.max_iters = in.max_iters;
    l->random.saved = in.rng;
    l->random.has_saved = in.has_rng;
    loop_set_place(l, in.epoch, in.first);
    l->counters.has_first = in.placed; /* else by the epoch_length that is in force then */
    l->source.discovered = false;
    l->phase =
        PHASE_IDLE; /* an interrupted run would go on with counters that are not its own */
    l->source.open = false;
    return TUTTI_OK;
}

static tutti_status load_text(tutti_loop *l, const char *text, loaded in, tutti_error *err)
{
    if (l->running)
        return tutti_fail(err, TUTTI_E_STATE, "the loop is running");
    json_doc *doc = NULL;
    tutti_status s = json_parse("state", text, strlen(text), &doc, err);
    if (s)
        return s;
    s = load(l, json_root(doc), in, err);
    json_free(doc);
    return s;
}

tutti_status tutti_loop_load_state_dict(tutti_loop *l, const char *text, tutti_error *err)
{
    return load_text(l, text, (loaded){.placed = false}, err);
}

tutti_status loop_load_at(tutti_loop *l, const char *text, int64_t epochs, int64_t iterations,
                          tutti_error *err)
{
    return load_text(l, text, (loaded){.epoch = epochs, .placed = true, .first = iterations},
                     err);
}
