/* plugin.c - lookahead: slow weights follow the optimizer's, and are where it goes on from. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../weight_average.h"

#include <math.h>

typedef struct lookahead {
    const tutti_state_v1 *state;
    int64_t interval;
    double alpha;
    double ramp;
    average average; /* the slow weights */
} lookahead;

static tutti_status lookahead_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    const tutti_state_v1 *state = algorithm_service(host, "lookahead", TUTTI_STATE_V1, err);
    if (!state)
        return TUTTI_E_UNSUPPORTED;
    lookahead *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "lookahead: no memory");
    const tutti_status found = average_init(&l->average, host, "lookahead", err);
    if (found) {
        free(l);
        return found;
    }
    l->average.nflags = 1;
    l->state = state;
    l->interval = tutti_param_i64(params, "interval");
    l->alpha = tutti_param_f64(params, "alpha");
    l->ramp = tutti_param_f64(params, "ramp");
    *ret_self = l;
    return TUTTI_OK;
}

static tutti_status lookahead_close(void *self, tutti_error *err)
{
    lookahead *l = self;
    (void)err;
    average_fini(&l->average);
    free(l);
    return TUTTI_OK;
}

static int32_t lookahead_ends(const lookahead *l)
{
    return l->state->elapsed(l->state->ctx) >= 1.0;
}

static int32_t lookahead_match(void *self, const tutti_event *event)
{
    const lookahead *l = self;
    switch (event->id) {
    case TUTTI_EVENT_INIT:
        return 1;
    case TUTTI_EVENT_BATCH_START:
        return !average_started(&l->average);
    case TUTTI_EVENT_BATCH_END:
        return average_started(&l->average) &&
               (event->time->batch % l->interval == 0 || lookahead_ends(l));
    default:
        return 0;
    }
}

/* slow += share (fast - slow), fast = slow; behind the last interval fast = slow alone. */
static tutti_status lookahead_update(lookahead *l, int64_t batch, tutti_error *err)
{
    const double elapsed = l->state->elapsed(l->state->ctx);
    if (elapsed < 0.0 && l->ramp > 0.0)
        return tutti_fail(err, TUTTI_E_STATE,
                          "lookahead: ramp is %g, but how long training takes is not known",
                          l->ramp);
    const double kept =
        (1.0 - l->alpha) * (l->ramp > 0.0 ? pow(fmin(elapsed, 1.0), l->ramp) : 1.0);
    const tutti_status s =
        batch % l->interval == 0 ? average_approach(&l->average, 1.0 - kept, err) : TUTTI_OK;
    return s ? s : average_load(&l->average, err);
}

static tutti_status lookahead_apply(void *self, const tutti_event *event,
                                    int64_t *ret_exit_code, tutti_error *err)
{
    lookahead *l = self;
    (void)ret_exit_code;
    if (event->id == TUTTI_EVENT_INIT)
        return average_fit(&l->average, err);
    if (event->id == TUTTI_EVENT_BATCH_START)
        return average_start(&l->average, err);
    return lookahead_update(l, event->time->batch, err);
}

static tutti_status lookahead_items(void *self, tutti_state_item *list, uint32_t capacity,
                                    uint32_t *ret_count, tutti_error *err)
{
    return average_items(&((lookahead *)self)->average, list, capacity, ret_count, err);
}

static const void *lookahead_query(void *self, const char *id)
{
    static const tutti_stateful_v1 table = {.struct_size = sizeof table,
                                            .items = lookahead_items};
    (void)self;
    return strcmp(id, TUTTI_STATEFUL_V1) == 0 ? &table : NULL;
}

ALGORITHM_PLUGIN("lookahead", .open = lookahead_open, .match = lookahead_match,
                 .apply = lookahead_apply, .close = lookahead_close, .query = lookahead_query);
