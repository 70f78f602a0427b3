/* plan_cache.c - the plan cache: found by shapes, built when missing; to evict one takes the least recently used (LRU). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/passes/rematerialization.h"
#include "graph/plan/plan_internal.h"
#include "graph/runtime/host_memory.h"

#include <stdlib.h>
#include <string.h>

/* A model graph stays while at most this many others were asked for since. */
enum { MODEL_GRAPHS_KEPT = 8 };
/* Without net_set_plan_limit. */
#define PLAN_LIMIT ((uint64_t)1 << 30)

static bool same_descs(const tutti_desc *a, const tutti_desc *b, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!tutti_same_shape(&a[k], &b[k]) || a[k].dtype != b[k].dtype)
            return false;
    return true;
}

static model_graph *find_model_graph(const plan_set *set, const plan_request *r)
{
    for (model_graph *b = set->model_graphs; b; b = b->next)
        if (b->kind == r->kind && b->half_outputs == (r->half_outputs != 0) &&
            b->spends_outputs == (r->spends_outputs != 0) &&
            sequence_fits(b->sequence, r->context) && b->ninputs == r->ninputs &&
            same_descs(b->input_desc, r->inputs, r->ninputs))
            return b;
    return NULL;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t mix_descs(uint64_t h, const tutti_desc *d, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        h = mix(h, (uint64_t)d[k].dtype << 32 | (uint32_t)d[k].rank);
        for (int32_t j = 0; j < d[k].rank; j++)
            h = mix(h, (uint64_t)d[k].dim[j]);
    }
    return mix(h, n);
}

static uint64_t request_hash(const plan_request *r)
{
    const uint64_t h = mix_descs((uint64_t)r->kind, r->inputs, r->ninputs);
    return mix_descs(mix(h, (uint64_t)r->context << 1 | r->half_outputs), r->targets,
                     r->ntargets);
}

static plan *find_plan(const plan_set *set, const plan_request *r, uint64_t hash)
{
    for (plan *p = set->plans[hash % PLAN_LISTS]; p; p = p->next)
        if (p->hash == hash && p->request.kind == r->kind && p->request.ninputs == r->ninputs &&
            p->request.ntargets == r->ntargets && p->request.context == r->context &&
            p->request.half_outputs == r->half_outputs &&
            p->request.spends_outputs == r->spends_outputs &&
            same_descs(p->request.inputs, r->inputs, r->ninputs) &&
            same_descs(p->request.targets, r->targets, r->ntargets))
            return p;
    return NULL;
}

/* What a plan holds beside the arena. */
static uint64_t held_bytes(const plan *p)
{
    const loss_graph *h = &p->loss_graph;
    uint64_t sum = sizeof *p;
    for (uint32_t k = 0; k < p->request.ntargets; k++)
        sum += h->own_target[k] ? bytes_round(tutti_nbytes(&p->request.targets[k])) : 0;
    for (uint32_t k = 0; k < p->model_graph->noutputs; k++)
        sum += h->blend_dout[k] ? tutti_nbytes(model_graph_output_desc(p->model_graph, k)) : 0;
    sum += h->compiled.g ? graph_bytes(h->compiled.g) : 0;
    sum += h->compiled.program ? program_held_bytes(h->compiled.program) : 0;
    sum += h->compiled.arena ? program_bytes(h->compiled.program) : 0;
    return sum + (h->penalty ? penalty_bytes(h->penalty) : 0);
}

static uint64_t model_graph_bytes(const model_graph *b)
{
    uint64_t sum =
        sizeof *b + graph_bytes(b->compiled.g) + program_held_bytes(b->compiled.program);
    for (uint32_t k = 0; k < b->ninputs; k++)
        sum += b->own_input[k] ? bytes_round(tutti_nbytes(&b->input_desc[k])) : 0;
    for (uint32_t k = 0; k < b->noutputs; k++)
        sum += output_copy_bytes(b->copies[k]);
    return sum;
}

static uint64_t all_held_bytes(const plan_set *set)
{
    uint64_t sum = 0;
    for (const model_graph *b = set->model_graphs; b; b = b->next)
        sum += model_graph_bytes(b);
    for (uint32_t k = 0; k < PLAN_LISTS; k++)
        for (const plan *p = set->plans[k]; p; p = p->next)
            sum += held_bytes(p);
    return sum;
}

/* Evicts the least recently used model graphs, with their plans, until the rest fits the limit. */
static void drop_unused(const net *n, plan_set *set)
{
    const uint64_t limit = n->limits.plans ? n->limits.plans : PLAN_LIMIT;
    uint32_t count = 0;
    for (const model_graph *b = set->model_graphs; b; b = b->next)
        count++;
    for (; count > MODEL_GRAPHS_KEPT && all_held_bytes(set) > limit; count--) {
        model_graph **oldest = &set->model_graphs;
        for (model_graph **at = &set->model_graphs; *at; at = &(*at)->next)
            if ((*at)->used < (*oldest)->used)
                oldest = at;
        model_graph *b = *oldest;
        plan_set_drop_plans(set, b);
        *oldest = b->next;
        model_graph_destroy(b);
        set->counts.dropped++;
    }
}

net_plan_counts net_count_plans(const net *n)
{
    const plan_set *set = n->compiled.plans;
    net_plan_counts c = set ? set->counts : (net_plan_counts){0};
    c.bytes = set ? all_held_bytes(set) : 0;
    return c;
}

static uint64_t inputs_bytes(const plan_request *r)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < r->ninputs; k++)
        sum += bytes_round(tutti_nbytes(&r->inputs[k]));
    for (uint32_t k = 0; k < r->ntargets; k++)
        sum += bytes_round(tutti_nbytes(&r->targets[k]));
    return sum;
}

/* Memory that the loss graph needs beyond what the model graph leaves it. */
static uint64_t loss_extra_bytes(const model_graph *b, const loss_graph *h)
{
    const uint64_t bytes = h->compiled.program ? program_bytes(h->compiled.program) : 0;
    return bytes > b->cut_bytes ? bytes : 0;
}

static uint64_t needed_bytes(const model_graph *b, const loss_graph *h, const plan_request *r)
{
    return program_bytes(b->compiled.program) + loss_extra_bytes(b, h) + inputs_bytes(r) +
           sequence_bytes(b->sequence) + (h->penalty ? penalty_bytes(h->penalty) : 0);
}

/* `part`: of what is available. */
static tutti_status check_memory(const net *n, const model_graph *b, const loss_graph *h,
                                 const plan_request *r, double part, tutti_error *err)
{
    static const char *const kinds[] = {"training", "accumulating", "sample loss", "evaluation",
                                        "continuing"};
    const uint64_t need = needed_bytes(b, h, r);
    const uint64_t arena = n->compiled.plans->arena_bytes;
    uint64_t have = n->limits.memory;
    char shape[96], a[32], c[32];
    if (!have) {
        have = device_memory_available(n->options.device);
        have = have > UINT64_MAX - arena ? have : have + arena;
    }
    if ((double)need <= part * (double)have)
        return TUTTI_OK;
    return tutti_fail(
        err, TUTTI_E_NOMEM,
        "the %s plan for inputs of %s needs %s, %s are available%s%s; use a smaller %s",
        kinds[r->kind],
        r->ninputs ? tutti_desc_text(&r->inputs[0], shape, sizeof shape) : "none",
        bytes_text(need, a, sizeof a), bytes_text(have, c, sizeof c),
        n->options.device ? " on " : "", n->options.device ? n->options.device->info.name : "",
        r->kind == PLAN_CONTINUE ? "model"
        : r->kind == PLAN_EVAL   ? "batch_size"
                                 : "microbatch_size");
}

static tutti_status check_descs(const char *what, const tutti_desc *d, uint32_t n,
                                tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        if (tutti_desc_check(&d[k], 0, &cause))
            return tutti_fail(err, cause.status, "%s %u: %s", what, k, cause.text);
    }
    return TUTTI_OK;
}

static tutti_status check_request(const net *n, const plan_request *r, tutti_error *err)
{
    if (n->tree.nmodules < 2)
        return tutti_fail(err, TUTTI_E_STATE, "there is no model to plan for");
    if (n->tree.changed)
        return tutti_fail(err, TUTTI_E_STATE, "%s: the tree has changed since the last commit",
                          n->model.kind);
    if (r->kind < PLAN_TRAIN || r->kind > PLAN_CONTINUE || r->ninputs > TUTTI_MAX_COLUMNS ||
        r->ntargets > TUTTI_MAX_COLUMNS)
        return tutti_fail(err, TUTTI_E_ARG, "%s: this is no valid request for a plan",
                          n->model.kind);
    if (r->kind < PLAN_EVAL && !r->ntargets)
        return tutti_fail(err, TUTTI_E_ARG, "%s: a plan with a loss needs targets",
                          n->model.kind);
    if (n->model.table->noutputs > NET_MAX_OUTPUTS)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: %u outputs, at most %d are possible",
                          n->model.kind, n->model.table->noutputs, NET_MAX_OUTPUTS);
    const tutti_status s = check_descs("input", r->inputs, r->ninputs, err);
    return s ? s : check_descs("target", r->targets, r->ntargets, err);
}

/* How a plan is made: what it rematerializes, and the part of the memory that it may take. */
typedef struct plan_manner {
    int rematerialize; /* REMATERIALIZE_* */
    double part;
} plan_manner;

/* The loss's own memory, where the model's arena has none to spare. */
static tutti_status take_loss_arena(const net *n, const model_graph *b, loss_graph *h,
                                    tutti_error *err)
{
    if (!loss_extra_bytes(b, h))
        return TUTTI_OK;
    h->compiled.arena = device_alloc(n->options.device, program_bytes(h->compiled.program));
    return h->compiled.arena ? TUTTI_OK
                             : tutti_fail(err, TUTTI_E_NOMEM, "no memory for the loss");
}

/* Forward and backward pass, of a plan whose loss is there.  A backward pass that reads an output needs another loss. */
static tutti_status compile_model(net *n, plan *p, model_graph *b, const plan_manner *m,
                                  tutti_error *err)
{
    loss_graph *h = &p->loss_graph;
    bool differs = false;
    for (uint32_t k = 0; k < b->noutputs; k++)
        b->spent[k] = b->spends_outputs && loss_graph_spends(h, k);
    const uint64_t cut = h->compiled.program ? program_bytes(h->compiled.program) : 0;
    const tutti_status s = model_graph_compile(n, b, m->rematerialize, cut, err);
    for (uint32_t k = 0; k < b->noutputs && !s; k++) {
        const bool shares =
            b->spent[k] && program_is_shared(b->compiled.program, b->outputs[k], b->douts[k]);
        differs = differs || b->spent[k] != shares;
        b->spent[k] = shares;
    }
    if (s || !differs)
        return s;
    loss_graph_fini(h);
    return loss_graph_init(n, b, &p->request, h, err);
}

static tutti_status build_so(net *n, plan *p, const plan_manner *m, tutti_error *err)
{
    plan_set *set = n->compiled.plans;
    loss_graph *h = &p->loss_graph;
    model_graph *fresh = NULL;
    model_graph *b = find_model_graph(set, &p->request);
    tutti_status s = TUTTI_OK;
    if (!b) {
        s = model_graph_create(n, &p->request, &fresh, err);
        b = fresh;
    }
    if (!s)
        s = loss_graph_init(n, b, &p->request, h, err);
    if (!s && fresh)
        s = compile_model(n, p, b, m, err);
    if (!s)
        s = check_memory(n, b, h, &p->request, m->part, err);
    if (!s && fresh)
        s = plan_set_fit_arena(n, program_bytes(b->compiled.program), err);
    if (!s)
        s = take_loss_arena(n, b, h, err);
    if (s == TUTTI_E_NOMEM && m->part >= 1.0 && b && b->compiled.program &&
        n->options.lacks_memory)
        n->options.lacks_memory(n->options.services_ctx, b->compiled.program,
                                needed_bytes(b, h, &p->request), err);
    if (s) {
        loss_graph_fini(h);
        model_graph_destroy(fresh);
        return s;
    }
    if (fresh) {
        fresh->next = set->model_graphs;
        set->model_graphs = fresh;
    }
    p->model_graph = b;
    return TUTTI_OK;
}

/* Traces, compiles and finds memory for `p`, whose request is set.  A device with memory of its own, and enough of it,
 * rematerializes nothing that it may keep: there that saves no time, as it does where results leave a cache. */
static tutti_status build_plan(net *n, plan *p, tutti_error *err)
{
    const plan_manner frugal = {n->options.rematerialize, 1.0},
                      roomy = {REMATERIALIZE_OFF, 0.75};
    tutti_error why = TUTTI_ERROR_INIT;
    if (frugal.rematerialize != REMATERIALIZE_CHEAP || device_is_host(n->options.device))
        return build_so(n, p, &frugal, err);
    const tutti_status s = build_so(n, p, &roomy, &why);
    if (s == TUTTI_E_NOMEM)
        return build_so(n, p, &frugal, err);
    return s ? tutti_fail(err, s, "%s", why.text) : TUTTI_OK;
}

tutti_status net_plan(net *n, const plan_request *request, plan **ret_plan, tutti_error *err)
{
    tutti_status s = check_request(n, request, err);
    plan_set *set = s ? NULL : plan_set_get(n);
    if (!s && !set)
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
    if (s)
        return s;
    const uint64_t hash = request_hash(request);
    plan *p = find_plan(set, request, hash);
    const bool fresh = !p;
    if (fresh) {
        p = calloc(1, sizeof *p);
        if (!p)
            return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a plan");
        p->n = n;
        p->request = *request;
        p->hash = hash;
        s = build_plan(n, p, err);
        if (s) {
            free(p);
            return s;
        }
        p->next = set->plans[hash % PLAN_LISTS];
        set->plans[hash % PLAN_LISTS] = p;
        set->counts.plans++;
        set->counts.built++;
    }
    p->model_graph->used = ++set->clock;
    if (fresh)
        drop_unused(n, set);
    *ret_plan = p;
    return TUTTI_OK;
}

uint64_t plan_bytes(const plan *p)
{
    return needed_bytes(p->model_graph, &p->loss_graph, &p->request);
}
