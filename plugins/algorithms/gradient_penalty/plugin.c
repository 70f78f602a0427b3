/* plugin.c - gradient_penalty: half the squared length of the loss's gradient, added to the loss. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../algorithm.h"
#include "tutti/ops.h"
#include "tutti/penalty.h"

typedef struct penalty {
    double weight;
    int64_t of_weights;
} penalty;

static tutti_status gradient_penalty_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    (void)host;
    penalty *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "gradient_penalty: no memory");
    p->weight = tutti_param_f64(params, "weight");
    p->of_weights = strcmp(tutti_param_str(params, "of"), "weights") == 0;
    *ret_self = p;
    return TUTTI_OK;
}

static tutti_status gradient_penalty_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

/* All of it happens in the graph. */
static int32_t gradient_penalty_match(void *self, const tutti_event *event)
{
    (void)self, (void)event;
    return 0;
}

static tutti_status gradient_penalty_apply(void *self, const tutti_event *event,
                                           int64_t *ret_exit_code, tutti_error *err)
{
    (void)self, (void)event, (void)ret_exit_code, (void)err;
    return TUTTI_OK;
}

/* The loss is a mean over B samples, so a sample's own gradient is B times what comes here:
 * 1/B sum |B d|^2 = B sum d^2. */
static tutti_value gradient_penalty_term(void *self, tutti_graph *g,
                                         const tutti_penalty_input *in)
{
    const penalty *p = self;
    const tutti_value *d = p->of_weights ? in->dweights : in->dinputs;
    const uint32_t n = p->of_weights ? in->nweights : in->ninputs;
    tutti_value sum = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!d[k])
            continue;
        const tutti_desc *desc = g->desc(g, d[k]);
        const double rows = p->of_weights || desc->rank == 0 ? 1.0 : (double)desc->dim[0];
        const tutti_value square = tutti_reduce(g, "sum", tutti_mul(g, d[k], d[k]), NULL, 0, 0);
        const tutti_value one = tutti_affine(g, square, 0.5 * p->weight * rows, 0.0);
        sum = sum ? tutti_add(g, sum, one) : one;
    }
    if (!sum)
        (void)g->fail(g, TUTTI_E_UNSUPPORTED,
                      p->of_weights ? "gradient_penalty: no weight has a gradient"
                                    : "gradient_penalty: no input has a gradient");
    return sum;
}

static const tutti_penalty_v1 table = {.struct_size = sizeof table,
                                       .term = gradient_penalty_term};

static const void *gradient_penalty_query(void *self, const char *interface_id)
{
    (void)self;
    return strcmp(interface_id, TUTTI_PENALTY_V1) == 0 ? &table : NULL;
}

static const tutti_calls calls = {.struct_size = sizeof calls,
                                  .open = gradient_penalty_open,
                                  .match = gradient_penalty_match,
                                  .apply = gradient_penalty_apply,
                                  .close = gradient_penalty_close,
                                  .query = gradient_penalty_query};
static const tutti_object object =
    TUTTI_OBJECT_INIT("gradient_penalty", TUTTI_KIND_ALGORITHM, &calls);
static const tutti_object *const objects[] = {&object, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.gradient_penalty", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
