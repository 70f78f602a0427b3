/* limits.c - limits of the engine file, and those that functions set in their place. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_internal.h"

#include <inttypes.h>

/* Those of functions are in the loop's state. */
tutti_loop_run_args run_limits(const loop_run *l)
{
    tutti_loop_run_args args = l->run->loop.args;
    if (l->kept.limits)
        args.max_epochs = args.max_iters = TUTTI_LOOP_NONE;
    if (l->kept.length)
        args.epoch_length = TUTTI_LOOP_NONE;
    return args;
}

int64_t run_epochs(const loop_run *l)
{
    return tutti_loop_get_state(l->loop)->epoch + run_owes_epoch_end(l);
}

bool run_has_reached(const loop_run *l)
{
    const tutti_loop_state *st = tutti_loop_get_state(l->loop);
    const tutti_loop_run_args *a = &l->run->loop.args;
    const bool own = l->kept.limits;
    const int64_t epochs = own ? st->max_epochs : a->max_epochs,
                  iters = own ? st->max_iters : a->max_iters;
    if (l->asked || l->pending)
        return false; /* while a scheduled checkpoint of the last batch is the run's last */
    if (iters != TUTTI_LOOP_NONE)
        return st->iteration >= iters;
    if (epochs != TUTTI_LOOP_NONE)
        return run_epochs(l) >= epochs;
    return !own && run_epochs(l) >= 1;
}

/* ---- in checkpoints ---- */

static void add_limit(text_buffer *b, const char *name, int64_t value)
{
    text_add(b, "\"%s\": ", name);
    if (value == TUTTI_LOOP_NONE)
        text_add(b, "null");
    else
        text_add(b, "%" PRId64, value);
}

void run_save_limits(const loop_run *l, text_buffer *b)
{
    const tutti_loop_run_args *a = &l->run->loop.args;
    if (!l->kept.limits && !l->kept.length)
        return;
    text_add(b, ", \"limits\": {");
    if (l->kept.limits) {
        add_limit(b, "max_epochs", a->max_epochs);
        text_add(b, ", ");
        add_limit(b, "max_iters", a->max_iters);
    }
    if (l->kept.length) {
        text_add(b, l->kept.limits ? ", " : "");
        add_limit(b, "epoch_length", a->epoch_length);
    }
    text_add(b, "}");
}

/* Whether the file says what it said. */
static bool is_same(const json_node *limits, const char *name, int64_t now)
{
    const json_node *n = json_get(limits, name);
    return n && (json_type(n) == JSON_INT ? json_int(n) == now : now == TUTTI_LOOP_NONE);
}

/* A limit that the file has changed since is the one that is wanted. */
void run_take_limits(loop_run *l, const json_node *limits)
{
    tutti_loop_state *st = tutti_loop_get_state(l->loop);
    const tutti_loop_run_args *a = &l->run->loop.args;
    l->kept.limits = is_same(limits, "max_epochs", a->max_epochs) &&
                     is_same(limits, "max_iters", a->max_iters);
    l->kept.length = is_same(limits, "epoch_length", a->epoch_length);
    if (l->kept.limits || !json_get(limits, "max_epochs") ||
        (a->max_epochs == TUTTI_LOOP_NONE && a->max_iters == TUTTI_LOOP_NONE))
        return;
    st->max_epochs = a->max_epochs;
    st->max_iters = a->max_iters;
}
