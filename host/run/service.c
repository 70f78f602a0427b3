/* service.c - tutti.loop/1: what functions of plugins can ask of the loop that calls them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run_internal.h"

#include <stdlib.h>
#include <string.h>

static int64_t get_iteration(void *ctx)
{
    return tutti_loop_get_state(((loop_run *)ctx)->loop)->iteration;
}

static int64_t get_epoch(void *ctx)
{
    return tutti_loop_get_state(((loop_run *)ctx)->loop)->epoch;
}

static void set_output(void *ctx, double value)
{
    ((loop_run *)ctx)->output = value;
}

double loop_run_output(const loop_run *l)
{
    return l->run->loop.supervised ? training_loss(l->trainer) : l->output;
}

static double get_output(void *ctx)
{
    return loop_run_output(ctx);
}

static void terminate(void *ctx, int32_t skip)
{
    run_request(ctx, RUN_TERMINATE, skip != 0);
}

static void terminate_epoch(void *ctx, int32_t skip)
{
    run_request(ctx, RUN_TERMINATE_EPOCH, skip != 0);
}

static void interrupt(void *ctx)
{
    run_request(ctx, RUN_INTERRUPT, false);
}

static int64_t *limit_of(loop_run *l, int32_t which)
{
    tutti_loop_state *st = tutti_loop_get_state(l->loop);
    return which == TUTTI_LOOP_MAX_EPOCHS  ? &st->max_epochs
           : which == TUTTI_LOOP_MAX_ITERS ? &st->max_iters
                                           : &st->epoch_length;
}

static int64_t get_limit(void *ctx, int32_t which)
{
    const int64_t value = *limit_of(ctx, which);
    return value == TUTTI_LOOP_NONE ? -1 : value;
}

static tutti_status set_limit(void *ctx, int32_t which, int64_t value, tutti_error *err)
{
    static const char *const names[] = {"max_epochs", "max_iters", "epoch_length"};
    loop_run *l = ctx;
    if (which < TUTTI_LOOP_MAX_EPOCHS || which > TUTTI_LOOP_EPOCH_LENGTH)
        return tutti_fail(err, TUTTI_E_ARG, "%d is no limit of a loop", (int)which);
    if (value != -1 && value < 1)
        return tutti_fail(err, TUTTI_E_ARG, "%s is %lld, want 1 or more, or -1", names[which],
                          (long long)value);
    const int32_t other = 1 - which;
    if (value != -1 && which != TUTTI_LOOP_EPOCH_LENGTH && get_limit(ctx, other) != -1)
        return tutti_fail(err, TUTTI_E_ARG, "%s is set: make it -1 to run by %s", names[other],
                          names[which]);
    *limit_of(l, which) = value == -1 ? TUTTI_LOOP_NONE : value;
    l->kept.limits = l->kept.limits || which != TUTTI_LOOP_EPOCH_LENGTH;
    l->kept.length = l->kept.length || which == TUTTI_LOOP_EPOCH_LENGTH;
    return TUTTI_OK;
}

static const char *state_dict(void *ctx)
{
    loop_run *l = ctx;
    tutti_error ignored = TUTTI_ERROR_INIT;
    free(l->dict);
    l->dict = NULL;
    return tutti_loop_state_dict(l->loop, 0, &l->dict, &ignored) ? NULL : l->dict;
}

/* Another loop judges the text now: this one takes it once it has left off. */
static tutti_status load_state_dict(void *ctx, const char *json, tutti_error *err)
{
    loop_run *l = ctx;
    char *copy = strdup(json);
    tutti_status s = copy ? run_check_dict(l, json, err)
                          : tutti_fail(err, TUTTI_E_NOMEM, "no memory for a loop's state");
    if (s) {
        free(copy);
        return s;
    }
    free(l->pending);
    l->pending = copy;
    run_request(l, RUN_INTERRUPT, false);
    return TUTTI_OK;
}

/* A handler of `started` says again what a run that is taken up has: that goes on in its place. */
static bool is_placed_in(const loop_run *l, const char *label)
{
    return l->placed && strcmp(l->kept.data ? l->kept.data : "train", label) == 0;
}

static tutti_status set_data(void *ctx, const char *label, tutti_error *err)
{
    loop_run *l = ctx;
    const bool stays = is_placed_in(l, label);
    const tutti_status s = run_use_data(l, label, err);
    if (s || stays)
        return s;
    l->pass = -1;
    l->placed = l->found = false;
    return tutti_loop_set_data(l->loop, &l->data, err);
}

static const tutti_error *exception(void *ctx)
{
    const tutti_loop_firing *f = ((loop_run *)ctx)->firing;
    return f ? f->exception : NULL;
}

static int64_t iter_counter(void *ctx)
{
    const tutti_loop_firing *f = ((loop_run *)ctx)->firing;
    return f && f->event == TUTTI_EVENT_TERMINATE_SINGLE_EPOCH ? f->iter_counter : -1;
}

static tutti_status train(void *ctx, double *ret_loss, tutti_error *err)
{
    loop_run *l = ctx;
    if (!l->run->model.object)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the engine file has no model to train");
    if (!l->processing)
        return tutti_fail(err, TUTTI_E_STATE, "only the process function trains, once a batch");
    l->processing = false;
    const tutti_status s = training_step(l->trainer, err);
    if (!s && ret_loss)
        *ret_loss = training_loss(l->trainer);
    return s;
}

static tutti_status evaluate(void *ctx, const char *label, tutti_error *err)
{
    return training_evaluate(((loop_run *)ctx)->trainer, label, err);
}

void run_fill_service(loop_run *l)
{
    l->service = (tutti_loop_v1){.struct_size = (uint32_t)sizeof l->service,
                                 .ctx = l,
                                 .iteration = get_iteration,
                                 .epoch = get_epoch,
                                 .set_output = set_output,
                                 .output = get_output,
                                 .terminate = terminate,
                                 .terminate_epoch = terminate_epoch,
                                 .interrupt = interrupt,
                                 .limit = get_limit,
                                 .set_limit = set_limit,
                                 .state_dict = state_dict,
                                 .load_state_dict = load_state_dict,
                                 .set_data = set_data,
                                 .exception = exception,
                                 .iter_counter = iter_counter,
                                 .train = train,
                                 .evaluate = evaluate};
}
