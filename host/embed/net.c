/* net.c - tutti_host/net.h: a registry, a model, an optimizer, and what supervised loops take. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti_host/net.h"
#include "base/cpus.h"
#include "device/net_model.h"
#include "embed/object.h"
#include "embed/plugins.h"
#include "embed/weights_file.h"
#include "graph/runtime/autotune_file.h"
#include "graph/surgery/surgery.h"
#include "op_table.h"
#include "tutti/log.h"
#include "tutti/model.h"

#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS = 16 };

struct tutti_net {
    registry *registry;
    net *net;
    instance *model;
    instance *optimizer; /* NULL: for evaluators alone */
    const tutti_model_v1 *model_table;
    const tutti_optimizer_v1 *optimizer_table;
    instance *metrics[METRICS];
    uint32_t nmetrics;
    uint32_t ncolumns;
    tutti_column columns[TUTTI_MAX_COLUMNS];
    net_model *calls;
    tutti_supervised_model supervised;
    tutti_log_v1 log;
    listener told;
};

/* What objects may ask for. */
static const void *service(void *ctx, instance *i, const char *id)
{
    tutti_net *n = ctx;
    if (strcmp(id, TUTTI_MODULE_V1) == 0)
        return n->net ? net_modules(n->net) : NULL;
    return strcmp(id, TUTTI_LOG_V1) == 0 ? &n->log : NULL;
}

static const tutti_column *column(const tutti_net *n, const char *name)
{
    for (uint32_t k = 0; k < n->ncolumns; k++)
        if (strcmp(n->columns[k].name, name) == 0)
            return &n->columns[k];
    return NULL;
}

/* Supervised steps know pairs. */
static tutti_status check_columns(const tutti_net *n, tutti_error *err)
{
    const tutti_model_v1 *m = n->model_table;
    if (!m->inputs[0] || m->inputs[1] || !m->targets[0] || m->targets[1])
        return tutti_fail(err, TUTTI_E_ARG,
                          "model %s takes several inputs or targets, want one of each",
                          instance_name(n->model));
    const char *const names[] = {m->inputs[0], m->targets[0]};
    for (int k = 0; k < 2; k++)
        if (!column(n, names[k]))
            return tutti_fail(err, TUTTI_E_ARG, "model %s wants a column \"%s\"",
                              instance_name(n->model), names[k]);
    return TUTTI_OK;
}

static tutti_status open_model(tutti_net *n, const tutti_net_options *o, tutti_error *err)
{
    static const int precisions[] = {[TUTTI_PRECISION_F32] = NET_FP32,
                                     [TUTTI_PRECISION_BF16] = NET_AMP_BF16,
                                     [TUTTI_PRECISION_F16] = NET_AMP_FP16};
    char path[PATH_MAX];
    const void *table = NULL;
    const int threads = o->threads > 0 ? o->threads : cpus_available();
    const net_options options = {.ops = tutti_op_table,
                                 .tune_file = choices_path(path, sizeof path),
                                 .layers = n->registry,
                                 .services = service,
                                 .services_ctx = n,
                                 .seed = o->seed,
                                 .threads = threads,
                                 .precision = precisions[o->precision],
                                 .device = o->device};
    omp_set_num_threads(threads);
    tutti_status s = net_create(&options, &n->net, err);
    if (!s)
        s = object_open_json(n->registry, TUTTI_KIND_MODEL, o->model, TUTTI_MODEL_V1, service,
                             n, &n->model, &table, err);
    n->model_table = table;
    if (!s)
        s = net_build(n->net, n->model, n->columns, n->ncolumns, err);
    if (!s) /* a model may know its inputs once it is built */
        s = check_columns(n, err);
    return s ? s : net_commit(n->net, err);
}

static tutti_status open_optimizer(tutti_net *n, const char *json, tutti_error *err)
{
    const void *table = NULL;
    if (!json)
        return TUTTI_OK;
    const tutti_status s =
        object_open_json(n->registry, TUTTI_KIND_OPTIMIZER, json, TUTTI_OPTIMIZER_V1, service,
                         n, &n->optimizer, &table, err);
    n->optimizer_table = table;
    return s;
}

static tutti_status open_all(tutti_net *n, const tutti_net_options *o, tutti_error *err)
{
    tutti_status s = tutti_op_table_check(err);
    s = s ? s : plugins_open(o->plugin_paths, &n->told, &n->registry, err);
    if (s || (s = open_model(n, o, err)) || (s = open_optimizer(n, o->optimizer, err)))
        return s;
    const net_model_options options = {.net = n->net,
                                       .optimizer = n->optimizer_table,
                                       .optimizer_self =
                                           n->optimizer ? instance_self(n->optimizer) : NULL,
                                       .target = column(n, n->model_table->targets[0])->desc,
                                       .seed = o->seed};
    s = net_model_create(&options, &n->calls, err);
    if (!s)
        n->supervised = net_model_calls(n->calls);
    return s;
}

static tutti_status check_options(const tutti_net_options *o, tutti_error *err)
{
    if (o->struct_size < sizeof *o)
        return tutti_fail(err, TUTTI_E_ARG,
                          "the options have %u bytes, want %zu: begin with TUTTI_NET_INIT",
                          o->struct_size, sizeof *o);
    if (!o->model)
        return tutti_fail(err, TUTTI_E_ARG, "the options name no model");
    if (o->precision < TUTTI_PRECISION_F32 || o->precision > TUTTI_PRECISION_F16)
        return tutti_fail(err, TUTTI_E_ARG, "precision %d, want one of TUTTI_PRECISION_*",
                          o->precision);
    if (o->ncolumns > TUTTI_MAX_COLUMNS)
        return tutti_fail(err, TUTTI_E_ARG, "%u columns, want at most %d", o->ncolumns,
                          TUTTI_MAX_COLUMNS);
    return TUTTI_OK;
}

tutti_status tutti_net_open(const tutti_net_options *options, tutti_net **ret_net,
                            tutti_error *err)
{
    tutti_status s = check_options(options, err);
    if (s)
        return s;
    tutti_net *n = calloc(1, sizeof *n);
    if (!n)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a net");
    n->told = (listener){options->report, options->report_ctx};
    n->log =
        (tutti_log_v1){.struct_size = sizeof n->log, .ctx = &n->told, .write = listener_report};
    n->ncolumns = options->ncolumns;
    if (n->ncolumns)
        memcpy(n->columns, options->columns, n->ncolumns * sizeof *n->columns);
    s = open_all(n, options, err);
    if (s)
        tutti_net_close(n);
    else
        *ret_net = n;
    return s;
}

void tutti_net_close(tutti_net *n)
{
    if (!n)
        return;
    for (uint32_t k = 0; k < n->nmetrics; k++)
        instance_free(n->metrics[k]);
    net_model_destroy(n->calls);
    instance_free(n->optimizer);
    net_destroy(n->net);
    instance_free(n->model);
    registry_destroy(n->registry);
    free(n);
}

const tutti_supervised_model *tutti_net_model(tutti_net *n)
{
    return &n->supervised;
}

tutti_status tutti_net_metric(tutti_net *n, const char *json,
                              tutti_supervised_metric *ret_metric, tutti_error *err)
{
    const void *table = NULL;
    if (n->nmetrics == METRICS)
        return tutti_fail(err, TUTTI_E_RANGE, "a net has at most %d metrics", METRICS);
    const tutti_status s =
        object_open_json(n->registry, TUTTI_KIND_METRIC, json, TUTTI_METRIC_V1, service, n,
                         &n->metrics[n->nmetrics], &table, err);
    if (s)
        return s;
    instance *i = n->metrics[n->nmetrics++];
    *ret_metric = (tutti_supervised_metric){instance_name(i), table, instance_self(i)};
    return TUTTI_OK;
}

double tutti_net_lr(const tutti_net *n)
{
    return net_model_lr(n->calls);
}

void tutti_net_set_lr(tutti_net *n, double lr)
{
    net_model_set_lr(n->calls, lr);
}

const tutti_weight *tutti_net_weight(const tutti_net *n, uint32_t k)
{
    if (k >= net_weight_count(n->net))
        return NULL;
    net_expose_weights(n->net); /* the program may write there at any time */
    return net_weight(n->net, k);
}

tutti_status tutti_net_save(const tutti_net *n, const char *path, tutti_error *err)
{
    return weights_file_write(n->net, path, err);
}

tutti_status tutti_net_load(tutti_net *n, const char *path, tutti_error *err)
{
    return weights_file_read(n->net, path, err);
}
