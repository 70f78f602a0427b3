/* plugin.c - lora: linear layers get a product of two narrow matrices, which alone is trained. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lora.h"

#include "tutti/world.h"

#include <fnmatch.h>

typedef struct lora {
    const tutti_host *host;
    const tutti_state_v1 *state;
    lora_settings settings;
    const tutti_param *target;
    const tutti_param *also;
    const char *adapter;      /* NULL: none */
    const char *save_adapter; /* likewise */
    int32_t merge;
    int32_t reserved;
} lora;

static tutti_status lora_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    if (tutti_param_i64(params, "merge") && tutti_param_is_set(params, "save_adapter"))
        return tutti_fail(err, TUTTI_E_ARG,
                          "lora: save_adapter wants adapters, of which merge leaves none");
    const tutti_module_v1 *modules = algorithm_service(host, "lora", TUTTI_MODULE_V1, err);
    const tutti_state_v1 *state = algorithm_service(host, "lora", TUTTI_STATE_V1, err);
    if (!modules || !state)
        return TUTTI_E_UNSUPPORTED;
    lora *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "lora: no memory");
    a->host = host;
    a->state = state;
    a->settings = (lora_settings){
        modules, tutti_param_i64(params, "rank"), tutti_param_f64(params, "alpha"),
        tutti_param_f64(params, "dropout"), tutti_param_str(params, "prefix")};
    a->target = tutti_param_find(params, "target");
    a->also = tutti_param_find(params, "also_train");
    a->adapter = tutti_param_str(params, "adapter");
    a->save_adapter = tutti_param_str(params, "save_adapter");
    a->merge = tutti_param_i64(params, "merge") != 0;
    *ret_self = a;
    return TUTTI_OK;
}

static int32_t lora_match(void *self, const tutti_event *event)
{
    const lora *a = self;
    switch (event->id) {
    case TUTTI_EVENT_INIT:
        return 1;
    case TUTTI_EVENT_AFTER_LOAD:
        return a->adapter != NULL || a->merge;
    case TUTTI_EVENT_FIT_END:
        return a->save_adapter != NULL;
    default:
        return 0;
    }
}

/* Whether a pattern of the list matches the path. */
static int32_t lora_matches(const tutti_param *patterns, const char *path)
{
    for (uint64_t k = 0; patterns && k < patterns->count; k++)
        if (fnmatch(patterns->items[k]->s, path, 0) == 0)
            return 1;
    return 0;
}

/* ---- surgery ---- */

static tutti_status lora_rebuild(const lora *a, tutti_module m, tutti_error *err)
{
    const lora_settings *o = &a->settings;
    const tutti_params *p = o->modules->params(o->modules->ctx, m);
    const tutti_attr attr[7] = {
        tutti_attr_i("in_features", tutti_param_i64(p, "in_features")),
        tutti_attr_i("out_features", tutti_param_i64(p, "out_features")),
        tutti_attr_i("bias", tutti_param_i64(p, "bias")),
        tutti_attr_i("transposed", tutti_param_i64(p, "transposed")),
        tutti_attr_i("rank", o->rank),
        tutti_attr_f("alpha", o->alpha),
        tutti_attr_f("dropout", o->dropout)};
    return surgery_rebuild(o->modules, m, "lora_linear", attr, 7, err);
}

/* All stop training but the pairs and what is to be trained beside them. */
static tutti_status lora_freeze(const lora *a, tutti_error *err)
{
    static const char *const pair[] = {"lora_A", "lora_B"};
    const tutti_module_v1 *s = a->settings.modules;
    const tutti_module root = s->root(s->ctx);
    tutti_status status = s->set_trainable(s->ctx, root, 0, err);
    for (tutti_module m = s->next(s->ctx, root); m && !status; m = s->next(s->ctx, m))
        if (lora_matches(a->also, s->path(s->ctx, m)))
            status = s->set_trainable(s->ctx, m, 1, err);
    for (tutti_module m = lora_next(s, root); m && !status; m = lora_next(s, m))
        for (int k = 0; k < 2 && !status; k++)
            status = s->set_trainable(s->ctx, s->child(s->ctx, m, pair[k]), 1, err);
    return status;
}

static tutti_status lora_operate(const lora *a, tutti_error *err)
{
    surgery v = {NULL, NULL, 0, 0};
    uint32_t count = 0;
    tutti_status status = surgery_find(a->host, "lora", "linear", NULL, &v, err);
    for (uint32_t k = 0; k < v.count && !status; k++)
        if (lora_matches(a->target, v.s->path(v.s->ctx, v.list[k]))) {
            status = lora_rebuild(a, v.list[k], err);
            count++;
        }
    free(v.list);
    if (!status && count)
        status = lora_freeze(a, err);
    if (!status)
        surgery_report(a->host, "lora/num_linear_replacements", count,
                       "lora changes nothing: no linear layer has a path that target matches");
    return status;
}

/* ---- merging ---- */

/* W (out, in), or (in, out) where it is transposed, += alpha / rank B (out, rank) A (rank, in). */
static tutti_status lora_add_product(const lora *a, tutti_module m, tutti_error *err)
{
    const tutti_module_v1 *s = a->settings.modules;
    tutti_tensor w, x, y;
    tutti_status status = s->weight_data(s->ctx, m, "weight", &w, err);
    if (!status)
        status = s->weight_data(s->ctx, s->child(s->ctx, m, "lora_A"), "weight", &x, err);
    if (!status)
        status = s->weight_data(s->ctx, s->child(s->ctx, m, "lora_B"), "weight", &y, err);
    if (status)
        return status;
    const int64_t rank = x.desc.dim[0], in = x.desc.dim[1], out = y.desc.dim[0];
    const int64_t transposed = tutti_param_i64(s->params(s->ctx, m), "transposed");
    const double scale = a->settings.alpha / (double)rank;
    const float *down = x.data, *up = y.data;
    float *weight = w.data;
    for (int64_t o = 0; o < out; o++)
        for (int64_t i = 0; i < in; i++) {
            double sum = 0.0;
            for (int64_t r = 0; r < rank; r++)
                sum += (double)up[o * rank + r] * (double)down[r * in + i];
            float *at = &weight[transposed ? i * out + o : o * in + i];
            *at = (float)((double)*at + scale * sum);
        }
    return TUTTI_OK;
}

/* A linear layer with the weights of `m` takes its place. */
static tutti_status lora_merge_one(const lora *a, tutti_module m, tutti_error *err)
{
    const tutti_module_v1 *s = a->settings.modules;
    const tutti_params *p = s->params(s->ctx, m);
    const int64_t bias = tutti_param_i64(p, "bias");
    const tutti_attr attr[4] = {
        tutti_attr_i("in_features", tutti_param_i64(p, "in_features")),
        tutti_attr_i("out_features", tutti_param_i64(p, "out_features")),
        tutti_attr_i("bias", bias),
        tutti_attr_i("transposed", tutti_param_i64(p, "transposed"))};
    tutti_module next;
    tutti_status status = lora_add_product(a, m, err);
    if (status || (status = s->create(s->ctx, "linear", attr, 4, &next, err)) ||
        (status = s->take_weight(s->ctx, next, "weight", m, "weight", err)) ||
        (bias && (status = s->take_weight(s->ctx, next, "bias", m, "bias", err))))
        return status;
    return s->replace(s->ctx, m, next, err);
}

static tutti_status lora_merge(const lora *a, tutti_error *err)
{
    const tutti_module_v1 *s = a->settings.modules;
    tutti_status status = TUTTI_OK;
    for (tutti_module m; !status && (m = lora_next(s, s->root(s->ctx)));)
        status = lora_merge_one(a, m, err);
    return status;
}

/* ---- events ---- */

/* A run that goes on from a checkpoint has its adapters from there. */
static tutti_status lora_loaded(const lora *a, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    if (a->adapter && a->state->time->batch == 0)
        status = lora_load(&a->settings, a->adapter, err);
    return !status && a->merge ? lora_merge(a, err) : status;
}

/* Of several processes the first writes. */
static tutti_status lora_end(const lora *a, tutti_error *err)
{
    const tutti_world_v1 *world = a->host->query(a->host->ctx, TUTTI_WORLD_V1);
    return !world || world->rank(world->ctx) == 0
               ? lora_save(&a->settings, a->save_adapter, err)
               : TUTTI_OK;
}

static tutti_status lora_apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                               tutti_error *err)
{
    const lora *a = self;
    (void)ret_exit_code;
    switch (event->id) {
    case TUTTI_EVENT_INIT:
        return lora_operate(a, err);
    case TUTTI_EVENT_AFTER_LOAD:
        return lora_loaded(a, err);
    default:
        return lora_end(a, err);
    }
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = lora_open,
                                  .match = lora_match,
                                  .apply = lora_apply,
                                  .close = surgery_close};
static const tutti_object object = TUTTI_OBJECT_INIT("lora", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, &lora_linear_object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.lora", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
