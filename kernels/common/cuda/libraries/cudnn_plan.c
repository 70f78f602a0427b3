/* cudnn_plan.c - plans that run graphs of cuDNN's: the first engine that serves, or the fastest. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/autotune.h"
#include "common/cuda/libraries/cudnn.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIGS_MAX = 32, MAX_CANDIDATES = 6, NAME_MOST = 512, KEY_MOST = 448 };
_Static_assert(MAX_CANDIDATES <= (int)CUDA_MAX_ALGORITHMS, "all of them can be measured");

/* A plan of the library's, by one engine and its settings. */
typedef struct candidate {
    void *plan;
    uint64_t workspace;
    char name[NAME_MOST]; /* empty: it cannot be told */
} candidate;

struct cdnn_plan {
    cdnn_graph graph; /* whose descriptors the plan refers to */
    candidate candidate;
    void *pack; /* NULL before the first run */
    void *last[CDNN_UIDS_MAX + 1];
};

/* A plan is made for the device of the handle, or for the described one. */
static void set_device(cdnn_graph *g, void *desc, uint32_t handle, uint32_t device)
{
    if (g->device && device)
        cdnn_set_desc(g, desc, device, g->device);
    else if (!g->device && handle)
        cdnn_set(g, desc, handle, CDNN_TYPE_HANDLE, 1, &g->lib->handle);
}

static void check(cdnn_graph *g, uint32_t status)
{
    if (!g->failed)
        g->failed = status;
}

/* ---- engines ---- */

/* 1 << note of every numerical note of an engine; all bits where it does not tell. */
static uint32_t notes_of(const cdnn *lib, void *engine)
{
    int32_t notes[CDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    uint32_t bits = 0;
    if (lib->desc_get(engine, CDNN_ATTR_ENGINE_NUMERICAL_NOTE, CDNN_TYPE_NUMERICAL_NOTE,
                      CDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes))
        return ~0u;
    for (int64_t k = 0; k < n && k < CDNN_NUMERICAL_NOTE_TYPE_COUNT; k++)
        bits |= 1u << notes[k];
    return bits;
}

/* Appends " type=value" of each of a configuration's knobs. */
static bool name_knobs(const cdnn *lib, void *config, char *text, size_t size)
{
    void *knobs[CDNN_KNOBS_MAX] = {NULL};
    int64_t n = 0, one = 0, value = 0;
    int32_t type = 0;
    bool good = true;
    for (int k = 0; k < CDNN_KNOBS_MAX && good; k++)
        good = !lib->desc_create(CDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, &knobs[k]);
    good = good && !lib->desc_get(config, CDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                  CDNN_TYPE_BACKEND_DESCRIPTOR, CDNN_KNOBS_MAX, &n, knobs);
    for (int64_t k = 0; k < n && good; k++) {
        const size_t used = strlen(text);
        good = k < CDNN_KNOBS_MAX &&
               !lib->desc_get(knobs[k], CDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CDNN_TYPE_KNOB_TYPE, 1,
                              &one, &type) &&
               !lib->desc_get(knobs[k], CDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CDNN_TYPE_INT64, 1,
                              &one, &value) &&
               snprintf(text + used, size - used, " %d=%lld", (int)type, (long long)value) <
                   (int)(size - used);
    }
    for (int k = 0; k < CDNN_KNOBS_MAX; k++)
        if (knobs[k])
            (void)lib->desc_destroy(knobs[k]);
    return good;
}

/* "12 2=1 7=3": the engine, then its knobs; empty where the library does not tell.  Gives the engine's
 * notes back. */
static uint32_t look_at(const cdnn *lib, void *config, char name[NAME_MOST])
{
    int64_t n = 0, index = 0;
    uint32_t notes = ~0u;
    void *engine = NULL;
    *name = 0;
    if (lib->desc_create(CDNN_BACKEND_ENGINE_DESCRIPTOR, &engine))
        return notes;
    if (!lib->desc_get(config, CDNN_ATTR_ENGINECFG_ENGINE, CDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                       &engine)) {
        notes = notes_of(lib, engine);
        if (!lib->desc_get(engine, CDNN_ATTR_ENGINE_GLOBAL_INDEX, CDNN_TYPE_INT64, 1, &n,
                           &index))
            (void)snprintf(name, NAME_MOST, "%lld", (long long)index);
        if (*name && !name_knobs(lib, config, name, NAME_MOST))
            *name = 0;
    }
    (void)lib->desc_destroy(engine);
    return notes;
}

static void *make_engine(cdnn_graph *g, void *graph, int64_t index)
{
    void *engine = cdnn_make(g, CDNN_BACKEND_ENGINE_DESCRIPTOR);
    cdnn_set_desc(g, engine, CDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    cdnn_set(g, engine, CDNN_ATTR_ENGINE_GLOBAL_INDEX, CDNN_TYPE_INT64, 1, &index);
    set_device(g, engine, 0, CDNN_ATTR_ENGINE_DEVICEPROP);
    return cdnn_finish(g, engine);
}

/* The configuration of that name; NULL: there is none, or the library refuses it. */
static void *make_config(cdnn_graph *g, void *graph, const char *name)
{
    void *knobs[CDNN_KNOBS_MAX];
    int64_t n = 0;
    char *at = NULL;
    void *engine = make_engine(g, graph, strtoll(name, &at, 10));
    bool good = at != name;
    while (good && *at && n < CDNN_KNOBS_MAX) {
        const char *from = at;
        const int32_t type = (int32_t)strtol(from, &at, 10);
        good = at != from && *at == '=';
        from = good ? at + 1 : from;
        const int64_t value = good ? strtoll(from, &at, 10) : 0;
        good = good && at != from && (*at == ' ' || !*at);
        void *knob = knobs[n++] = cdnn_make(g, CDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        cdnn_set_value(g, knob, CDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CDNN_TYPE_KNOB_TYPE, type);
        cdnn_set(g, knob, CDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CDNN_TYPE_INT64, 1, &value);
        (void)cdnn_finish(g, knob);
    }
    if (!good || *at)
        return NULL;
    void *config = cdnn_make(g, CDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cdnn_set_desc(g, config, CDNN_ATTR_ENGINECFG_ENGINE, engine);
    if (n)
        cdnn_set(g, config, CDNN_ATTR_ENGINECFG_KNOB_CHOICES, CDNN_TYPE_BACKEND_DESCRIPTOR, n,
                 knobs);
    (void)cdnn_finish(g, config);
    return g->failed ? NULL : config;
}

/* ---- making plans ---- */

/* What every plan of a graph has to be like. */
typedef struct search {
    cdnn_graph *g;
    void *graph; /* the operation graph */
    uint32_t refuse;
    uint64_t most; /* bytes of workspace */
} search;

/* False: the engine is refused, or does not finish. */
static bool finish_plan(const search *s, void *config, candidate *ret)
{
    cdnn_graph *g = s->g;
    const cdnn *lib = g->lib;
    int64_t n = 0, workspace = 0;
    if (look_at(lib, config, ret->name) & s->refuse ||
        lib->desc_create(CDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &ret->plan))
        return false;
    cdnn_set_desc(g, ret->plan, CDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    set_device(g, ret->plan, CDNN_ATTR_EXECUTION_PLAN_HANDLE,
               CDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    (void)cdnn_finish(g, ret->plan);
    if (!g->failed)
        check(g, lib->desc_get(ret->plan, CDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                               CDNN_TYPE_INT64, 1, &n, &workspace));
    if (!g->failed && workspace >= 0 && (uint64_t)workspace <= s->most) {
        ret->workspace = (uint64_t)workspace;
        return true;
    }
    g->failed = 0; /* another configuration may do */
    (void)lib->desc_destroy(ret->plan);
    ret->plan = NULL;
    return false;
}

/* The configurations that `mode` proposes for the graph, most promising first. */
static int64_t propose(const search *s, int32_t mode, void *configs[CONFIGS_MAX])
{
    cdnn_graph *g = s->g;
    const cdnn *lib = g->lib;
    int64_t n = 0, made = 0;
    void *heur = cdnn_make(g, CDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cdnn_set_desc(g, heur, CDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, s->graph);
    cdnn_set_value(g, heur, CDNN_ATTR_ENGINEHEUR_MODE, CDNN_TYPE_HEUR_MODE, mode);
    set_device(g, heur, 0, CDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    (void)cdnn_finish(g, heur);
    while (!g->failed && made < CONFIGS_MAX && g->nmade < CDNN_MADE_MAX)
        configs[made++] = cdnn_make(g, CDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (!g->failed)
        check(g, lib->desc_get(heur, CDNN_ATTR_ENGINEHEUR_RESULTS, CDNN_TYPE_BACKEND_DESCRIPTOR,
                               made, &n, configs));
    n = g->failed ? 0 : n < made ? n : made;
    return n;
}

/* Gives descriptors back that nothing refers to. */
static void drop_since(cdnn_graph *g, uint32_t before)
{
    g->failed = 0;
    while (g->nmade > before)
        (void)g->lib->desc_destroy(g->made[--g->nmade]);
}

/* The first `wanted` plans by `mode`; how many. */
static int try_mode(const search *s, int32_t mode, int wanted, candidate *ret)
{
    void *configs[CONFIGS_MAX];
    const uint32_t before = s->g->nmade;
    const int64_t n = propose(s, mode, configs);
    int found = 0;
    for (int64_t k = 0; k < n && found < wanted; k++)
        found += finish_plan(s, configs[k], &ret[found]);
    if (!found)
        drop_since(s->g, before);
    s->g->failed = 0;
    return found;
}

static int first_candidates(const search *s, int wanted, candidate *ret)
{
    const int n = try_mode(s, CDNN_HEUR_MODE_A, wanted, ret);
    return n ? n : try_mode(s, CDNN_HEUR_MODE_FALLBACK, wanted, ret);
}

/* False: it is none for this graph, or is refused now. */
static bool candidate_of_name(const search *s, const char *name, candidate *ret)
{
    const uint32_t before = s->g->nmade;
    void *config = make_config(s->g, s->graph, name);
    if (config && finish_plan(s, config, ret))
        return true;
    drop_since(s->g, before);
    return false;
}

/* ---- choosing ---- */

typedef struct tuning {
    cdnn_plan *p;
    const cdnn_trial *trial;
    const candidate *candidates;
} tuning;

static bool run_candidate(void *self, uint32_t k, void *const *buffers, void *stream)
{
    const tuning *c = self;
    c->p->candidate.plan = c->candidates[k].plan;
    return !cdnn_plan_run(c->p, stream, c->trial->n, c->trial->uids, buffers,
                          buffers[c->trial->n]);
}

/* The number of the fastest.  Errors: UNSUPPORTED nothing can be measured. */
static tutti_status fastest(cdnn_plan *p, const cdnn_trial *t, const candidate *candidates,
                            int n, uint32_t *ret_best)
{
    tuning self = {p, t, candidates};
    cuda_autotune c = {
        .algorithms = (uint32_t)n, .buffers = t->n + 1, .self = &self, .run = run_candidate};
    memcpy(c.bytes, t->bytes, t->n * sizeof *t->bytes);
    for (int k = 0; k < n; k++)
        if (candidates[k].workspace > c.bytes[t->n])
            c.bytes[t->n] = candidates[k].workspace;
    const tutti_status s = cuda_autotune_run(t->cuda, &c, ret_best);
    if (p->pack)
        (void)p->graph.lib->desc_destroy(p->pack); /* of memory that is gone */
    p->pack = NULL;
    p->candidate.plan = NULL;
    return s;
}

/* Takes the fastest of several candidates if that can be kept, else the library's first: a later run would have
 * to find the same.  What another process has kept meanwhile counts. */
static void take_fastest(cdnn_plan *p, const search *s, const cdnn_trial *t, const char *key,
                         candidate *candidates, int n)
{
    char text[NAME_MOST];
    uint32_t best = 0;
    candidate other = {.plan = NULL};
    const bool measured = !fastest(p, t, candidates, n, &best);
    memcpy(text, candidates[best].name, sizeof text);
    const bool kept =
        measured && *text && !t->cuda->keep(t->cuda->ctx, key, text, sizeof text, NULL);
    best = kept ? best : 0;
    for (int k = 0; k < n && kept; k++)
        if (strcmp(candidates[k].name, text) == 0)
            best = (uint32_t)k;
    if (kept && strcmp(candidates[best].name, text) != 0 &&
        candidate_of_name(s, text, &other)) {
        (void)s->g->lib->desc_destroy(candidates[best].plan);
        candidates[best] = other;
    }
    p->candidate = candidates[best];
    for (int k = 0; k < n; k++)
        if ((uint32_t)k != best)
            (void)s->g->lib->desc_destroy(candidates[k].plan);
}

/* False: no engine serves. */
static bool choose(cdnn_plan *p, const search *s, const cdnn_trial *t)
{
    char key[KEY_MOST], text[NAME_MOST];
    candidate candidates[MAX_CANDIDATES] = {{.plan = NULL}};
    tutti_status known = TUTTI_E_UNSUPPORTED;
    if (t && TUTTI_HAS(t->cuda, tutti_cuda_v1, keep) &&
        snprintf(key, sizeof key, "cuDNN %llu %s", (unsigned long long)s->g->lib->version,
                 t->key) < (int)sizeof key)
        known = t->cuda->recall(t->cuda->ctx, key, text, sizeof text);
    if (!known && candidate_of_name(s, text, &p->candidate))
        return true;
    const int n =
        first_candidates(s, known == TUTTI_E_NOTFOUND ? MAX_CANDIDATES : 1, candidates);
    if (n > 1)
        take_fastest(p, s, t, key, candidates, n);
    else
        p->candidate = candidates[0];
    return n > 0;
}

/* `name`, where it is not NULL, is the one that is wanted. */
static tutti_status make(cdnn_graph *g, uint32_t refuse, uint64_t workspace,
                         const cdnn_trial *trial, const char *name, cdnn_plan **ret_plan,
                         tutti_error *err)
{
    char text[128] = "";
    cdnn_plan *p = calloc(1, sizeof *p);
    if (!p) {
        cdnn_drop(g);
        return tutti_fail(err, TUTTI_E_NOMEM, "cuDNN: no memory for a plan");
    }
    p->graph = *g;
    g->nmade = 0;
    g = &p->graph;
    const search s = {g, cdnn_make(g, CDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), refuse,
                      workspace};
    cdnn_set(g, s.graph, CDNN_ATTR_OPERATIONGRAPH_OPS, CDNN_TYPE_BACKEND_DESCRIPTOR, g->nops,
             g->ops);
    set_device(g, s.graph, CDNN_ATTR_OPERATIONGRAPH_HANDLE, 0);
    (void)cdnn_finish(g, s.graph);
    const uint32_t failed = g->failed;
    if (!failed && (name ? candidate_of_name(&s, name, &p->candidate) : choose(p, &s, trial))) {
        *ret_plan = p;
        return TUTTI_OK;
    }
    g->lib->last_error(text, sizeof text);
    cdnn_plan_destroy(p);
    return tutti_fail(err, TUTTI_E_UNSUPPORTED, "cuDNN: no engine for the graph (%u): %s",
                      failed, text);
}

tutti_status cdnn_plan_make(cdnn_graph *g, uint32_t refuse, uint64_t workspace,
                            const cdnn_trial *trial, cdnn_plan **ret_plan, tutti_error *err)
{
    return make(g, refuse, workspace, trial, NULL, ret_plan, err);
}

tutti_status cdnn_plan_make_named(cdnn_graph *g, uint32_t refuse, uint64_t workspace,
                                  const char *name, cdnn_plan **ret_plan, tutti_error *err)
{
    return make(g, refuse, workspace, NULL, name, ret_plan, err);
}

const char *cdnn_plan_name(const cdnn_plan *p)
{
    return p->candidate.name;
}

uint64_t cdnn_plan_workspace(const cdnn_plan *p)
{
    return p->candidate.workspace;
}

/* ---- running ---- */

/* Where the tensors lie.  It is finished once, so that other places mean another pack. */
static uint32_t pack(cdnn_plan *p, uint32_t n, const int64_t *uids, void *const *data,
                     void *workspace)
{
    const cdnn *lib = p->graph.lib;
    if (p->pack && p->last[n] == workspace && !memcmp(p->last, data, n * sizeof *data))
        return 0;
    if (p->pack)
        (void)lib->desc_destroy(p->pack);
    p->pack = NULL;
    uint32_t s = lib->desc_create(CDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &p->pack);
    if (s)
        return s;
    s = lib->desc_set(p->pack, CDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CDNN_TYPE_INT64, n, uids);
    if (!s)
        s = lib->desc_set(p->pack, CDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CDNN_TYPE_VOID_PTR, n,
                          data);
    if (!s)
        s = lib->desc_set(p->pack, CDNN_ATTR_VARIANT_PACK_WORKSPACE, CDNN_TYPE_VOID_PTR, 1,
                          &workspace);
    if (!s)
        s = lib->desc_finish(p->pack);
    if (s) {
        (void)lib->desc_destroy(p->pack);
        p->pack = NULL;
        return s;
    }
    memcpy(p->last, data, n * sizeof *data);
    p->last[n] = workspace;
    return 0;
}

tutti_status cdnn_plan_run(cdnn_plan *p, void *stream, uint32_t n, const int64_t *uids,
                           void *const *data, void *workspace)
{
    const cdnn *lib = p->graph.lib;
    if (n > CDNN_UIDS_MAX || lib->set_stream(lib->handle, stream) ||
        pack(p, n, uids, data, workspace) ||
        lib->execute(lib->handle, p->candidate.plan, p->pack))
        return TUTTI_E_FAIL;
    return TUTTI_OK;
}

void cdnn_plan_destroy(cdnn_plan *p)
{
    if (!p)
        return;
    if (p->pack)
        (void)p->graph.lib->desc_destroy(p->pack);
    if (p->candidate.plan)
        (void)p->graph.lib->desc_destroy(p->candidate.plan);
    cdnn_drop(&p->graph);
    free(p);
}
