/* predict.c - the model's outputs for a data set, with Composer's predict events. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer_internal.h"

#include <string.h>

static tutti_status predict_batch(trainer *t, int64_t began, trainer_sink sink, void *ctx,
                                  tutti_error *err)
{
    tutti_status s = trainer_event(t, TUTTI_EVENT_PREDICT_BATCH_START, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_PREDICT_BEFORE_FORWARD, err)))
        return s;
    plan_request request;
    plan *p;
    if ((s = trainer_request(t, PLAN_EVAL, &t->eval_batch, &request, err)))
        return s;
    request.ntargets = 0; /* no loss */
    if ((s = net_plan(t->net, &request, &p, err)))
        return s;
    if ((s = trainer_bind_inputs(t, p, &t->eval_batch, err)) ||
        (s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)))
        return s;
    t->noutputs = plan_noutputs(p) < 2 ? plan_noutputs(p) : 2;
    for (uint32_t k = 0; k < t->noutputs; k++)
        t->outputs[k].now = plan_output(p, k);
    tutti_tensor outputs[2];
    if ((s = trainer_event(t, TUTTI_EVENT_PREDICT_AFTER_FORWARD, err)) ||
        (s = trainer_see_outputs(t, "", outputs, err)) || (s = sink(ctx, &outputs[0], err)))
        return s;
    timestamp_next_batch(&t->eval_time, t->eval_batch.samples, 0, now_ns() - began);
    t->predict_time = t->eval_time;
    return trainer_event(t, TUTTI_EVENT_PREDICT_BATCH_END, err);
}

static source *find_source(trainer *t, const char *label, tutti_error *err)
{
    for (size_t k = 0; k < t->nevals; k++)
        if (!label || strcmp(t->evals[k].spec->label, label) == 0)
            return &t->evals[k];
    (void)(label ? tutti_fail(err, TUTTI_E_NOTFOUND, "%s: there is no evaluation %s",
                              t->run->name, label)
                 : tutti_fail(err, TUTTI_E_ARG,
                              "%s: the run file has no evaluation, whose data "
                              "could be predicted",
                              t->run->name));
    return NULL;
}

tutti_status trainer_predict(trainer *t, const char *checkpoint, const char *label,
                             trainer_sink sink, void *ctx, tutti_error *err)
{
    source *e = find_source(t, label, err);
    if (!e)
        return err->status;
    tutti_status s = trainer_begin(t, checkpoint, err);
    if (s)
        return s;
    t->eval_label = "predict";
    t->phase = PHASE_EVAL;
    memset(&t->eval_time, 0, sizeof t->eval_time);
    t->eval_time.struct_size = sizeof t->eval_time;
    t->predict_time = t->eval_time;
    if ((s = source_seek(e, 0, 0, err)) == TUTTI_OK)
        s = trainer_event(t, TUTTI_EVENT_PREDICT_START, err);
    while (s == TUTTI_OK) {
        int64_t samples;
        const int64_t began = now_ns();
        if (trainer_signal())
            s = tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d", trainer_signal());
        else
            s = source_next(t, e, &t->eval_batch, &samples, err);
        if (s || samples == 0)
            break;
        s = predict_batch(t, began, sink, ctx, err);
    }
    if (s == TUTTI_OK)
        s = trainer_event(t, TUTTI_EVENT_PREDICT_END, err);
    t->phase = PHASE_IDLE;
    t->eval_label = NULL;
    return s;
}
