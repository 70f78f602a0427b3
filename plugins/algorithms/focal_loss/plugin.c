/* plugin.c - focal_loss: cross entropy that counts what the model is sure of less. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/class_loss.h"
#include "../algorithm.h"
#include "tutti/loss.h"

/* 1 - p is no smaller than half a step of f32 below 1, where (1 - p)^(gamma - 1) still is a number. */
#define LEAST 0x1p-25

typedef struct focal {
    double gamma;
} focal;

static tutti_status focal_loss_open(const tutti_host *host, const tutti_params *params,
                                    void **ret_self, tutti_error *err)
{
    (void)host;
    focal *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "focal_loss: no memory");
    f->gamma = tutti_param_f64(params, "gamma");
    *ret_self = f;
    return TUTTI_OK;
}

static tutti_status focal_loss_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* All of it happens in the graph. */
static int32_t focal_loss_match(void *self, const tutti_event *event)
{
    (void)self, (void)event;
    return 0;
}

static tutti_status focal_loss_apply(void *self, const tutti_event *event,
                                     int64_t *ret_exit_code, tutti_error *err)
{
    (void)self, (void)event, (void)ret_exit_code, (void)err;
    return TUTTI_OK;
}

/* (1 - p)^gamma loss for losses -log p. */
static tutti_value focal_loss_modulated(tutti_graph *g, tutti_value loss, double gamma)
{
    const tutti_attr least = tutti_attr_f("min", LEAST);
    const tutti_value p = tutti_op1(g, "exp", tutti_affine(g, loss, -1.0, 0.0));
    tutti_value rest = tutti_affine(g, p, -1.0, 1.0);
    rest = g->emit(g, "clamp", &rest, 1, &least, 1, NULL, 0);
    return tutti_mul(g, tutti_op2(g, "pow", rest, class_number(g, gamma)), loss);
}

/* Focal losses of rows (B, ...). */
static tutti_value focal_rows(tutti_graph *g, tutti_value logits, tutti_value target,
                              double gamma)
{
    const tutti_desc d = *g->desc(g, target);
    const int64_t last = d.rank - 1;
    if (d.dtype != TUTTI_F32)
        return focal_loss_modulated(g, tutti_softmax_cross_entropy(g, logits, target), gamma);
    const tutti_attr axis = tutti_attr_i("axis", -1);
    const tutti_value l = g->emit(g, "log_softmax", &logits, 1, &axis, 1, NULL, 0);
    const tutti_value each = focal_loss_modulated(g, tutti_affine(g, l, -1.0, 0.0), gamma);
    return tutti_reduce(g, "sum", tutti_mul(g, target, each), &last, 1, 0);
}

static tutti_value focal_loss_emit(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    const focal *f = self;
    if (in->noutputs < 1 || in->ntargets < 1) {
        (void)g->fail(g, TUTTI_E_UNSUPPORTED,
                      "focal_loss: the model has no output and target of classes");
        return 0;
    }
    if (f->gamma == 0.0)
        return in->below(in->ctx, g, in->outputs, in->noutputs, in->targets, in->ntargets,
                         in->reduction);
    const tutti_value rows = focal_rows(g, in->outputs[0], in->targets[0], f->gamma);
    return g->status(g) ? 0 : class_loss_mean(g, rows, in->targets[0], in->reduction);
}

static const tutti_loss_v1 table = {.struct_size = sizeof table, .loss = focal_loss_emit};

static const void *focal_loss_query(void *self, const char *interface_id)
{
    (void)self;
    return strcmp(interface_id, TUTTI_LOSS_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = focal_loss_open,
                                  .match = focal_loss_match,
                                  .apply = focal_loss_apply,
                                  .close = focal_loss_close,
                                  .query = focal_loss_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("focal_loss", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin = TUTTI_PLUGIN_INIT("org.tutti.focal_loss", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
