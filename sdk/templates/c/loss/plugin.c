/* plugin.c - charbonnier: a loss that a run file names in the place of the model's own. */
#include "tutti/loss.h"
#include "tutti/ops.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct charbonnier {
    double epsilon;
} charbonnier;

static tutti_status charbonnier_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    (void)host;
    charbonnier *c = (charbonnier *)calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "charbonnier: no memory");
    c->epsilon = tutti_param_f64(params, "epsilon");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status charbonnier_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* sqrt((x - y)^2 + epsilon^2) of outputs x and targets y: their mean over the batch, or of each sample. */
static tutti_value charbonnier_loss(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    const charbonnier *c = (const charbonnier *)self;
    const tutti_desc x = *g->desc(g, in->outputs[0]), y = *g->desc(g, in->targets[0]);
    static const int64_t rest[] = {1, 2, 3, 4, 5};
    if (y.dtype != TUTTI_F32 || tutti_numel(&x) != tutti_numel(&y)) {
        (void)g->fail(g, TUTTI_E_SHAPE, "charbonnier wants a float for each output");
        return 0;
    }
    const tutti_value target = tutti_reshape(g, in->targets[0], x.dim, (uint32_t)x.rank);
    const tutti_value d = tutti_sub(g, in->outputs[0], target);
    const tutti_value each =
        tutti_op1(g, "sqrt", tutti_affine(g, tutti_mul(g, d, d), 1.0, c->epsilon * c->epsilon));
    if (in->reduction == TUTTI_REDUCTION_MEAN)
        return tutti_reduce(g, "mean", each, NULL, 0, 0);
    return x.rank < 2 ? each : tutti_reduce(g, "mean", each, rest, (uint32_t)x.rank - 1, 0);
}

static const tutti_loss_v1 table = {.struct_size = sizeof table, .loss = charbonnier_loss};

static const void *charbonnier_query(void *self, const char *interface_id)
{
    (void)self;
    return strcmp(interface_id, TUTTI_LOSS_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = charbonnier_open,
                                  .close = charbonnier_close,
                                  .query = charbonnier_query};
static const tutti_object object = TUTTI_OBJECT_INIT("charbonnier", TUTTI_KIND_LOSS, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.example.charbonnier", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
