/* plugin.c - cnn: convolution blocks with norms, then a linear head. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../classifier.h"
#include "../model.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BLOCKS = 12 };

typedef struct cnn {
    classifier head; /* first, for classifier_loss */
    const tutti_module_v1 *modules;
    char activation[16];
    double dropout;
    int64_t groups;  /* of the norms; 0: batch norm */
    int64_t columns; /* 1: outputs for each column */
    uint64_t nchannels;
    int64_t channels[MAX_BLOCKS];
} cnn;

static tutti_status cnn_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    cnn *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "cnn: no memory");
    const tutti_param *channels = tutti_param_find(params, "channels");
    m->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    m->nchannels = channels->count < MAX_BLOCKS ? channels->count : MAX_BLOCKS;
    for (uint64_t k = 0; k < m->nchannels; k++)
        m->channels[k] = channels->items[k]->i;
    const char *activation = tutti_param_str(params, "activation");
    (void)snprintf(m->activation, sizeof m->activation, "%s", activation ? activation : "relu");
    m->groups = tutti_param_i64(params, "norm_groups");
    m->columns = tutti_param_i64(params, "columns");
    m->dropout = tutti_param_f64(params, "dropout");
    m->head.classes = tutti_param_i64(params, "num_classes");
    *ret_self = m;
    return TUTTI_OK;
}

static tutti_status cnn_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static tutti_status add_norm(const cnn *m, tutti_module body, const char *name,
                             int64_t channels, tutti_error *err)
{
    const tutti_attr attr[2] = {tutti_attr_i("num_channels", channels),
                                tutti_attr_i("num_groups", m->groups)};
    return m->groups ? model_add(m->modules, body, name, "group_norm", attr, 2, NULL, err)
                     : model_norm(m->modules, body, name, channels, err);
}

/* body: conv0 norm0 act0 pool0 conv1 ... global pool [drop] head; with a class for each pixel no global pool, and
 * up behind the head */
static tutti_status add_block(const cnn *m, tutti_module body, uint64_t k, int64_t in,
                              tutti_error *err)
{
    static const char *const parts[] = {"conv", "norm", "act", "pool"};
    char name[4][24];
    tutti_status s;
    for (int j = 0; j < 4; j++)
        (void)snprintf(name[j], sizeof name[j], "%s%llu", parts[j], (unsigned long long)k);
    const tutti_attr two = tutti_attr_i("kernel_size", 2);
    if ((s = model_conv(m->modules, body, name[0], in, m->channels[k], 3, 1, err)) ||
        (s = add_norm(m, body, name[1], m->channels[k], err)) ||
        (s = model_add(m->modules, body, name[2], m->activation, NULL, 0, NULL, err)))
        return s;
    return k + 1 < m->nchannels
               ? model_add(m->modules, body, name[3], "max_pool2d", &two, 1, NULL, err)
               : TUTTI_OK;
}

static tutti_status cnn_build(void *self, tutti_module root, const tutti_column *columns,
                              uint32_t ncolumns, tutti_error *err)
{
    cnn *m = self;
    tutti_desc input = {{0}, 0, 0};
    char text[96];
    tutti_status s = classifier_columns("cnn", columns, ncolumns, &m->head, &input, err);
    if (s)
        return s;
    if (input.rank != 3 || input.dim[0] >> (m->nchannels - 1) < 1 ||
        input.dim[1] >> (m->nchannels - 1) < 1)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "cnn: samples are %s, want (H, W, C) large enough for %llu halvings",
                          tutti_desc_text(&input, text, sizeof text),
                          (unsigned long long)(m->nchannels - 1));
    tutti_module body;
    if ((s = model_add(m->modules, root, "body", "sequential", NULL, 0, &body, err)))
        return s;
    int64_t width = input.dim[2];
    for (uint64_t k = 0; k < m->nchannels; width = m->channels[k++])
        if ((s = add_block(m, body, k, width, err)))
            return s;
    const int64_t scale = (int64_t)1 << (m->nchannels - 1);
    const int is_map = m->head.axes > 1 && !m->columns;
    if (is_map && (s = model_fits_map("cnn", columns, ncolumns, scale, err)))
        return s;
    const tutti_attr p = tutti_attr_f("p", m->dropout);
    if ((!m->columns && !is_map &&
         (s = model_add(m->modules, body, "pool", "global_avg_pool", NULL, 0, NULL, err))) ||
        (m->dropout > 0 &&
         (s = model_add(m->modules, body, "drop", "dropout", &p, 1, NULL, err))))
        return s;
    if (m->columns) /* a column is all of its pixels */
        return model_linear(m->modules, root, "head",
                            width * (input.dim[0] >> (m->nchannels - 1)), m->head.outputs, err);
    if ((s = model_linear(m->modules, body, "head", width, m->head.outputs, err)))
        return s;
    return is_map && scale > 1 ? model_enlarge(m->modules, body, "up", scale, err) : TUTTI_OK;
}

/* (B, H, W, C) -> (B, W, N) */
static tutti_value cnn_columns(const cnn *m, tutti_graph *g, tutti_module root, tutti_value x)
{
    static const int64_t order[4] = {0, 2, 1, 3};
    const tutti_desc d = *g->desc(g, x);
    const int64_t rows[3] = {d.dim[0], d.dim[2], d.dim[1] * d.dim[3]};
    return model_call(m->modules, g, root, "head",
                      tutti_reshape(g, tutti_permute(g, x, order, 4), rows, 3));
}

static tutti_status cnn_trace(void *self, tutti_graph *g, tutti_module root,
                              const tutti_value *inputs, uint32_t ninputs, tutti_value *outputs,
                              uint32_t noutputs)
{
    const cnn *m = self;
    (void)ninputs, (void)noutputs;
    outputs[0] = model_call(m->modules, g, root, "body", inputs[0]);
    if (m->columns)
        outputs[0] = cnn_columns(m, g, root, outputs[0]);
    return g->status(g);
}

static const tutti_model_v1 table = {.struct_size = sizeof table,
                                     .noutputs = 1,
                                     .inputs = classifier_inputs,
                                     .targets = classifier_targets,
                                     .build = cnn_build,
                                     .trace = cnn_trace,
                                     .loss = classifier_loss};

static const void *cnn_query(void *self, const char *id)
{
    (void)self;
    return strcmp(id, TUTTI_MODEL_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {
    .struct_size = sizeof calls, .open = cnn_open, .close = cnn_close, .query = cnn_query};
static const tutti_object object = TUTTI_OBJECT_INIT("cnn", TUTTI_KIND_MODEL, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.cnn", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
