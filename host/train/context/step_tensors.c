/* step_tensors.c - the tensors that plugins see by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/context/step_tensors.h"

#include "graph/runtime/device_memory.h"

#include <stdio.h>
#include <string.h>

void tensors_init(step_tensors *x, run_context *run, host_mirrors *mirrors)
{
    x->run = run;
    x->mirrors = mirrors;
    strcpy(x->loss.name, "loss");
    strcpy(x->outputs[0].name, "outputs");
    strcpy(x->outputs[1].name, "outputs.1");
}

void tensors_fini(step_tensors *x)
{
    batch_fini(&x->whole);
    batch_fini(&x->micro);
    batch_fini(&x->eval);
    batch_fini(&x->eval_part);
    for (int k = 0; k < STEP_OUTPUTS; k++)
        slot_fini(&x->outputs[k]);
    slot_fini(&x->loss);
    for (int k = 0; k < FORWARD_OUTPUTS; k++)
        mirror_fini(&x->forward[k]);
}

batch *tensors_batch(step_tensors *x)
{
    if (x->phase == PHASE_EVAL)
        return &x->eval;
    if (x->phase == PHASE_EVAL_PART)
        return &x->eval_part;
    return x->phase == PHASE_MICROBATCH ? &x->micro : &x->whole;
}

static slot *find_slot(step_tensors *x, const char *name)
{
    if (strcmp(name, "loss") == 0)
        return x->loss.now.data ? &x->loss : NULL;
    if (strcmp(name, "outputs") == 0 || strcmp(name, "outputs.0") == 0)
        return x->noutputs > 0 ? &x->outputs[0] : NULL;
    if (strcmp(name, "outputs.1") == 0)
        return x->noutputs > 1 ? &x->outputs[1] : NULL;
    return x->phase == PHASE_IDLE ? NULL : batch_find(tensors_batch(x), name);
}

static tutti_status no_slot(step_tensors *x, const char *name, tutti_error *err)
{
    char known[200] = "";
    if (x->phase != PHASE_IDLE) {
        const batch *b = tensors_batch(x);
        for (uint32_t k = 0; k < b->ncolumns; k++) {
            const size_t used = strlen(known);
            (void)snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "",
                           b->columns[k].name);
        }
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "the state has no %s now; the batch has: %s", name,
                      known[0] ? known : "nothing");
}

/* Outputs that their plan keeps in 16 bits, as plugins see them. */
static tutti_status expand(step_tensors *x, slot *s, tutti_error *err)
{
    if (s < x->outputs || s >= x->outputs + STEP_OUTPUTS || s->now.data || !x->outputs_of)
        return TUTTI_OK;
    return plan_expand_output(x->outputs_of, (uint32_t)(s - x->outputs), &x->run->step, &s->now,
                              err);
}

tutti_status tensors_find(step_tensors *x, const char *name, slot **ret_slot, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    if (x->complete && (x->phase == PHASE_BATCH || x->phase >= PHASE_EVAL))
        status = x->complete(x->complete_ctx, err);
    if (status)
        return status;
    slot *s = find_slot(x, name);
    if (!s)
        return no_slot(x, name, err);
    if ((status = expand(x, s, err)))
        return status;
    *ret_slot = s;
    return TUTTI_OK;
}

bool tensors_is_result(const step_tensors *x, const slot *s)
{
    return s == &x->loss || s == &x->outputs[0] || s == &x->outputs[1];
}

void tensors_publish_outputs(step_tensors *x, plan *p)
{
    x->noutputs = plan_noutputs(p) < STEP_OUTPUTS ? plan_noutputs(p) : STEP_OUTPUTS;
    x->outputs_of = p;
    for (uint32_t k = 0; k < x->noutputs; k++)
        x->outputs[k].now = plan_output(p, k);
}

void tensors_publish(step_tensors *x, plan *p)
{
    tensors_publish_outputs(x, p);
    x->loss.now = plan_loss(p);
}

void tensors_end_batch(step_tensors *x)
{
    x->phase = PHASE_IDLE;
    x->noutputs = 0;
    x->outputs_of = NULL;
    x->loss.now.data = NULL;
}

tutti_status tensors_read_loss(const step_tensors *x, double *ret_loss, tutti_error *err)
{
    float loss = 0.0f;
    const tutti_status s = device_copy(context_device(x->run), &loss, x->loss.now.data,
                                       sizeof loss, TUTTI_COPY_FROM_DEVICE, err);
    *ret_loss = (double)loss;
    return s;
}

tutti_status tensors_mirror_column(step_tensors *x, const char *who, slot *s, tutti_tensor *ret,
                                   tutti_error *err)
{
    const char *const before = x->mirrors->who;
    tutti_tensor seen = s->now;
    x->mirrors->who = who;
    const tutti_status status = mirror_open(x->mirrors, &s->mirror, MIRROR_RESULTS, &seen, err);
    x->mirrors->who = before;
    if (!status)
        *ret = seen;
    return status;
}

tutti_status tensors_mirror_outputs(step_tensors *x, const char *who, tutti_tensor *ret_outputs,
                                    tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (uint32_t k = 0; k < x->noutputs && !s; k++)
        s = expand(x, &x->outputs[k], err);
    for (uint32_t k = 0; k < x->noutputs && !s; k++)
        s = tensors_mirror_column(x, who, &x->outputs[k], &ret_outputs[k], err);
    return s;
}
