/* net.c - a net's life: its model, what is known of its weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"
#include "graph/net/net_internal.h"

#include <stdlib.h>
#include <string.h>

tutti_status net_create(const net_options *options, net **ret_net, tutti_error *err)
{
    const tutti_status s =
        options->device ? program_check_device(options->ops, options->device, err) : TUTTI_OK;
    if (s)
        return s;
    net *n = calloc(1, sizeof *n);
    if (n) {
        n->options = *options;
        packed_weights_init(n);
        if (n->options.threads < 1)
            n->options.threads = cpus_available();
        n->sources.make_layer = layer_source_open;
        n->sources.make_layer_ctx = n;
        n->tree.nmodules = 1;
        n->tree.modules = calloc(1, sizeof(module *));
        n->autotuner = autotuner_create(options->tune_file);
        n->options.tune_file = NULL; /* the caller's */
        n->captures = calloc(1, sizeof *n->captures);
        if (n->autotuner && options->reproducible)
            autotuner_reproduce(n->autotuner);
    }
    if (!n || !n->tree.modules || !n->autotuner || !n->captures) {
        net_destroy(n);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a model");
    }
    *ret_net = n;
    return TUTTI_OK;
}

void net_destroy(net *n)
{
    if (!n)
        return;
    if (n->compiled.plans)
        n->compiled.destroy(n);
    module_tree_destroy(n);
    for (uint32_t k = 0; k < n->tree.nweights; k++) {
        if (n->tree.weights[k]->owned)
            free(n->tree.weights[k]->data);
        free(n->tree.weights[k]->path);
        free(n->tree.weights[k]->via);
        free(n->tree.weights[k]);
    }
    free(n->tree.weights);
    free(n->tree.addresses);
    free(n->tree.order);
    free(n->tree.views);
    device_free(n->options.device, n->storage.trainable);
    device_free(n->options.device, n->storage.grads);
    device_free(n->options.device, n->storage.buffers);
    half_weights_destroy(n, n->storage.half);
    op_source_close(n);
    autotuner_destroy(n->autotuner);
    free(n->captures);
    free(n);
}

void net_drop_plans(net *n)
{
    if (n->compiled.plans)
        n->compiled.drop(n);
}

capture_log *net_captures(net *n)
{
    return n->captures;
}

const char *net_autotune_complaint(net *n)
{
    return autotuner_complaint(n->autotuner);
}

char *net_choices(const net *n)
{
    return autotuner_choices(n->autotuner);
}

void net_stop_autotune(net *n)
{
    autotuner_stop(n->autotuner);
}

uint32_t net_missing_choices(const net *n)
{
    return autotuner_missing(n->autotuner);
}

const char *net_cpu(const net *n)
{
    return autotuner_cpu(n->autotuner);
}

tutti_status net_fix_choices(net *n, const char *lines, int threads, tutti_error *err)
{
    net_drop_plans(n);
    n->options.threads = threads;
    return autotuner_fix(n->autotuner, lines, err);
}

tutti_status net_fix_choices_of(net *n, const char *path, tutti_error *err)
{
    return autotuner_fix_file(n->autotuner, path, err);
}

tutti_status net_keep_choices(net *n, const char *path, tutti_error *err)
{
    return autotuner_keep(n->autotuner, path, err);
}

tutti_status net_build_model(net *n, const model_impl *model, const tutti_column *columns,
                             uint32_t ncolumns, tutti_error *err)
{
    tutti_module root;
    if (n->tree.nmodules > 1)
        return tutti_fail(err, TUTTI_E_STATE, "%s: this net has a model already", model->kind);
    tutti_status s = module_tree_new(n, model->kind, &root, err);
    if (s)
        return s;
    n->model = *model;
    n->model.kind = net_module(n, root)->kind;
    net_module(n, root)->impl.params = model->params;
    n->tree.changed = true;
    n->ncolumns = ncolumns < TUTTI_MAX_COLUMNS ? ncolumns : TUTTI_MAX_COLUMNS;
    for (uint32_t k = 0; k < n->ncolumns; k++)
        n->columns[k] = columns[k];
    instance_call c = instance_enter_whole(model->instance, "build");
    s = model->table->build(model->self, root, columns, ncolumns, err);
    instance_leave(&c);
    return s ? tutti_fail(err, s, "%s: build failed without a reason", model->kind) : TUTTI_OK;
}

tutti_status net_build(net *n, instance *model, const tutti_column *columns, uint32_t ncolumns,
                       tutti_error *err)
{
    const char *kind = object_describe(instance_object(model))->name;
    const model_impl impl = {instance_query(model, TUTTI_MODEL_V1), instance_self(model),
                             instance_params(model), kind, model};
    if (!impl.table)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "%s: the plugin answers no %s", kind,
                          TUTTI_MODEL_V1);
    return net_build_model(n, &impl, columns, ncolumns, err);
}

const tutti_op *net_op(const net *n, const char *name)
{
    const tutti_op *const *op = n->options.ops;
    while (op && *op && strcmp((*op)->name, name) != 0)
        op++;
    return op ? *op : NULL;
}

const tutti_device *net_device(const net *n)
{
    return n->options.device;
}

uint64_t net_version(const net *n)
{
    return n->tree.version;
}

uint32_t net_weight_count(const net *n)
{
    return n->tree.norder;
}

const tutti_weight *net_weight(const net *n, uint32_t k)
{
    return k < n->tree.norder ? &n->tree.views[k] : NULL;
}

bool net_frozen(const net *n, uint32_t k)
{
    return k < n->tree.norder && n->tree.order[k]->parameter &&
           !(n->tree.order[k]->flags & TUTTI_WEIGHT_TRAINABLE);
}

void net_freeze(net *n, uint32_t k)
{
    if (k >= n->tree.norder || !(n->tree.order[k]->flags & TUTTI_WEIGHT_TRAINABLE))
        return;
    n->tree.order[k]->flags &= ~(uint32_t)TUTTI_WEIGHT_TRAINABLE;
    n->tree.changed = true;
}

bool net_is_changed(const net *n)
{
    return n->tree.changed;
}

void net_arena(net *n, float **ret_weights, float **ret_grads, int64_t *ret_count)
{
    *ret_weights = n->storage.trainable;
    *ret_grads = n->storage.grads;
    *ret_count = n->storage.count;
}

int64_t net_offset(const net *n, uint32_t k)
{
    return k < n->tree.norder ? n->tree.order[k]->offset : -1;
}

int64_t net_previous_offset(const net *n, uint32_t k)
{
    return k < n->tree.norder ? n->tree.order[k]->previous : -1;
}

void net_set_groups(net *n, net_group_fn group, const void *ctx)
{
    n->sources.group = group;
    n->sources.group_ctx = ctx;
}
