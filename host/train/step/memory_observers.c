/* memory_observers.c - tutti.memory_observer/1: who hears of it, and what tutti.plan/1 speaks of meanwhile. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/step/memory_observers.h"

#include "graph/runtime/device_memory.h"
#include "train/step/trainer_state.h"
#include "tutti/memory_observer.h"

static void tell_observers(trainer *t, const tutti_error *why, uint64_t wanted)
{
    const tutti_memory_failure failure = {.struct_size = sizeof failure,
                                          .planned = t->plans.refused != NULL,
                                          .text = why->text,
                                          .device = t->run.file->device.part.name,
                                          .wanted_bytes = wanted,
                                          .available_bytes =
                                              device_memory_available(context_device(&t->run))};
    for (size_t k = 0; k < t->run.participants.count; k++) {
        instance *i = t->run.participants.items[k];
        const tutti_memory_observer_v1 *table = instance_query(i, TUTTI_MEMORY_OBSERVER_V1);
        if (!table)
            continue;
        tutti_error e = TUTTI_ERROR_INIT;
        instance_call call = instance_enter(i, "out_of_memory");
        const tutti_status s = table->out_of_memory(instance_self(i), &failure, &e);
        instance_leave(&call);
        if (s)
            run_log_message(&t->run.log, TUTTI_LOG_WARNING, instance_name(i), e.text);
    }
    t->plans.described = NULL;
}

void memory_plan_refused(void *ctx, const program *q, uint64_t wanted, const tutti_error *why)
{
    trainer *t = ctx;
    t->plans.refused = q;
    tell_observers(t, why, wanted);
    t->plans.refused = NULL;
    t->plans.refusal_told = true;
}

void memory_step_failed(trainer *t, const tutti_error *why)
{
    if (!t->plans.refusal_told)
        tell_observers(t, why, 0);
    t->plans.refusal_told = false;
}
