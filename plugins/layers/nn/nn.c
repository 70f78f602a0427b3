/* nn.c - what the standard layers share: opening, weights and their first values. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tutti_status nn_open(const tutti_host *host, const tutti_params *params, void **ret_self,
                     tutti_error *err)
{
    const tutti_param *init = tutti_param_find(params, "init");
    nn_layer *l = calloc(1, sizeof *l);
    if (!l)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a layer");
    l->modules = host->query(host->ctx, TUTTI_MODULE_V1);
    l->text = init ? init->s : NULL;
    l->std = tutti_param_f64(params, "std");
    if (!l->modules) {
        free(l);
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "layers need the host's " TUTTI_MODULE_V1);
    }
    *ret_self = l;
    return TUTTI_OK;
}

tutti_status nn_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

tutti_status nn_weight(const nn_layer *l, tutti_module m, const char *name, const int64_t *dim,
                       int32_t rank, const tutti_init *init, uint32_t flags, tutti_error *err)
{
    tutti_desc d = {{0}, rank, TUTTI_F32};
    memcpy(d.dim, dim, (size_t)rank * sizeof *dim);
    return l->modules->weight(l->modules->ctx, m, name, &d, init, flags, err);
}

tutti_init nn_init(const nn_layer *l, double fan_in, double fan_out)
{
    tutti_init init = {TUTTI_INIT_UNIFORM, 0, 0.0, 0.0, fan_in, NULL};
    if (l->text && strcmp(l->text, "kaiming_normal") == 0) {
        init.kind = TUTTI_INIT_KAIMING_NORMAL;
        init.a = sqrt(2.0);
        init.fan = fan_out;
        return init;
    }
    if (l->text && strcmp(l->text, "normal") == 0) {
        init.kind = TUTTI_INIT_NORMAL;
        init.b = l->std;
        return init;
    }
    init.b = 1.0 / sqrt(fan_in > 0 ? fan_in : 1.0);
    init.a = -init.b;
    return init;
}

tutti_init nn_constant(double value)
{
    const tutti_init init = {TUTTI_INIT_CONSTANT, 0, value, 0.0, 0.0, NULL};
    return init;
}
