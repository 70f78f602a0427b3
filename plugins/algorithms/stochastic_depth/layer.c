/* layer.c - stochastic_block: a residual block whose main path some runs or samples go without. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "layer.h"

#include "../surgery.h"

#include "tutti/layer.h"
#include "tutti/ops.h"

#define BOTTLENECK                                                                             \
    "bottleneck_block", {{"conv1", "bn1"}, {"conv2", "bn2"}, {"conv3", "bn3"}},                \
        {"downsample", NULL}, 3, 1

const residual_form residual_forms[RESIDUAL_FORMS] = {
    {BOTTLENECK}, /* ResNetBottleneck, as upstream calls it */
    {BOTTLENECK},
    {"basic_block", {{"conv1", "bn1"}, {"conv2", "bn2"}}, {"downsample", NULL}, 2, 1},
    {"residual_block",
     {{"conv1", "norm1"}, {"conv2", "norm2"}},
     {"shortcut_conv", "shortcut_norm"},
     2,
     2},
};

typedef struct stochastic {
    const tutti_module_v1 *modules;
    const residual_form *form;
    int64_t method;
    double p;
} stochastic;

static tutti_status stochastic_depth_layer_open(const tutti_host *host,
                                                const tutti_params *params, void **ret_self,
                                                tutti_error *err)
{
    const tutti_module_v1 *modules =
        algorithm_service(host, "stochastic_block", TUTTI_MODULE_V1, err);
    if (!modules)
        return TUTTI_E_UNSUPPORTED;
    stochastic *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "stochastic_block: no memory");
    l->modules = modules;
    l->form = &residual_forms[tutti_param_i64(params, "form")];
    l->method = tutti_param_i64(params, "method");
    l->p = tutti_param_f64(params, "p");
    *ret_self = l;
    return TUTTI_OK;
}

/* Numbers that the algorithm writes: "keep", 0 where the block goes without its main path, and
 * "survive", the chance that it does not, by which evaluation weighs it. */
static tutti_status stochastic_depth_layer_build(void *self, tutti_module m, tutti_error *err)
{
    const stochastic *l = self;
    const tutti_module_v1 *s = l->modules;
    const tutti_desc number = {{0}, 0, TUTTI_F32};
    const tutti_init one = {TUTTI_INIT_CONSTANT, 0, 1.0, 0.0, 0.0, NULL};
    const tutti_init chance = {TUTTI_INIT_CONSTANT, 0, 1.0 - l->p, 0.0, 0.0, NULL};
    const tutti_status status = s->weight(s->ctx, m, "keep", &number, &one, 0, err);
    return status ? status : s->weight(s->ctx, m, "survive", &number, &chance, 0, err);
}

static tutti_value stochastic_depth_call(const tutti_module_v1 *s, tutti_graph *g,
                                         tutti_module m, const char *name, tutti_value x)
{
    tutti_value y = 0;
    return g->call(g, s->child(s->ctx, m, name), &x, 1, &y, 1) ? 0 : y;
}

static tutti_value main_path(const stochastic *l, tutti_graph *g, tutti_module block,
                             tutti_value x)
{
    const residual_form *f = l->form;
    for (int32_t k = 0; k < f->npairs; k++) {
        x = stochastic_depth_call(
            l->modules, g, block, f->pairs[k][1],
            stochastic_depth_call(l->modules, g, block, f->pairs[k][0], x));
        if (k + 1 < f->npairs)
            x = tutti_relu(g, x);
    }
    return x;
}

/* (B, 1, 1, 1): 1 with chance 1 - p for each sample, else 0. */
static tutti_value sample_mask(const stochastic *l, tutti_graph *g, tutti_module m,
                               int64_t batch)
{
    float *ones = malloc((size_t)batch * sizeof *ones + 1);
    if (!ones) {
        (void)g->fail(g, TUTTI_E_NOMEM, "stochastic_depth: no memory for a mask");
        return 0;
    }
    for (int64_t k = 0; k < batch; k++)
        ones[k] = 1.0f;
    const tutti_tensor t = {ones, {{batch, 1, 1, 1}, 4, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    const tutti_value all = g->constant(g, &t);
    free(ones);
    const tutti_attr drop[2] = {tutti_attr_f("p", l->p), tutti_attr_i("stream", (int64_t)m)};
    const tutti_attr range[2] = {tutti_attr_f("min", 0.0), tutti_attr_f("max", 1.0)};
    const tutti_value kept = g->emit(g, "dropout", &all, 1, drop, 2, NULL, 0);
    return g->emit(g, "clamp", &kept, 1, range, 2, NULL, 0); /* dropout scales what it keeps */
}

/* main, where it is kept: 0 or weighed otherwise. */
static tutti_value stochastic_depth_weighed(const stochastic *l, tutti_graph *g, tutti_module m,
                                            tutti_module block, tutti_value x)
{
    if (g->mode != TUTTI_MODE_TRAIN)
        return tutti_mul(g, main_path(l, g, block, x), g->weight(g, m, "survive"));
    if (l->method == METHOD_SAMPLE) {
        const tutti_value y = main_path(l, g, block, x);
        if (l->p == 0.0)
            return y;
        const int64_t batch = g->desc(g, x)->dim[0];
        return l->p < 1.0 ? tutti_mul(g, y, sample_mask(l, g, m, batch))
                          : tutti_affine(g, y, 0.0, 0.0);
    }
    const tutti_value before = g->guard(g, g->weight(g, m, "keep"));
    const tutti_value y = main_path(l, g, block, x);
    g->unguard(g, before);
    return y;
}

/* A shortcut without weights in the shape of y: every so many pixels, zeros in the new channels. */
static tutti_value stochastic_depth_fit(tutti_graph *g, tutti_value x, const tutti_desc *y,
                                        int64_t step)
{
    const tutti_desc d = *g->desc(g, x);
    const int64_t zero[4] = {0, 0, 0, 0}, stride[4] = {1, step, step, 1};
    const int64_t more = y->dim[3] - d.dim[3];
    const int64_t before[4] = {0, 0, 0, more / 2}, after[4] = {0, 0, 0, more - more / 2};
    const tutti_attr cut[3] = {tutti_attr_list("begin", zero, 4),
                               tutti_attr_list("end", d.dim, 4),
                               tutti_attr_list("stride", stride, 4)};
    const tutti_attr pad[2] = {tutti_attr_list("before", before, 4),
                               tutti_attr_list("after", after, 4)};
    if (d.dim[1] != y->dim[1] || d.dim[2] != y->dim[2])
        x = g->emit(g, "slice", &x, 1, cut, 3, NULL, 0);
    return more > 0 ? g->emit(g, "pad", &x, 1, pad, 2, NULL, 0) : x;
}

static tutti_status stochastic_depth_layer_trace(void *self, tutti_graph *g, tutti_module m,
                                                 const tutti_value *in, uint32_t nin,
                                                 tutti_value *out, uint32_t nout)
{
    const stochastic *l = self;
    const tutti_module_v1 *s = l->modules;
    const tutti_module block = s->child(s->ctx, m, "block");
    tutti_value shortcut = in[0];
    (void)nin, (void)nout;
    if (!TUTTI_HAS(g, tutti_graph, unguard))
        return g->fail(g, TUTTI_E_UNSUPPORTED,
                       "stochastic_depth: this host's graphs have no guards");
    const tutti_value y = stochastic_depth_weighed(l, g, m, block, in[0]);
    for (int32_t k = 0; k < l->form->nshortcut; k++)
        if (s->child(s->ctx, block, l->form->shortcut[k]))
            shortcut = stochastic_depth_call(s, g, block, l->form->shortcut[k], shortcut);
    const tutti_desc d = *g->desc(g, y);
    shortcut = stochastic_depth_fit(g, shortcut, &d,
                                    tutti_param_i64(s->params(s->ctx, block), "stride"));
    out[0] = tutti_relu(g, tutti_add(g, y, shortcut));
    return g->status(g);
}

SURGERY_LAYER(stochastic_block, stochastic_depth_layer_open, stochastic_depth_layer_build,
              stochastic_depth_layer_trace, surgery_close);
