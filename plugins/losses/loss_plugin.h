/* loss_plugin.h - the shell of a loss plugin.  The including file defines LOSS_NAME, the object's name, first and
 * loss_emit after; before, it may define which settings the manifest has: LOSS_VALUE, LOSS_SECOND and
 * LOSS_THIRD (floats), LOSS_WHOLE (an int), LOSS_FLAG (a bool), LOSS_WEIGHTS and LOSS_FACTORS (lists of floats or null), LOSS_IGNORES (ignore_index).  All
 * have a reduction. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOSS_PLUGIN_H
#define LOSS_PLUGIN_H

#include "loss.h"

#include <stdlib.h>

/* The plugin's own: the loss for in->outputs[0] and in->targets[0], which are there; 0 after an error. */
static tutti_value loss_emit(const loss *l, tutti_graph *g, const tutti_loss_input *in);

static tutti_value loss_call(void *self, tutti_graph *g, const tutti_loss_input *in)
{
    if (in->noutputs < 1 || in->ntargets < 1) {
        (void)g->fail(g, TUTTI_E_UNSUPPORTED, "the model has no output or no target");
        return 0;
    }
    const tutti_value value = loss_emit(self, g, in);
    return g->status(g) ? 0 : value;
}

static tutti_status loss_close(void *self, tutti_error *err)
{
    loss *l = self;
    (void)err;
    if (l)
        free(l->weights), free(l->factors);
    free(l);
    return TUTTI_OK;
}

#ifdef LOSS_WEIGHTS
/* The numbers of a list, owned by the caller; NULL where there are none.  False when there is no memory. */
static int loss_read_list(const tutti_params *params, const char *name, float **ret_numbers,
                          int64_t *ret_n)
{
    const tutti_param *list = tutti_param_find(params, name);
    if (!list || list->type != TUTTI_PARAM_LIST || !list->count)
        return 1;
    float *numbers = calloc(list->count, sizeof *numbers);
    for (uint64_t k = 0; numbers && k < list->count; k++)
        numbers[k] = (float)list->items[k]->f;
    *ret_numbers = numbers;
    *ret_n = (int64_t)list->count;
    return numbers != NULL;
}

/* The weights, (nweights) F32. */
static inline tutti_value loss_weights(const loss *l, tutti_graph *g)
{
    const tutti_tensor t = {l->weights, {{l->nweights}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return g->constant(g, &t);
}
#endif

#ifdef LOSS_FACTORS
/* The factors, (nfactors) F32. */
static inline tutti_value loss_factors(const loss *l, tutti_graph *g)
{
    const tutti_tensor t = {l->factors, {{l->nfactors}, 1, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
    return g->constant(g, &t);
}
#endif

static tutti_status loss_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    (void)host;
    loss *l = calloc(1, sizeof *l);
    int whole = l != NULL;
    if (l) {
        l->reduction = (int32_t)tutti_param_i64(params, "reduction");
#ifdef LOSS_VALUE
        l->value = tutti_param_f64(params, LOSS_VALUE);
#endif
#ifdef LOSS_SECOND
        l->second = tutti_param_f64(params, LOSS_SECOND);
#endif
#ifdef LOSS_THIRD
        l->third = tutti_param_f64(params, LOSS_THIRD);
#endif
#ifdef LOSS_WHOLE
        l->whole = tutti_param_i64(params, LOSS_WHOLE);
#endif
#ifdef LOSS_FLAG
        l->flag = (int32_t)tutti_param_i64(params, LOSS_FLAG);
#endif
#ifdef LOSS_IGNORES
        l->ignored = tutti_param_find(params, "ignore_index")
                         ? tutti_param_i64(params, "ignore_index")
                         : -100;
#endif
#ifdef LOSS_WEIGHTS
        whole = loss_read_list(params, LOSS_WEIGHTS, &l->weights, &l->nweights);
#endif
#ifdef LOSS_FACTORS
        whole = whole && loss_read_list(params, LOSS_FACTORS, &l->factors, &l->nfactors);
#endif
    }
    if (!whole) {
        (void)loss_close(l, NULL);
        return tutti_fail(err, TUTTI_E_NOMEM, LOSS_NAME ": no memory");
    }
    *ret_self = l;
    return TUTTI_OK;
}

static const tutti_loss_v1 loss_table = {.struct_size = sizeof loss_table, .loss = loss_call};

static const void *loss_query(void *self, const char *interface_id)
{
    (void)self;
    return strcmp(interface_id, TUTTI_LOSS_V1) == 0 ? &loss_table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.loss." LOSS_NAME, "1.0.0", LOSS_NAME, TUTTI_KIND_LOSS,
                    .open = loss_open, .close = loss_close, .query = loss_query);

#endif
