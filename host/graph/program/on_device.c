/* on_device.c - running a program on a device: its kernels, constants and launches. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/program/program_internal.h"

#include <stdlib.h>
#include <string.h>

/* Fewer steps than these run in vain: to leave them out costs the device a kernel and a decision. */
enum { BLOCK_STEPS = 3 };

const tutti_kernel *program_kernel(const tutti_device *d, const tutti_op *op)
{
    if (!d)
        return op->cpu;
    const tutti_kernel *own = d->table->kernel ? d->table->kernel(d->device, op->name) : NULL;
    if (own)
        return own;
    if (strcmp(d->info.kernels, "cpu") == 0)
        return op->cpu;
    return strcmp(d->info.kernels, "cuda") == 0 ? op->cuda : NULL;
}

const tutti_cuda_v1 *program_cuda(const tutti_device *d)
{
    return d && strcmp(d->info.kernels, "cuda") == 0 &&
                   TUTTI_HAS(d->table, tutti_device_v1, cuda) && d->table->cuda
               ? d->table->cuda(d->device)
               : NULL;
}

bool program_runs_device_code(const tutti_device *d)
{
    return program_cuda(d) != NULL;
}

bool program_allows_tf32(const tutti_device *d)
{
    const tutti_cuda_v1 *cuda = program_cuda(d);
    return cuda && cuda->allow & TUTTI_CUDA_TF32;
}

const tutti_op *program_pointwise_op(const graph *g, const tutti_device *d)
{
    const tutti_op *op = device_can(d, TUTTI_DEVICE_GROUPS)
                             ? graph_op_with_role(g, TUTTI_ROLE_POINTWISE_GROUP)
                             : NULL;
    return op && program_kernel(d, op) ? op : NULL;
}

pointwise_device program_pointwise_device(const graph *g, const tutti_device *d)
{
    const tutti_op *op = program_pointwise_op(g, d);
    return (pointwise_device){op,
                              op && program_kernel(d, op) == op->cuda ? program_cuda(d) : NULL};
}

/* Groups and sums of stores are code of the host's. */
bool program_runs_host_code(const tutti_device *d)
{
    return !d || (!d->table->kernel && strcmp(d->info.kernels, "cpu") == 0);
}

tutti_status program_place_constants(program *p, const tutti_device *d, capture_log *captures,
                                     tutti_error *err)
{
    p->device = d;
    p->captures.segments[0].log = p->captures.segments[1].log = captures;
    if (device_is_host(d))
        return TUTTI_OK;
    p->constants = calloc(p->nvalues, sizeof *p->constants);
    if (!p->constants)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    for (tutti_value v = 1; v < p->nvalues; v++) {
        const graph_value *value = graph_value_at(p->g, v);
        const uint64_t bytes = tutti_nbytes(&value->desc);
        if (value->kind != VALUE_CONST)
            continue;
        p->constants[v] = device_alloc(d, bytes);
        if (!p->constants[v])
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for %llu bytes of constants",
                              (unsigned long long)bytes);
        const tutti_status s =
            device_copy(d, p->constants[v], value->data, bytes, TUTTI_COPY_TO_DEVICE, err);
        if (s)
            return s;
        p->alias_sets[v].fixed = p->constants[v];
    }
    return TUTTI_OK;
}

void program_leave_device(program *p)
{
    if (device_is_async(
            p->device)) /* work under way uses the steps; its error is lost with them */
        (void)p->device->table->synchronise(p->device->device, NULL, NULL);
    for (int32_t segment = 0; segment < 2; segment++)
        captures_drop(&p->captures.segments[segment], p->device);
    for (tutti_value v = 1; p->constants && v < p->nvalues; v++)
        device_free(p->device, p->constants[v]);
    free(p->constants);
}

static bool can_clear(const tutti_device *d)
{
    return TUTTI_HAS(d->table, tutti_device_v1, clear_unless) && d->table->clear_unless;
}

static bool can_add(const tutti_device *d)
{
    return TUTTI_HAS(d->table, tutti_device_v1, add) && d->table->add;
}

static tutti_status launch(const program *p, const step *s, tutti_error *err)
{
    const tutti_device *d = p->device;
    const graph_node *n = s->node;
    const tutti_launch l = {.struct_size = sizeof l,
                            .name = n ? n->op->name : "store",
                            .run = s->run,
                            .state = s->state,
                            .call = s->call,
                            .in = s->in,
                            .out = s->out,
                            .scratch = s->scratch,
                            .where = n ? n->scope : NULL};
    tutti_error why = TUTTI_ERROR_INIT;
    const tutti_status status = d->table->launch(d->device, NULL, &l, &why);
    return status ? tutti_fail(err, status, "%s%s%s", n ? n->scope : "",
                               n && *n->scope ? ": " : "", why.text)
                  : TUTTI_OK;
}

/* What leaves a block becomes zeros where its guard is 0.  Where the device reads the guard itself, the
 * block has run all the same; elsewhere the host waits for the guard and skips the step. */
static tutti_status obey_guard(const program *p, const step *s, bool *ret_skip,
                               tutti_error *err)
{
    const tutti_device *d = p->device;
    const bool waits = !can_clear(d);
    float guard = 0.0f;
    tutti_status status = TUTTI_OK;
    if (waits)
        status = d->table->copy(d->device, NULL, &guard, *s->guard, sizeof guard,
                                TUTTI_COPY_FROM_DEVICE, err);
    *ret_skip = waits && guard == 0.0f;
    for (uint32_t j = 0; (*ret_skip || !waits) && !status && s->zeros >> j; j++) {
        const uint64_t bytes = tutti_nbytes(&s->call->out[j]);
        if (s->zeros >> j & 1)
            status = waits ? d->table->fill(d->device, NULL, s->out[j], 0, bytes, err)
                           : d->table->clear_unless(d->device, NULL, *s->guard, s->out[j],
                                                    bytes, err);
    }
    return status;
}

static tutti_status run_step(const program *p, const step *s, tutti_error *err)
{
    const tutti_device *d = p->device;
    const uint64_t bytes = tutti_nbytes(&s->call->in[0]);
    if (s->run == store_zero)
        return d->table->fill(d->device, NULL, s->out[0], 0, bytes, err);
    if (s->run == store_add && can_add(d))
        return d->table->add(d->device, NULL, s->out[0], s->in[0],
                             (uint64_t)tutti_numel(&s->call->in[0]), err);
    if (s->run != store_copy)
        return launch(p, s, err);
    return s->in[0] == s->out[0] ? TUTTI_OK
                                 : d->table->copy(d->device, NULL, s->out[0], s->in[0], bytes,
                                                  TUTTI_COPY_ON_DEVICE, err);
}

/* The end of the steps from `s` on that have its guard. */
static const step *block_end(const step *s, const step *end)
{
    const step *k = s + 1;
    while (k < end && k->guard && k->node->guard == s->node->guard)
        k++;
    return k;
}

/* What leaves a block that is left out: zeros. */
static tutti_status fill_zeros(const program *p, const step *s, const step *end,
                               tutti_error *err)
{
    const tutti_device *d = p->device;
    tutti_status status = TUTTI_OK;
    for (; s < end; s++)
        for (uint32_t j = 0; s->zeros >> j && !status; j++)
            if (s->zeros >> j & 1)
                status = d->table->fill(d->device, NULL, s->out[j], 0,
                                        tutti_nbytes(&s->call->out[j]), err);
    return status;
}

/* Steps that have one guard, as a block of the graph that is gathered; *ret_done: they are in it. */
static tutti_status run_block(const program *p, const step *s, const step *end, bool *ret_done,
                              tutti_error *err)
{
    const tutti_device *d = p->device;
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status status = d->table->block(d->device, NULL, TUTTI_BLOCK_IF, *s->guard, &why);
    *ret_done = status != TUTTI_E_UNSUPPORTED;
    if (status)
        return *ret_done ? tutti_fail(err, status, "%s", why.text) : TUTTI_OK;
    for (const step *k = s; k < end && !status; k++)
        status = run_step(p, k, err);
    if (!status)
        status = d->table->block(d->device, NULL, TUTTI_BLOCK_ELSE, NULL, err);
    if (!status)
        status = fill_zeros(p, s, end, err);
    return status ? status : d->table->block(d->device, NULL, TUTTI_BLOCK_END, NULL, err);
}

tutti_status program_run_steps(const program *p, const step *first, const step *end,
                               tutti_error *err)
{
    const bool waits = !can_clear(p->device), blocks = capture_has_conditionals(p->device);
    const step *known = first; /* before this it is decided that steps are in no block */
    tutti_status status = TUTTI_OK;
    for (const step *s = first; s < end && !status; s++) {
        bool skip = false, done = false;
        if (blocks && s->guard && s >= known) {
            known = block_end(s, end);
            if (known - s >= BLOCK_STEPS)
                status = run_block(p, s, known, &done, err);
            if (done) {
                s = known - 1;
                continue;
            }
        }
        if (s->guard && waits)
            status = obey_guard(p, s, &skip, err);
        if (!status && !skip)
            status = run_step(p, s, err);
        if (s->guard && !waits && !status)
            status = obey_guard(p, s, &skip, err);
    }
    return status;
}
