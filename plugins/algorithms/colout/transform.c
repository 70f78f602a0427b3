/* transform.c - colout_transform: drops random rows and columns of each image by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../transforms/transform_plugin.h"
#include "colout.h"

enum { LANES = 256 }; /* threads an image on a GPU */

typedef struct colout_transform {
    const tutti_host *host;
    double p_row;
    double p_col;
    int64_t resize_target;
    batch_kernel kernel;
    batch_memory scratch; /* the draws of a batch */
} colout_transform;

static tutti_status colout_transform_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    colout_transform *c = calloc(1, sizeof *c);
    if (!c)
        return tutti_fail(err, TUTTI_E_NOMEM, "colout_transform: no memory");
    c->host = host;
    c->p_row = tutti_param_f64(params, "p_row");
    c->p_col = tutti_param_f64(params, "p_col");
    c->resize_target = tutti_param_i64(params, "resize_target");
    c->kernel = batch_kernel_find(host, "colout_samples");
    *ret_self = c;
    return TUTTI_OK;
}

static tutti_status colout_transform_close(void *self, tutti_error *err)
{
    colout_transform *c = self;
    (void)err;
    batch_memory_give(&c->scratch);
    free(c);
    return TUTTI_OK;
}

/* Whether d, which is no image, has something for each pixel of one; `at` is the dimension of their rows. */
static int has_its_pixels(const tutti_desc *d, const tutti_desc *image, int32_t at)
{
    return d->rank >= at + 2 &&
           memcmp(d->dim, image->dim, (size_t)(at + 2) * sizeof *d->dim) == 0;
}

/* Whether column d of `columns`, which are samples or batches, loses rows and columns. */
static int32_t is_resized(const colout_transform *c, const tutti_desc *d,
                          const tutti_tensor *columns, uint32_t ncolumns,
                          int (*is_picture)(const tutti_desc *d))
{
    const int32_t at = is_picture == is_image_batch;
    if (is_picture(d))
        return 1;
    for (uint32_t k = 0; k < ncolumns && c->resize_target != RESIZE_FALSE; k++)
        if (is_picture(&columns[k].desc) && has_its_pixels(d, &columns[k].desc, at))
            return 1;
    return 0;
}

/* Makes the sides of images, or of what has their pixels, smaller; those that are not known yet (-1) stay so. */
static tutti_status colout_shrink(const colout_transform *c, int64_t sides[2], tutti_error *err)
{
    const double p[2] = {c->p_row, c->p_col};
    int64_t less[2] = {sides[0], sides[1]};
    for (int k = 0; k < 2; k++)
        if (sides[k] >= 0)
            less[k] = kept_count(sides[k], p[k]);
    if (less[0] == 0 || less[1] == 0)
        return tutti_fail(
            err, TUTTI_E_RANGE,
            "colout_transform: p_row %g and p_col %g leave nothing of %lld x %lld "
            "pixels",
            c->p_row, c->p_col, (long long)sides[0], (long long)sides[1]);
    memcpy(sides, less, sizeof less);
    return TUTTI_OK;
}

static tutti_status colout_transform_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                           tutti_error *err)
{
    const colout_transform *c = self;
    tutti_tensor all[TUTTI_MAX_COLUMNS];
    int64_t targets = 0;
    tutti_status status = TUTTI_OK;
    for (uint32_t k = 0; k < ncolumns; k++)
        all[k].desc = columns[k].desc;
    for (uint32_t k = 0; k < ncolumns && !status; k++)
        if (is_resized(c, &all[k].desc, all, ncolumns, is_image)) {
            targets += !is_image(&all[k].desc);
            status = colout_shrink(c, columns[k].desc.dim, err);
        }
    if (!status && !targets && c->resize_target == RESIZE_TRUE)
        return tutti_fail(err, TUTTI_E_SHAPE,
                          "colout_transform: resize_target is true, want a column of the "
                          "images' height and width to resize");
    return status;
}

static int32_t colout_transform_apply(void *self, const tutti_sample *sample, uint32_t k,
                                      const tutti_tensor *in, tutti_tensor *out,
                                      tutti_error *err)
{
    const colout_transform *c = self;
    const tutti_desc *d = &in->desc;
    kept rows = {NULL, 0, 0}, columns = {NULL, 0, 0};
    tutti_desc less = *d;
    (void)k;
    if (!is_resized(c, d, sample->columns, sample->ncolumns, is_image))
        return 0;
    tutti_status status = colout_shrink(c, less.dim, err);
    if (status)
        return status;
    tutti_stream r = sample_stream(sample, "colout_transform");
    status = kept_draw(&rows, &r, d->dim[0], c->p_row, err);
    if (status == TUTTI_OK)
        status = kept_draw(&columns, &r, d->dim[1], c->p_col, err);
    if (status == TUTTI_OK) {
        kept_copy(&rows, &columns, in->data, out->data,
                  tutti_nbytes(d) / (uint64_t)(d->dim[0] * d->dim[1]));
        out->desc = less;
    }
    kept_fini(&rows);
    kept_fini(&columns);
    return status ? status : 1;
}

/* ---- batches on a device ---- */

/* The manifest's kernel. */
TUTTI_EXPORT void colout_samples_cpu(const uint8_t *x, uint8_t *y, uint32_t *scratch,
                                     const int64_t *index, uint64_t seed, uint64_t epoch,
                                     uint32_t purpose, int64_t height, int64_t width,
                                     int64_t high, int64_t wide, int64_t pixel, int64_t images,
                                     int64_t threads);

void colout_samples_cpu(const uint8_t *x, uint8_t *y, uint32_t *scratch, const int64_t *index,
                        uint64_t seed, uint64_t epoch, uint32_t purpose, int64_t height,
                        int64_t width, int64_t high, int64_t wide, int64_t pixel,
                        int64_t images, int64_t threads)
{
    (void)threads;
    for (int64_t k = 0; k < images; k++) {
        tutti_stream r = tutti_stream_at(seed, purpose, epoch, (uint64_t)index[k]);
        const kept rows = kept_among(&r, scratch, height, high);
        const kept columns = kept_among(&r, scratch + height, width, wide);
        kept_copy(&rows, &columns, (const char *)x + k * height * width * pixel,
                  (char *)y + k * high * wide * pixel, (uint64_t)pixel);
    }
}

static int32_t colout_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                  const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    colout_transform *c = self;
    const tutti_desc *d = &in->desc;
    (void)k;
    if (!is_resized(c, d, samples->columns, samples->ncolumns, is_image_batch))
        return 0;
    tutti_samples s = *samples;
    uint32_t purpose = sample_purpose("colout_transform");
    int64_t images = d->dim[0], height = d->dim[1], width = d->dim[2];
    int64_t pixel = (int64_t)tutti_nbytes(d) / (images * height * width);
    int64_t threads = images * LANES;
    const uint64_t bytes = (uint64_t)(images * (height + width)) * 2 * sizeof(uint32_t);
    const void *x = in->data;
    out->desc = *d;
    tutti_status status = colout_shrink(c, out->desc.dim + 1, err);
    if (!status && x)
        status = batch_memory_take(&c->scratch, c->host, "colout_transform", bytes, err);
    if (status)
        return status;
    int64_t high = out->desc.dim[1], wide = out->desc.dim[2];
    void *const args[] = {&x,       &out->data, &c->scratch.data, &s.index, &s.seed,
                          &s.epoch, &purpose,   &height,          &width,   &high,
                          &wide,    &pixel,     &images,          &threads};
    return batch_launch(&c->kernel, "colout_transform", x, args, sizeof args / sizeof *args,
                        err);
}

static const void *colout_transform_query(void *self, const char *id)
{
    static const tutti_transform_v1 table = {.struct_size = sizeof table,
                                             .infer = colout_transform_infer,
                                             .apply = colout_transform_apply,
                                             .apply_batch = colout_apply_batch};
    (void)self;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls transform_calls = {.struct_size = sizeof transform_calls,
                                            .open = colout_transform_open,
                                            .close = colout_transform_close,
                                            .query = colout_transform_query};
const tutti_object colout_transform_object =
    TUTTI_OBJECT_INIT("colout_transform", TUTTI_KIND_TRANSFORM, &transform_calls);
