/* plugin.c - norm_descent: an optimizer by members of 1.1: slots of a shape of their own, the norm of all gradients. */
/* SPDX-License-Identifier: Apache-2.0 */
#define TUTTI_USE_MINOR 1
#include "tutti/optimizer.h"
#include "tutti/tutti.h"

#include <stdlib.h>
#include <string.h>

typedef struct norm_descent {
    tutti_optimizer_v1 table; /* of this instance, because its learning rate is */
} norm_descent;

/* One number for each row, of (rows, columns...). */
static tutti_status norm_descent_slot_shape(void *self, const tutti_desc *desc, uint32_t slot,
                                            tutti_desc *shape, tutti_error *err)
{
    (void)self, (void)slot, (void)err;
    for (int32_t k = 1; k < desc->rank; k++)
        shape->dim[k] = 0;
    shape->rank = desc->rank > 1 ? 1 : desc->rank;
    return TUTTI_OK;
}

/* The mean of a row's steps goes on with a half of its momentum. */
static void norm_descent_update(void *self, const tutti_update *u)
{
    const int64_t rows = u->desc->rank > 0 ? u->desc->dim[0] : 1;
    const int64_t columns = rows ? u->n / rows : 0;
    const float scale = u->gradient_norm > 0.0 ? (float)(u->lr / u->gradient_norm) : 0.0F;
    (void)self;
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0.0F;
        for (int64_t k = r * columns; k < (r + 1) * columns; k++) {
            u->w[k] -= scale * u->g[k] + u->slot[0][r];
            sum += scale * u->g[k];
        }
        u->slot[0][r] = 0.5F * (u->slot[0][r] + sum / (float)columns);
    }
}

static tutti_status norm_descent_open(const tutti_host *host, const tutti_params *params,
                                      void **ret_self, tutti_error *err)
{
    static const char *const slots[] = {"row_momentum"};
    (void)host;
    norm_descent *d = calloc(1, sizeof *d);
    if (!d)
        return tutti_fail(err, TUTTI_E_NOMEM, "norm_descent: no memory");
    d->table = (tutti_optimizer_v1){.struct_size = (uint32_t)sizeof d->table,
                                    .nslots = 1,
                                    .slot_names = slots,
                                    .lr = tutti_param_f64(params, "lr"),
                                    .update = norm_descent_update,
                                    .by_weight = 1,
                                    .slot_shape = norm_descent_slot_shape,
                                    .reads_norm = 1};
    *ret_self = d;
    return TUTTI_OK;
}

static tutti_status norm_descent_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static const void *norm_descent_query(void *self, const char *interface_id)
{
    const norm_descent *d = self;
    return strcmp(interface_id, TUTTI_OPTIMIZER_V1) == 0 ? &d->table : NULL;
}

TUTTI_PLUGIN_OF_ONE("org.tutti.norm_descent", "1.0.0", "norm_descent", TUTTI_KIND_OPTIMIZER,
                    .open = norm_descent_open, .close = norm_descent_close,
                    .query = norm_descent_query);
