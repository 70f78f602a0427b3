/* plugin.c - gated_linear_units: the perceptrons of a BERT become gated linear units. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"
#include "layer.h"

enum { MAX_SETTINGS = 8 };

typedef struct units {
    const tutti_host *host;
    const char *act; /* kind of the activation; NULL: as the perceptrons have it */
    int32_t gated_bias;
    int32_t other_bias;
} units;

static tutti_status gated_linear_units_open(const tutti_host *host, const tutti_params *params,
                                            void **ret_self, tutti_error *err)
{
    units *u = malloc(sizeof *u);
    if (!u)
        return tutti_fail(err, TUTTI_E_NOMEM, "gated_linear_units: no memory");
    *u = (units){host, tutti_param_str(params, "act_fn"),
                 tutti_param_i64(params, "gated_layer_bias") != 0,
                 tutti_param_i64(params, "non_gated_layer_bias") != 0};
    *ret_self = u;
    return TUTTI_OK;
}

/* A new module of `kind` below `m`. */
static tutti_status gated_linear_units_add(const tutti_module_v1 *s, tutti_module m,
                                           const char *name, const char *kind,
                                           const tutti_attr *attr, uint32_t nattr,
                                           tutti_error *err)
{
    tutti_module child;
    const tutti_status status = s->create(s->ctx, kind, attr, nattr, &child, err);
    return status ? status : s->add(s->ctx, m, name, child, err);
}

static tutti_status add_linear(const tutti_module_v1 *s, tutti_module m, const char *name,
                               int64_t in, int64_t out, int32_t bias, tutti_error *err)
{
    const tutti_attr attr[3] = {tutti_attr_i("in_features", in),
                                tutti_attr_i("out_features", out), tutti_attr_i("bias", bias)};
    return gated_linear_units_add(s, m, name, "linear", attr, 3, err);
}

/* A new module of the kind and settings of `like`, whatever surgery has made of it. */
static tutti_status add_like(const tutti_module_v1 *s, tutti_module m, const char *name,
                             tutti_module like, tutti_error *err)
{
    tutti_attr attr[MAX_SETTINGS];
    const uint32_t n = surgery_settings(s->params(s->ctx, like), attr, MAX_SETTINGS);
    return gated_linear_units_add(s, m, name, s->kind(s->ctx, like), attr, n, err);
}

/* The unit that takes the place of `output`, a bert_output behind the activation `act`. */
static tutti_status gated_linear_units_make(const units *u, const tutti_module_v1 *s,
                                            tutti_module output, tutti_module act,
                                            tutti_module *ret, tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, output);
    const int64_t width = tutti_param_i64(p, "hidden_size");
    const int64_t inner = tutti_param_i64(p, "intermediate_size");
    const tutti_module norm = s->child(s->ctx, output, "LayerNorm");
    const tutti_module dropout = s->child(s->ctx, output, "dropout");
    tutti_module m;
    tutti_status status;
    if ((status = s->create(s->ctx, "bert_gated_output", NULL, 0, &m, err)) ||
        (status = add_linear(s, m, "gated_layer", width, inner, u->gated_bias, err)) ||
        (status = add_linear(s, m, "non_gated_layer", width, inner, u->other_bias, err)) ||
        (status = add_linear(s, m, "wo", inner, width, 1, err)) ||
        (status = u->act ? gated_linear_units_add(s, m, "act", u->act, NULL, 0, err)
                         : add_like(s, m, "act", act, err)) ||
        (status = add_like(s, m, "layernorm", norm, err)) ||
        (dropout && (status = add_like(s, m, "dropout", dropout, err))))
        return status;
    *ret = m;
    return TUTTI_OK;
}

/* The first activation's kind stands for all when none is given. */
static tutti_status check_act(const units *u, const tutti_module_v1 *s, tutti_module layer,
                              tutti_module act, const char **first, tutti_error *err)
{
    if (u->act)
        return TUTTI_OK;
    if (!act)
        return tutti_fail(err, TUTTI_E_ARG,
                          "gated_linear_units: %s has no activation to take over; set act_fn",
                          s->path(s->ctx, layer));
    const char *kind = s->kind(s->ctx, act);
    if (*first && strcmp(kind, *first) != 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "gated_linear_units: activations are %s and %s; set act_fn", *first,
                          kind);
    *first = kind;
    return TUTTI_OK;
}

/* 1 when the perceptron of `layer` was replaced, 0 when it is a unit already, a negative status on
 * error. */
static int32_t replace_one(const units *u, const tutti_module_v1 *s, tutti_module layer,
                           const char **first, tutti_error *err)
{
    const tutti_module wide = s->child(s->ctx, layer, "intermediate");
    const tutti_module output = s->child(s->ctx, layer, "output");
    tutti_module unit, nothing;
    if (strcmp(s->kind(s->ctx, output), "bert_output") != 0)
        return 0;
    const tutti_module act = s->child(s->ctx, wide, "act");
    tutti_status status = check_act(u, s, layer, act, first, err);
    if (status || (status = gated_linear_units_make(u, s, output, act, &unit, err)) ||
        (status = s->create(s->ctx, "identity", NULL, 0, &nothing, err)) ||
        (status = s->replace(s->ctx, wide, nothing, err)) ||
        (status = s->replace(s->ctx, output, unit, err)))
        return status;
    return 1;
}

static tutti_status gated_linear_units_apply(void *self, const tutti_event *event,
                                             int64_t *ret_exit_code, tutti_error *err)
{
    const units *u = self;
    const char *first = NULL;
    surgery v = {NULL, NULL, 0, 0};
    uint32_t count = 0;
    (void)event, (void)ret_exit_code;
    int32_t done = surgery_find(u->host, "gated_linear_units", "bert_layer", NULL, &v, err);
    if (done == TUTTI_OK && v.count == 0)
        done = tutti_fail(err, TUTTI_E_ARG,
                          "gated_linear_units: the model is no bert: it has no bert_layer");
    for (uint32_t k = 0; done >= 0 && k < v.count; k++) {
        done = replace_one(u, v.s, v.list[k], &first, err);
        count += done > 0;
    }
    free(v.list);
    if (done < 0)
        return done;
    surgery_report(u->host, "GatedLinearUnits/num_new_modules", count,
                   "gated_linear_units has no effect: the model has them already");
    return TUTTI_OK;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = gated_linear_units_open,
                                  .match = surgery_match,
                                  .apply = gated_linear_units_apply,
                                  .close = surgery_close};
static const tutti_object object =
    TUTTI_OBJECT_INIT("gated_linear_units", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &bert_gated_output_object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.gated_linear_units", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
