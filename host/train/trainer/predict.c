/* predict.c - the model's outputs for a data set, with Composer's predict events. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/monotonic.h"
#include "train/step/plan_step.h"
#include "train/step/trainer_events.h"
#include "train/step/trainer_state.h"
#include "train/trainer/begin.h"
#include "train/trainer/predictions.h"
#include "train/trainer/rank_batches.h"

#include <stdlib.h>
#include <string.h>

/* Outputs of the batch that is under way. */
static tutti_status compute(void *ctx, tutti_error *err)
{
    trainer *t = ctx;
    plan_request request;
    plan *p;
    tutti_status s = trainer_request(t, PLAN_EVAL, &t->tensors.eval, &request, err);
    if (s)
        return s;
    request.ntargets = 0; /* no loss */
    if ((s = net_plan(t->run.net, &request, &p, err)))
        return s;
    if ((s = trainer_bind_inputs(t, p, &t->tensors.eval, err)) ||
        (s = trainer_run(t, p, SEGMENT_FORWARD, 1.0f, err)))
        return s;
    t->tensors.noutputs = plan_noutputs(p) < 2 ? plan_noutputs(p) : 2;
    for (uint32_t k = 0; k < t->tensors.noutputs; k++)
        t->tensors.outputs[k].now = plan_output(p, k);
    return TUTTI_OK;
}

/* Every rank hears of every batch; one of them computes it. */
static tutti_status predict_batch(trainer *t, int64_t began, predictions *p, tutti_error *err)
{
    const bool mine = rank_evaluates(t);
    tutti_tensor outputs[2];
    t->tensors.noutputs = 0; /* those of the batch before */
    t->distributed.batches.passed = false;
    tutti_status s = trainer_event(t, TUTTI_EVENT_PREDICT_BATCH_START, err);
    if (s || (s = trainer_event(t, TUTTI_EVENT_PREDICT_BEFORE_FORWARD, err)) ||
        (mine && (s = compute(t, err))))
        return s;
    t->distributed.batches.passed = true;
    if ((s = trainer_event(t, TUTTI_EVENT_PREDICT_AFTER_FORWARD, err)) ||
        (mine && ((s = tensors_mirror_outputs(&t->tensors, "", outputs, err)) ||
                  (s = predictions_add(p, &outputs[0], err)))))
        return s;
    timestamp_next_batch(&t->run.clock.eval, t->tensors.eval.samples, 0,
                         monotonic_ns() - began);
    t->run.clock.predict = t->run.clock.eval;
    s = trainer_event(t, TUTTI_EVENT_PREDICT_BATCH_END, err);
    t->distributed.batches.at++;
    return s;
}

static data_source *find_source(trainer *t, const char *label, tutti_error *err)
{
    for (size_t k = 0; k < t->nevals; k++)
        if (!label || strcmp(t->evals[k].spec->label, label) == 0)
            return &t->evals[k];
    (void)(label ? tutti_fail(err, TUTTI_E_NOTFOUND, "%s: there is no evaluation %s",
                              t->run.file->name, label)
                 : tutti_fail(err, TUTTI_E_ARG,
                              "%s: the run file has no evaluation, whose data "
                              "could be predicted",
                              t->run.file->name));
    return NULL;
}

static const char *class_name(const data_source *s, int64_t k)
{
    const tutti_class_names_v1 *table =
        s->dataset ? instance_query(s->dataset, TUTTI_CLASS_NAMES_V1) : NULL;
    return table ? table->name(instance_self(s->dataset), NULL, k) : NULL;
}

const char *trainer_class_name(const trainer *t, int64_t k)
{
    const char *name = class_name(&t->train, k);
    for (size_t e = 0; !name && e < t->nevals; e++)
        name = class_name(&t->evals[e], k);
    return name;
}

static tutti_status predict_batches(trainer *t, data_source *e, predictions *p,
                                    tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    while (s == TUTTI_OK) {
        int64_t samples = 0;
        const int64_t began = monotonic_ns();
        if (trainer_signal())
            s = tutti_fail(err, TUTTI_E_INTERRUPTED, "stopped by signal %d", trainer_signal());
        else
            s = source_next(e, &t->mirrors, &t->tensors.eval, &samples, err);
        if (!s && samples)
            s = predict_batch(t, began, p, err);
        s = predictions_next(p, samples == 0, s, err);
        if (samples == 0)
            break;
    }
    return s;
}

tutti_status trainer_predict(trainer *t, const char *checkpoint, const char *label,
                             trainer_sink sink, void *ctx, tutti_error *err)
{
    data_source *e = find_source(t, label, err);
    if (!e)
        return err->status;
    predictions p = {.distributed = &t->distributed, .sink = sink, .ctx = ctx};
    tutti_status s = trainer_begin(t, checkpoint, err);
    if (!s && distributed_on(&t->distributed))
        s = distributed_share_choices(&t->distributed, TUTTI_OK, err);
    if (s)
        return s;
    rank_begin_prediction(t, e, compute);
    t->run.stage.evaluation = "predict";
    t->tensors.phase = PHASE_EVAL;
    memset(&t->run.clock.eval, 0, sizeof t->run.clock.eval);
    t->run.clock.eval.struct_size = sizeof t->run.clock.eval;
    t->run.clock.predict = t->run.clock.eval;
    if ((s = source_seek(e, 0, 0, err)) == TUTTI_OK)
        s = trainer_event(t, TUTTI_EVENT_PREDICT_START, err);
    if (s == TUTTI_OK)
        s = predict_batches(t, e, &p, err);
    rank_end_prediction(t);
    free(p.data);
    if (s == TUTTI_OK)
        s = trainer_event(t, TUTTI_EVENT_PREDICT_END, err);
    t->tensors.phase = PHASE_IDLE;
    t->run.stage.evaluation = NULL;
    return s;
}
