/* cudnn.c - a libcudnn that keeps and checks descriptors: the entry points. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cudnn_standin.h"

#include <stdio.h>
#include <stdlib.h>

#define CDNN_DECLARE(member, name, args) EXPORT uint32_t name args;
CDNN_FUNCTIONS(CDNN_DECLARE)
#undef CDNN_DECLARE
EXPORT void cudnnGetLastErrorString(char *text, size_t size);
EXPORT size_t cudnnGetVersion(void);
EXPORT size_t cudnnGetCudartVersion(void);

static int handles;
static void *stream;
static char last_error[160] = "no error";

void cudnnGetLastErrorString(char *text, size_t size)
{
    (void)snprintf(text, size, "%s", last_error);
}

static uint32_t not_supported(const char *why)
{
    (void)snprintf(last_error, sizeof last_error, "%s", why);
    return NOT_SUPPORTED;
}

size_t cudnnGetVersion(void)
{
    return 91900;
}

/* TUTTI_CUDA_CUDNN: the CUDA that it says it is made for. */
size_t cudnnGetCudartVersion(void)
{
    const char *text = getenv("TUTTI_CUDA_CUDNN");
    return text ? strtoull(text, NULL, 10) : 13000;
}

uint32_t cudnnCreate(void **handle)
{
    if (!libraries_are_there())
        return NOT_INITIALIZED;
    handles++;
    *handle = &handles;
    return SUCCESS;
}

uint32_t cudnnDestroy(void *handle)
{
    (void)handle;
    handles--;
    return SUCCESS;
}

uint32_t cudnnSetStream(void *handle, void *value)
{
    (void)handle;
    stream = value;
    return SUCCESS;
}

uint32_t cudnnBackendCreateDescriptor(uint32_t type, void **ret)
{
    descriptor *d = calloc(1, sizeof *d);
    if (!d)
        return NOT_INITIALIZED;
    d->type = type;
    *ret = d;
    return SUCCESS;
}

uint32_t cudnnBackendDestroyDescriptor(void *self)
{
    descriptor *d = self;
    for (uint32_t k = 0; d && k < d->nattributes; k++)
        free(d->attributes[k].values);
    free(d);
    return SUCCESS;
}

static size_t size_of(uint32_t type)
{
    switch (type) {
    case CDNN_TYPE_INT64:
    case CDNN_TYPE_HANDLE:
    case CDNN_TYPE_VOID_PTR:
    case CDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    case CDNN_TYPE_BOOLEAN:
    case CDNN_TYPE_CHAR:
        return 1;
    default:
        return 4;
    }
}

uint32_t cudnnBackendSetAttribute(void *self, uint32_t name, uint32_t type, int64_t count,
                                  const void *values)
{
    descriptor *d = self;
    if (!d || d->finished || d->nattributes == ATTRIBUTES_MAX || count < 1)
        return misuse(BAD_PARAM, "cuDNN: attribute %u of a descriptor that is %s", name,
                      d && d->finished ? "finished" : "none");
    for (int64_t k = 0; type == CDNN_TYPE_BACKEND_DESCRIPTOR && k < count; k++)
        if (!((descriptor *const *)values)[k] || !((descriptor *const *)values)[k]->finished)
            return misuse(BAD_PARAM, "cuDNN: attribute %u is a descriptor that is not finished",
                          name);
    const size_t bytes = size_of(type) * (size_t)count;
    void *copy = malloc(bytes);
    if (!copy)
        return NOT_INITIALIZED;
    memcpy(copy, values, bytes);
    d->attributes[d->nattributes++] = (attribute){name, type, count, copy};
    return SUCCESS;
}

/* A plan is refused as by the real library where that is known. */
static uint32_t finish_plan(const descriptor *d)
{
    flat_graph g;
    const descriptor *config = attribute_desc(d, CDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const char *wrong =
        config && config->graph ? flatten(config->graph, &g) : "no configuration of a graph";
    if (wrong)
        return misuse(BAD_PARAM, "cuDNN: %s", wrong);
    for (uint32_t k = 0; k < g.nops; k++) {
        const flat_op *op = &g.ops[k];
        const flat_tensor *a = &g.tensors[op->operand[0]];
        const flat_tensor *b = op->operand[1] < 0 ? a : &g.tensors[op->operand[1]];
        const flat_tensor *y = &g.tensors[op->operand[3]];
        const bool conv =
            op->type == CDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
            op->type == CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
            op->type == CDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
        const bool sums = y->is_virtual && y->dtype == CDNN_DATA_FLOAT; /* they stay inside */
        if (conv && (a->dtype != b->dtype || (a->dtype != y->dtype && !sums)))
            return not_supported("a convolution between dtypes");
        if (op->type == CDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
            a->dtype == CDNN_DATA_FLOAT && !a->is_virtual)
            return not_supported("attention over F32");
    }
    return SUCCESS;
}

/* What was chosen by number may not be there: that is no misuse, files of choices are old. */
static uint32_t finish_choice(descriptor *d)
{
    if (d->type == CDNN_BACKEND_ENGINE_DESCRIPTOR) {
        const int64_t engine = attribute_int(d, CDNN_ATTR_ENGINE_GLOBAL_INDEX);
        if (engine < 0 || engine >= ENGINES)
            return not_supported("there is no such engine");
        d->engine = (uint32_t)engine;
        d->graph = attribute_desc(d, CDNN_ATTR_ENGINE_OPERATION_GRAPH);
    } else if (d->type == CDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR) {
        const int64_t tile = attribute_int(d, CDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
        if (attribute_enum(d, CDNN_ATTR_KNOB_CHOICE_KNOB_TYPE) != TILE_KNOB || tile < 0 ||
            tile >= TILES)
            return not_supported("there is no such knob");
        d->tile = (uint32_t)tile;
    } else if (d->type == CDNN_BACKEND_ENGINECFG_DESCRIPTOR) {
        const descriptor *engine = attribute_desc(d, CDNN_ATTR_ENGINECFG_ENGINE);
        const descriptor *knob = attribute_desc(d, CDNN_ATTR_ENGINECFG_KNOB_CHOICES);
        d->engine = engine->engine;
        d->graph = engine->graph;
        d->tile = knob ? knob->tile : QUITE_SLOW;
    }
    return SUCCESS;
}

uint32_t cudnnBackendFinalize(void *self)
{
    descriptor *d = self;
    const char *wrong = d->finished ? "finished twice" : finish_error(d);
    if (wrong)
        return misuse(BAD_PARAM, "cuDNN: a descriptor of type %u: %s", d->type, wrong);
    if (d->type == CDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        const uint32_t status = finish_plan(d);
        if (status)
            return status;
    }
    const uint32_t status = finish_choice(d);
    if (status)
        return status;
    d->finished = true;
    return SUCCESS;
}

/* Heuristic A proposes an engine whose results differ from run to run and one that rounds factors of
 * F32; the fallback list has the one that does neither.  All of them come with every tile. */
static uint32_t heuristics(const descriptor *d, int64_t wanted, int64_t *ret_count,
                           void *values)
{
    const bool a = attribute_enum(d, CDNN_ATTR_ENGINEHEUR_MODE) == CDNN_HEUR_MODE_A;
    const uint32_t first = a ? UNSTEADY : RIGHT, n = TILES * (a ? 2 : 1);
    *ret_count = n;
    for (uint32_t k = 0; k < n && (int64_t)k < wanted; k++) {
        descriptor *config = ((descriptor **)values)[k];
        config->graph = attribute_desc(d, CDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        config->engine = first + k / TILES;
        config->tile = k % TILES;
        config->finished = true;
    }
    return SUCCESS;
}

/* What an engine, its configuration or a knob's choice tells. */
static uint32_t tell(const descriptor *d, uint32_t name, uint32_t type, int64_t *ret_count,
                     void *values)
{
    *ret_count = 1;
    if (name == CDNN_ATTR_ENGINECFG_ENGINE && type == CDNN_TYPE_BACKEND_DESCRIPTOR) {
        descriptor *engine = *(descriptor **)values;
        engine->engine = d->engine;
        engine->finished = true;
    } else if (name == CDNN_ATTR_ENGINECFG_KNOB_CHOICES &&
               type == CDNN_TYPE_BACKEND_DESCRIPTOR) {
        descriptor *knob = *(descriptor **)values;
        knob->tile = d->tile;
        knob->finished = true;
    } else if (name == CDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CDNN_TYPE_INT64) {
        *(int64_t *)values = d->engine;
    } else if (name == CDNN_ATTR_KNOB_CHOICE_KNOB_TYPE && type == CDNN_TYPE_KNOB_TYPE) {
        *(int32_t *)values = TILE_KNOB;
    } else if (name == CDNN_ATTR_KNOB_CHOICE_KNOB_VALUE && type == CDNN_TYPE_INT64) {
        *(int64_t *)values = d->tile;
    } else if (name == CDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CDNN_TYPE_NUMERICAL_NOTE) {
        *ret_count = d->engine < RIGHT;
        ((int32_t *)values)[0] = d->engine == ROUNDING ? CDNN_NUMERICAL_NOTE_TENSOR_CORE
                                                       : CDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    } else {
        return misuse(BAD_PARAM, "cuDNN: nobody should ask for attribute %u as type %u", name,
                      type);
    }
    return SUCCESS;
}

uint32_t cudnnBackendGetAttribute(void *const self, uint32_t name, uint32_t type,
                                  int64_t wanted, int64_t *ret_count, void *values)
{
    const descriptor *d = self;
    if (!d->finished)
        return misuse(BAD_PARAM, "cuDNN: attribute %u is asked of an unfinished descriptor",
                      name);
    if (name == CDNN_ATTR_ENGINEHEUR_RESULTS && type == CDNN_TYPE_BACKEND_DESCRIPTOR)
        return heuristics(d, wanted, ret_count, values);
    if (name == CDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CDNN_TYPE_INT64) {
        *ret_count = 1;
        *(int64_t *)values = WORKSPACE;
        return SUCCESS;
    }
    return tell(d, name, type, ret_count, values);
}

/* ---- running ---- */

static uint64_t bytes_of(const flat_tensor *t)
{
    int64_t last = 0;
    for (int32_t k = 0; k < t->rank; k++)
        last += (t->dim[k] - 1) * t->stride[k];
    return (uint64_t)(last + 1) * number_size(number_kind(t->dtype));
}

/* Fills in where the tensors lie. */
static const char *place(flat_graph *g, const descriptor *pack)
{
    const attribute *uids = attribute_of(pack, CDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const attribute *data = attribute_of(pack, CDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const attribute *workspace = attribute_of(pack, CDNN_ATTR_VARIANT_PACK_WORKSPACE);
    if (!uids || !data || !workspace || uids->count != data->count)
        return "a variant pack without numbers, pointers or workspace";
    g->workspace = *(void **)workspace->values;
    if (!tutti_cuda_standin.is_device(g->workspace, WORKSPACE))
        return "too little workspace";
    for (uint32_t k = 0; k < g->ntensors; k++) {
        flat_tensor *t = &g->tensors[k];
        for (int64_t j = 0; j < uids->count; j++)
            if (((const int64_t *)uids->values)[j] == t->uid)
                t->data = ((void *const *)data->values)[j];
        if (t->by_value && t->data)
            t->value = *(const float *)t->data;
        if (!t->is_virtual && !t->data)
            return "a tensor that is not in the variant pack";
        if (!t->is_virtual && !t->by_value &&
            !tutti_cuda_standin.is_device(t->data, bytes_of(t)))
            return "a tensor that is not in the device's memory";
    }
    return NULL;
}

uint32_t cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    flat_graph g;
    static const uint32_t waits[TILES] = {[QUITE_SLOW] = SLOW_US, [SLOW] = 2 * SLOW_US};
    char what[96];
    const descriptor *config = attribute_desc(plan, CDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const char *wrong = handle == &handles ? flatten(config->graph, &g) : "an unknown handle";
    if (!wrong)
        wrong = place(&g, pack);
    if (wrong)
        return misuse(BAD_PARAM, "cuDNN: %s", wrong);
    g.engine = config->engine;
    g.wait_us = waits[config->tile];
    (void)snprintf(what, sizeof what, "cudnnBackendExecute %u operations of type %u%s by %u.%u",
                   g.nops, g.ops[0].type, g.ops[0].beta != 0.0f ? " added" : "", config->engine,
                   config->tile);
    const standin_call call = {flat_run, &g, sizeof g, what, NULL};
    return tutti_cuda_standin.enqueue(stream, &call) ? BAD_PARAM : SUCCESS;
}
