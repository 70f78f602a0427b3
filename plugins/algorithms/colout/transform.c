/* transform.c - colout_transform: drops random rows and columns of each image by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "colout.h"

#include "tutti/transform.h"

typedef struct colout_transform {
    double p_row;
    double p_col;
} colout_transform;

static tutti_status transform_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    (void)host;
    colout_transform *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "colout_transform: no memory");
    c->p_row = tutti_param_f64(params, "p_row");
    c->p_col = tutti_param_f64(params, "p_col");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status transform_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
    return TUTTI_OK;
}

static int is_image(const tutti_desc *d)
{
    return d->rank == 3 && (d->dtype == TUTTI_U8 || d->dtype == TUTTI_F32);
}

/* Makes an image's sides smaller; those that are not known yet (-1) stay so. */
static tutti_status colout_shrink(const colout_transform *c, tutti_desc *d, tutti_error *err)
{
    const double p[2] = {c->p_row, c->p_col};
    tutti_desc less = *d;
    for (int k = 0; k < 2; k++)
        if (d->dim[k] >= 0)
            less.dim[k] = kept_count(d->dim[k], p[k]);
    if (less.dim[0] == 0 || less.dim[1] == 0)
        return tutti_fail(
            err, TUTTI_E_RANGE,
            "colout_transform: p_row %g and p_col %g leave nothing of %lld x %lld "
            "pixels",
            c->p_row, c->p_col, (long long)d->dim[0], (long long)d->dim[1]);
    *d = less;
    return TUTTI_OK;
}

static tutti_status transform_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                    tutti_error *err)
{
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_status status =
            is_image(&columns[k].desc) ? colout_shrink(self, &columns[k].desc, err) : TUTTI_OK;
        if (status)
            return status;
    }
    return TUTTI_OK;
}

static int32_t transform_apply(void *self, const tutti_sample *sample, uint32_t k,
                               const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const colout_transform *c = self;
    kept rows = {NULL, 0, 0}, columns = {NULL, 0, 0};
    tutti_desc less = in->desc;
    (void)k;
    if (!is_image(&in->desc))
        return 0;
    tutti_status status = colout_shrink(c, &less, err);
    if (status)
        return status;
    tutti_stream r = tutti_stream_at(
        sample->seed, TUTTI_RNG_TRANSFORM ^ (uint32_t)tutti_hash("colout_transform"),
        sample->epoch, sample->index);
    status = kept_draw(&rows, &r, in->desc.dim[0], c->p_row, err);
    if (status == TUTTI_OK)
        status = kept_draw(&columns, &r, in->desc.dim[1], c->p_col, err);
    if (status == TUTTI_OK) {
        kept_copy(&rows, &columns, in->data, out->data,
                  (uint64_t)in->desc.dim[2] * tutti_dtype_size(in->desc.dtype));
        out->desc = less;
    }
    kept_fini(&rows);
    kept_fini(&columns);
    return status ? status : 1;
}

static const void *transform_query(void *self, const char *id)
{
    static const tutti_transform_v1 table = {
        .struct_size = sizeof table, .infer = transform_infer, .apply = transform_apply};
    (void)self;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls transform_calls = {.struct_size = sizeof transform_calls,
                                            .open = transform_open,
                                            .close = transform_close,
                                            .query = transform_query};
const tutti_object colout_transform_object =
    TUTTI_OBJECT_INIT("colout_transform", TUTTI_KIND_TRANSFORM, &transform_calls);
