/* plugin.c - softsign: an operation of a plugin, with its gradient, a layer of that name and a small model. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "classifier.h"
#include "model.h"
#include "softsign.h"
#include "tutti/layer.h"
#include "tutti/op.h"

#include <math.h>

/* What nvcc makes of softsign.cu; its data is NULL without nvcc. */
extern const tutti_cuda_image CUDA_IMAGE;

enum { THREADS = 256 };

/* ---- the operations ---- */

static tutti_status want_f32(const char *op, const tutti_op_call *c, tutti_desc *out,
                             tutti_error *err)
{
    char text[96];
    for (uint32_t k = 0; k < c->nin; k++)
        if (c->in[k].dtype != TUTTI_F32 || !tutti_same_shape(&c->in[k], &c->in[0]))
            return tutti_fail(err, TUTTI_E_ARG, "%s: operand %u is %s, want F32 of one shape",
                              op, k, tutti_desc_text(&c->in[k], text, sizeof text));
    out[0] = c->in[0];
    return TUTTI_OK;
}

static tutti_status softsign_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return want_f32("softsign", c, out, err);
}

static tutti_status grad_infer(const tutti_op_call *c, tutti_desc *out, tutti_error *err)
{
    return want_f32("softsign_grad", c, out, err);
}

static tutti_status softsign_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                                 tutti_value *dx)
{
    dx[0] = tutti_op2(g, "softsign_grad", dy[0], n->in[0]);
    return g->status(g);
}

static tutti_status softsign_reference(const tutti_op_call *c, const double *const *in,
                                       double *const *out)
{
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        out[0][k] = in[0][k] / (1.0 + fabs(in[0][k]));
    return TUTTI_OK;
}

static tutti_status grad_reference(const tutti_op_call *c, const double *const *in,
                                   double *const *out)
{
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        out[0][k] = in[0][k] / ((1.0 + fabs(in[1][k])) * (1.0 + fabs(in[1][k])));
    return TUTTI_OK;
}

static tutti_status softsign_run(void *state, const tutti_op_call *c, const void *const *in,
                                 void *const *out, void *scratch)
{
    const float *x = in[0];
    float *y = out[0];
    (void)state, (void)scratch;
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        y[k] = softsign(x[k]);
    return TUTTI_OK;
}

static tutti_status grad_run(void *state, const tutti_op_call *c, const void *const *in,
                             void *const *out, void *scratch)
{
    const float *dy = in[0], *x = in[1];
    float *dx = out[0];
    (void)state, (void)scratch;
    for (int64_t k = 0, n = tutti_numel(&c->in[0]); k < n; k++)
        dx[k] = softsign_grad(dy[k], x[k]);
    return TUTTI_OK;
}

static tutti_status find_function(const tutti_op_call *c, const char *entry, void **ret_state,
                                  tutti_error *err)
{
    static const uint32_t sizes[] = {8, 8, 8, 4, 4, 4, 8};
    const uint32_t pointers = c->nin + 1;
    uint32_t mine[7];
    for (uint32_t k = 0; k < 2 * pointers; k++)
        mine[k] = k < pointers ? sizes[0] : sizes[3];
    mine[2 * pointers] = sizes[6];
    for (uint32_t k = 0; k < c->nin + c->nout; k++) {
        const int32_t dtype = k < c->nin ? c->in[k].dtype : c->out[0].dtype;
        if (dtype != TUTTI_F32 && dtype != TUTTI_BF16)
            return tutti_fail(err, TUTTI_E_UNSUPPORTED, "softsign: want F32 or BF16 on a GPU");
    }
    return c->cuda->function(c->cuda->ctx, &CUDA_IMAGE, entry, mine, 2 * pointers + 1,
                             ret_state, err);
}

static tutti_status softsign_find(const tutti_op_call *c, void **ret_state,
                                  uint64_t *ret_scratch, tutti_error *err)
{
    (void)ret_scratch;
    return find_function(c, "softsign_cuda", ret_state, err);
}

static tutti_status grad_find(const tutti_op_call *c, void **ret_state, uint64_t *ret_scratch,
                              tutti_error *err)
{
    (void)ret_scratch;
    return find_function(c, "softsign_grad_cuda", ret_state, err);
}

static tutti_status launch(void *state, const tutti_op_call *c, const void *const *in,
                           void *const *out, void *scratch)
{
    int64_t n = tutti_numel(&c->in[0]);
    const void *places[3] = {in[0], c->nin > 1 ? in[1] : out[0], out[0]};
    int32_t low[3] = {c->in[0].dtype != TUTTI_F32,
                      (c->nin > 1 ? c->in[1] : c->out[0]).dtype != TUTTI_F32,
                      c->out[0].dtype != TUTTI_F32};
    void *args[7];
    const uint32_t pointers = c->nin + 1;
    (void)scratch;
    if (n == 0)
        return TUTTI_OK;
    for (uint32_t k = 0; k < pointers; k++) {
        args[k] = &places[k];
        args[pointers + k] = &low[k];
    }
    args[2 * pointers] = &n;
    const tutti_cuda_launch l = {.struct_size = sizeof l,
                                 .grid = {(uint32_t)((n + THREADS - 1) / THREADS), 1, 1},
                                 .block = {THREADS, 1, 1},
                                 .function = state,
                                 .args = args};
    return c->cuda->launch(c->cuda->ctx, &l);
}

/* `expression`: by it the operation runs in one launch with its neighbours on a GPU. */
#define SOFTSIGN_TRAITS(expression)                                                            \
    {                                                                                          \
        .struct_size = sizeof(tutti_op_traits), .precision = TUTTI_AUTOCAST_WIDEST,            \
        .batch = TUTTI_BATCH_WHOLE, .fold = TUTTI_FOLD_CONSTANTS,                              \
        .rematerialize = TUTTI_REMATERIALIZE_SAME, .work = TUTTI_WORK_UNCOUNTED,               \
        .pointwise = TUTTI_POINTWISE_CODE, .role = TUTTI_ROLE_OTHER,                           \
        .pointwise_cuda = (expression)                                                         \
    }

static const tutti_op_traits traits = SOFTSIGN_TRAITS("__device__ float softsign_f32(float x)\n"
                                                      "{\n"
                                                      "    return x / (1.0f + fabsf(x));\n"
                                                      "}");
static const tutti_op_traits grad_traits =
    SOFTSIGN_TRAITS("__device__ float softsign_grad_f32(float dy, float x)\n"
                    "{\n"
                    "    const float d = 1.0f + fabsf(x);\n"
                    "    return dy / (d * d);\n"
                    "}");
static const tutti_kernel cpu = {sizeof cpu, 1, NULL, softsign_run, NULL};
static const tutti_kernel cuda = {sizeof cuda, 1, softsign_find, launch, NULL};
static const tutti_kernel grad_cpu = {sizeof grad_cpu, 3, NULL, grad_run, NULL};
static const tutti_kernel grad_cuda = {sizeof grad_cuda, 3, grad_find, launch, NULL};
static const tutti_op op = {.struct_size = sizeof op,
                            .flags = TUTTI_OP_ELEMENTWISE,
                            .name = "softsign",
                            .nin_min = 1,
                            .nin_max = 1,
                            .nout = 1,
                            .infer = softsign_infer,
                            .vjp = softsign_vjp,
                            .reference = softsign_reference,
                            .cpu = &cpu,
                            .cuda = &cuda,
                            .traits = &traits};
static const tutti_op grad = {.struct_size = sizeof grad,
                              .flags = TUTTI_OP_ELEMENTWISE,
                              .name = "softsign_grad",
                              .nin_min = 2,
                              .nin_max = 2,
                              .nout = 1,
                              .infer = grad_infer,
                              .reference = grad_reference,
                              .cpu = &grad_cpu,
                              .cuda = &grad_cuda,
                              .traits = &grad_traits};

/* Neither operations nor the layer have a state. */
static tutti_status open_nothing(const tutti_host *host, const tutti_params *params,
                                 void **ret_self, tutti_error *err)
{
    (void)host, (void)params, (void)err;
    *ret_self = NULL;
    return TUTTI_OK;
}

static tutti_status close_nothing(void *self, tutti_error *err)
{
    (void)self, (void)err;
    return TUTTI_OK;
}

static const void *op_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_OP_V1) == 0 ? &op : NULL;
}

static const void *grad_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_OP_V1) == 0 ? &grad : NULL;
}

/* ---- the layer ---- */

static tutti_status nothing_to_build(void *self, tutti_module m, tutti_error *err)
{
    (void)self, (void)m, (void)err;
    return TUTTI_OK;
}

/* 2 softsign(x): two operations that run as one. */
static tutti_status layer_trace(void *self, tutti_graph *g, tutti_module m,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    (void)self, (void)m, (void)nin, (void)nout;
    out[0] = tutti_affine(g, tutti_op1(g, "softsign", in[0]), 2.0, 0.0);
    return g->status(g);
}

static const tutti_layer_v1 layer_table = {
    .struct_size = sizeof layer_table, .build = nothing_to_build, .trace = layer_trace};

static const void *layer_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_LAYER_V1) == 0 ? &layer_table : NULL;
}

/* ---- the model: linear, the layer, linear ---- */

static const tutti_module_v1 *modules;

static tutti_status model_open(const tutti_host *host, const tutti_params *params,
                               void **ret_self, tutti_error *err)
{
    (void)params, (void)err;
    modules = host->query(host->ctx, TUTTI_MODULE_V1);
    *ret_self = NULL;
    return TUTTI_OK;
}

static tutti_status model_build(void *self, tutti_module root, const tutti_column *columns,
                                uint32_t ncolumns, tutti_error *err)
{
    tutti_desc input = {{0}, 0, 0};
    classifier head = {.classes = 0};
    tutti_module body;
    (void)self;
    tutti_status s = classifier_columns("softsign_mlp", columns, ncolumns, &head, &input, err);
    if (!s)
        s = model_add(modules, root, "body", "sequential", NULL, 0, &body, err);
    if (!s)
        s = model_add(modules, body, "flatten", "flatten", NULL, 0, NULL, err);
    if (!s)
        s = model_linear(modules, body, "first", tutti_numel(&input), 32, err);
    if (!s)
        s = model_add(modules, body, "softsign", "softsign", NULL, 0, NULL, err);
    return s ? s : model_linear(modules, body, "head", 32, head.outputs, err);
}

static tutti_status model_trace(void *self, tutti_graph *g, tutti_module root,
                                const tutti_value *inputs, uint32_t ninputs,
                                tutti_value *outputs, uint32_t noutputs)
{
    (void)self, (void)ninputs, (void)noutputs;
    outputs[0] = model_call(modules, g, root, "body", inputs[0]);
    return g->status(g);
}

static const tutti_model_v1 model_table = {.struct_size = sizeof model_table,
                                           .noutputs = 1,
                                           .inputs = classifier_inputs,
                                           .targets = classifier_targets,
                                           .build = model_build,
                                           .trace = model_trace,
                                           .loss = model_cross_entropy};

static const void *model_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &model_table : NULL;
}

static const tutti_calls op_calls = {.struct_size = sizeof op_calls,
                                     .open = open_nothing,
                                     .close = close_nothing,
                                     .query = op_query};
static const tutti_calls grad_calls = {.struct_size = sizeof grad_calls,
                                       .open = open_nothing,
                                       .close = close_nothing,
                                       .query = grad_query};
static const tutti_calls layer_calls = {.struct_size = sizeof layer_calls,
                                        .open = open_nothing,
                                        .close = close_nothing,
                                        .query = layer_query};
static const tutti_calls model_calls = {.struct_size = sizeof model_calls,
                                        .open = model_open,
                                        .close = close_nothing,
                                        .query = model_query};
static const tutti_object op_object = TUTTI_OBJECT_INIT("softsign", TUTTI_KIND_OP, &op_calls);
static const tutti_object grad_object =
    TUTTI_OBJECT_INIT("softsign_grad", TUTTI_KIND_OP, &grad_calls);
static const tutti_object layer_object =
    TUTTI_OBJECT_INIT("softsign", TUTTI_KIND_LAYER, &layer_calls);
static const tutti_object model_object =
    TUTTI_OBJECT_INIT("softsign_mlp", TUTTI_KIND_MODEL, &model_calls);
static const tutti_object *const objects[] = {&op_object, &grad_object, &layer_object,
                                              &model_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.softsign", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
