/* schedule_case.c - multipliers of scheduler plugins, opened as a run opens them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance.h"
#include "tutti/scheduler.h"

static const void *offer_nothing(void *ctx, instance *i, const char *interface_id)
{
    return NULL;
}

static instance *open_schedule(const json_node *c, registry *plugins, text_buffer *got)
{
    const json_node *schedule = member(c, "schedule");
    const object *o = NULL;
    instance *i = NULL;
    tutti_error e = TUTTI_ERROR_INIT;
    if (registry_find(plugins, TUTTI_KIND_SCHEDULER, text_of(schedule, "name"), &o, &e)) {
        text_add(got, "%s", e.text);
        return NULL;
    }
    faults *f = faults_create();
    tutti_params *params = f ? params_from_json(o, schedule, NULL, ".", f) : NULL;
    for (size_t k = 0; f && k < faults_count(f); k++)
        text_add(got, "%s ", faults_text(f, k));
    faults_destroy(f);
    if (params && instance_open(o, "schedule", params, offer_nothing, NULL, &i, &e)) {
        params_free(params);
        text_add(got, "%s", e.text);
    }
    return i;
}

void run_schedule_case(const json_node *c, registry *plugins, verdict *v)
{
    const json_node *expect = member(c, "expect"),
                    *ratio_at = member(c, "scale_schedule_ratio");
    const double ratio = ratio_at ? json_real(ratio_at) : 1.0;
    const double tolerance = member(c, "tolerance") ? json_real(member(c, "tolerance")) : 1e-3;
    const int64_t per_epoch = int_of(c, "batches_per_epoch", 1);
    tutti_timestamp now = {.struct_size = (uint32_t)sizeof now};
    tutti_schedule s = {.struct_size = (uint32_t)sizeof s,
                        .now = &now,
                        .dataloader_len = per_epoch,
                        .scale_ratio = ratio};
    instance *i = open_schedule(c, plugins, &v->got);
    const tutti_scheduler_v1 *table = i ? instance_query(i, TUTTI_SCHEDULER_V1) : NULL;
    s.max_duration.unit = TUTTI_UNIT_EPOCH;
    s.max_duration.count = (int64_t)((double)int_of(c, "max_duration_epochs", 1) * ratio);
    if (!table)
        text_add(&v->want, "a schedule");
    for (size_t k = 0; table && expect && k < json_count(expect); k++) {
        const json_node *point = json_at(expect, k);
        tutti_error e = TUTTI_ERROR_INIT;
        double alpha = 0.0;
        now.batch = int_of(point, "batch", 0);
        now.epoch = now.batch / per_epoch;
        now.batch_in_epoch = now.batch % per_epoch;
        const double want = json_real(member(point, "alpha"));
        if (table->multiplier(instance_self(i), &s, &alpha, &e)) {
            text_add(&v->want, "%g at batch %lld", want, (long long)now.batch);
            text_add(&v->got, "%s", e.text);
        } else if (!(fabs(alpha - want) <= tolerance)) {
            text_add(&v->want, "%g at batch %lld ", want, (long long)now.batch);
            text_add(&v->got, "%.9g ", alpha);
        }
    }
    instance_free(i);
}
