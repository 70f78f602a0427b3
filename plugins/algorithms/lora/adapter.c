/* adapter.c - an adapter's two files, as PEFT writes and reads them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/json_memory.h"
#include "lora.h"
#include "safetensors.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include <jansson.h>

static const char config_file[] = "adapter_config.json",
                  weights_file[] = "adapter_model.safetensors";
static const char *const pair[] = {"lora_A", "lora_B"};

static tutti_status adapter_no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "lora: no memory for an adapter");
}

/* ---- writing ---- */

/* Paths of the layers, and whether their weights are transposed; NULL: out of memory. */
static json_t *adapter_targets(const lora_settings *o, int32_t *ret_transposed)
{
    const tutti_module_v1 *s = o->modules;
    json_t *list = json_array();
    *ret_transposed = 0;
    for (tutti_module m = lora_next(s, s->root(s->ctx)); m && list; m = lora_next(s, m)) {
        *ret_transposed |= tutti_param_i64(s->params(s->ctx, m), "transposed") != 0;
        if (json_array_append_new(list, json_string(s->path(s->ctx, m))) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static tutti_status save_config(const lora_settings *o, const char *path, tutti_error *err)
{
    char part[PATH_MAX];
    int32_t transposed;
    json_t *targets = adapter_targets(o, &transposed);
    json_t *all =
        targets
            ? json_pack("{ss, si, sf, sf, ss, sb, sb, sn, sn, so}", "peft_type", "LORA", "r",
                        (int)o->rank, "lora_alpha", o->alpha, "lora_dropout", o->dropout,
                        "bias", "none", "fan_in_fan_out", (int)transposed, "inference_mode", 1,
                        "base_model_name_or_path", "task_type", "target_modules", targets)
            : NULL;
    if (!all)
        return adapter_no_memory(err);
    (void)snprintf(part, sizeof part, "%.4000s.part", path);
    const int bad = json_dump_file(all, part, JSON_INDENT(2)) != 0 || rename(part, path) != 0;
    const int reason = errno;
    json_decref(all);
    if (!bad)
        return TUTTI_OK;
    (void)remove(part);
    return tutti_fail(err, TUTTI_E_IO, "lora: %s: %s", path, strerror(reason));
}

static void free_names(lora_tensor *list, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        free(list[k].name);
    free(list);
}

/* Adds the two matrices of layer `m`. */
static tutti_status list_pair(const lora_settings *o, tutti_module m, lora_tensor *list,
                              uint32_t *count, tutti_error *err)
{
    const tutti_module_v1 *s = o->modules;
    for (int k = 0; k < 2; k++) {
        char name[LORA_MOST_PATH + 320];
        tutti_tensor t;
        const tutti_status status =
            s->weight_data(s->ctx, s->child(s->ctx, m, pair[k]), "weight", &t, err);
        if (status)
            return status;
        (void)snprintf(name, sizeof name, "%s%s.%s.weight", o->prefix, s->path(s->ctx, m),
                       pair[k]);
        list[*count] = (lora_tensor){strdup(name), t.data, t.desc.dim[0], t.desc.dim[1]};
        if (!list[(*count)++].name)
            return adapter_no_memory(err);
    }
    return TUTTI_OK;
}

static tutti_status save_weights(const lora_settings *o, const char *path, tutti_error *err)
{
    const tutti_module_v1 *s = o->modules;
    uint32_t layers = 0, count = 0;
    for (tutti_module m = lora_next(s, s->root(s->ctx)); m; m = lora_next(s, m))
        layers++;
    lora_tensor *list = calloc((size_t)2 * layers + 1, sizeof *list);
    if (!list)
        return adapter_no_memory(err);
    tutti_status status = TUTTI_OK;
    for (tutti_module m = lora_next(s, s->root(s->ctx)); m && !status; m = lora_next(s, m))
        status = list_pair(o, m, list, &count, err);
    if (!status)
        status = safetensors_write(path, list, count, err);
    free_names(list, count);
    return status;
}

tutti_status lora_save(const lora_settings *o, const char *folder, tutti_error *err)
{
    char path[PATH_MAX];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return tutti_fail(err, TUTTI_E_IO, "lora: %s: %s", folder, strerror(errno));
    (void)snprintf(path, sizeof path, "%.3900s/%s", folder, weights_file);
    const tutti_status status = save_weights(o, path, err);
    if (status)
        return status;
    (void)snprintf(path, sizeof path, "%.3900s/%s", folder, config_file);
    return save_config(o, path, err);
}

/* ---- reading ---- */

/* What this algorithm does not compute. */
static const char *strange_setting(const json_t *all)
{
    static const char *const flags[] = {"use_rslora", "use_dora", "lora_bias"};
    for (int k = 0; k < 3; k++)
        if (json_is_true(json_object_get(all, flags[k])))
            return flags[k];
    return NULL;
}

static tutti_status check_config(const lora_settings *o, const char *path, tutti_error *err)
{
    json_error_t why;
    const unsigned long before = json_memory_watch();
    json_t *all = json_load_file(path, 0, &why);
    const tutti_status lacks = json_memory_told(before, &all, path, err);
    const char *type = json_string_value(json_object_get(all, "peft_type"));
    const json_int_t rank = json_integer_value(json_object_get(all, "r"));
    const double alpha = json_number_value(json_object_get(all, "lora_alpha"));
    const char *strange = strange_setting(all);
    tutti_status s = lacks;
    if (lacks)
        return lacks;
    if (!all)
        s = tutti_fail(err, TUTTI_E_FORMAT, "lora: %s: line %d: %s", path, why.line, why.text);
    else if (!type || strcmp(type, "LORA") != 0)
        s = tutti_fail(err, TUTTI_E_ARG, "lora: %s: peft_type is %s, want LORA", path,
                       type ? type : "missing");
    else if (strange)
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "lora: %s: has %s, which is not known here",
                       path, strange);
    else if (rank != o->rank || alpha != o->alpha)
        s = tutti_fail(err, TUTTI_E_ARG,
                       "lora: %s: has r %lld and lora_alpha %g, this run's rank is %lld and "
                       "alpha %g",
                       path, (long long)rank, alpha, (long long)o->rank, o->alpha);
    json_decref(all);
    return s;
}

/* Whether `name` is `path`.`part`.weight behind a dot, or behind nothing. */
static int is_weight_of(const char *name, const char *path, const char *part)
{
    char end[LORA_MOST_PATH + 32];
    (void)snprintf(end, sizeof end, "%s.%s.weight", path, part);
    const size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0 && (n == m || name[n - m - 1] == '.');
}

/* Writes one matrix of layer `m`; *used: the file's, from now on. */
static tutti_status take_matrix(const lora_settings *o, const char *path, tutti_module m,
                                const char *part, const safetensors *f, char *used,
                                tutti_error *err)
{
    const tutti_module_v1 *s = o->modules;
    const tutti_module child = s->child(s->ctx, m, part);
    const char *where = s->path(s->ctx, m);
    uint32_t k = 0;
    tutti_tensor to;
    while (k < f->count && !is_weight_of(f->tensors[k].name, where, part))
        k++;
    if (k == f->count)
        return tutti_fail(err, TUTTI_E_NOTFOUND, "lora: %s: has no %s of %s", path, part,
                          where);
    const lora_tensor *t = &f->tensors[k];
    const tutti_status status = s->weight_data(s->ctx, child, "weight", &to, err);
    if (status)
        return status;
    if (t->rows != to.desc.dim[0] || t->cols != to.desc.dim[1])
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "lora: %s: %s is (%lld, %lld), this model's is (%lld, %lld)", path,
                          t->name, (long long)t->rows, (long long)t->cols,
                          (long long)to.desc.dim[0], (long long)to.desc.dim[1]);
    used[k] = 1;
    return s->set_weight(s->ctx, child, "weight", t->data, tutti_nbytes(&to.desc), err);
}

static tutti_status take_all(const lora_settings *o, const char *path, const safetensors *f,
                             tutti_error *err)
{
    const tutti_module_v1 *s = o->modules;
    char *used = calloc((size_t)f->count + 1, 1);
    tutti_status status = used ? TUTTI_OK : adapter_no_memory(err);
    for (tutti_module m = lora_next(s, s->root(s->ctx)); m && !status; m = lora_next(s, m))
        for (int k = 0; k < 2 && !status; k++)
            status = take_matrix(o, path, m, pair[k], f, used, err);
    for (uint32_t k = 0; k < f->count && !status; k++)
        if (!used[k])
            status = tutti_fail(err, TUTTI_E_NOTFOUND,
                                "lora: %s: %s is of no layer that target matches", path,
                                f->tensors[k].name);
    free(used);
    return status;
}

tutti_status lora_load(const lora_settings *o, const char *folder, tutti_error *err)
{
    char path[PATH_MAX];
    safetensors f = {NULL, 0, NULL, 0, 0};
    (void)snprintf(path, sizeof path, "%.3900s/%s", folder, config_file);
    tutti_status status = check_config(o, path, err);
    if (status)
        return status;
    (void)snprintf(path, sizeof path, "%.3900s/%s", folder, weights_file);
    status = safetensors_open(path, &f, err);
    if (!status)
        status = take_all(o, path, &f, err);
    safetensors_close(&f);
    return status;
}
