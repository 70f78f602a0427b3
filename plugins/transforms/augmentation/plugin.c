/* plugin.c - randaugment and augmix: pictures through random changes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "chain.h"

enum { LANES = 256 }; /* threads a picture on a GPU */

typedef struct augmentation {
    const char *name;
    const tutti_host *host;
    augmentation_draws draws;
    batch_kernel kernel;
    batch_memory scratch; /* a float and a byte for each value of a batch */
    int32_t mixes;
    int32_t reserved;
} augmentation;

static tutti_status open_as(const char *name, const tutti_host *host,
                            const tutti_params *params, void **ret_self, tutti_error *err)
{
    augmentation *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", name);
    a->name = name;
    a->host = host;
    a->mixes = strcmp(name, "augmix") == 0;
    a->draws = (augmentation_draws){tutti_param_f64(params, "severity"),
                                    a->mixes ? tutti_param_f64(params, "alpha") : 0.0,
                                    tutti_param_i64(params, "depth"),
                                    a->mixes ? tutti_param_i64(params, "width") : 1,
                                    (int32_t)tutti_param_i64(params, "augmentation_set"),
                                    0};
    a->kernel = batch_kernel_find(host, "augmentation");
    *ret_self = a;
    return TUTTI_OK;
}

static tutti_status augmentation_rand_open(const tutti_host *host, const tutti_params *params,
                                           void **ret_self, tutti_error *err)
{
    return open_as("randaugment", host, params, ret_self, err);
}

static tutti_status augmentation_mix_open(const tutti_host *host, const tutti_params *params,
                                          void **ret_self, tutti_error *err)
{
    return open_as("augmix", host, params, ret_self, err);
}

static tutti_status augmentation_close(void *self, tutti_error *err)
{
    augmentation *a = self;
    (void)err;
    batch_memory_give(&a->scratch);
    free(a);
    return TUTTI_OK;
}

static int is_picture(const tutti_desc *d)
{
    return d->rank == 3 && d->dtype == TUTTI_U8;
}

static tutti_status augmentation_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                       tutti_error *err)
{
    const augmentation *a = self;
    int32_t found = 0;
    for (uint32_t k = 0; k < ncolumns; k++) {
        const tutti_desc *d = &columns[k].desc;
        if (is_picture(d) && d->dim[2] != 1 && d->dim[2] != 3)
            return tutti_fail(err, TUTTI_E_SHAPE,
                              "%s: column %s has %lld channels, want 1 or 3", a->name,
                              columns[k].name, (long long)d->dim[2]);
        found |= is_picture(d);
    }
    if (!found)
        return tutti_fail(err, TUTTI_E_ARG,
                          "%s: there is no column of pictures U8 (H, W, C); it belongs before "
                          "normalize and to_float",
                          a->name);
    return refuse_maps(a->name, columns, ncolumns, err);
}

static int32_t augmentation_apply(void *self, const tutti_sample *sample, uint32_t k,
                                  const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const augmentation *a = self;
    const tutti_desc *d = &in->desc;
    (void)k;
    if (!is_picture(d))
        return 0;
    const size_t n = (size_t)tutti_numel(d);
    float *memory = malloc(n * (sizeof *memory + 1) + 1);
    if (!memory)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a picture", a->name);
    out->desc = *d;
    const picture y = {out->data, d->dim[0], d->dim[1], d->dim[2]};
    (a->mixes ? chain_mix : chain_rand)(&a->draws, sample_stream(sample, a->name), in->data, &y,
                                        (chain_memory){memory, (uint8_t *)(memory + n)});
    free(memory);
    return 1;
}

/* The manifest's kernel: pictures (h, w, c). */
TUTTI_EXPORT void augmentation_cpu(const uint8_t *x, uint8_t *y, float *scratch,
                                   const int64_t *index, uint64_t seed, uint64_t epoch,
                                   uint32_t purpose, double severity, double alpha,
                                   int64_t depth, int64_t width, int32_t set, int32_t mixes,
                                   int64_t h, int64_t w, int64_t c, int64_t images,
                                   int64_t threads);

void augmentation_cpu(const uint8_t *x, uint8_t *y, float *scratch, const int64_t *index,
                      uint64_t seed, uint64_t epoch, uint32_t purpose, double severity,
                      double alpha, int64_t depth, int64_t width, int32_t set, int32_t mixes,
                      int64_t h, int64_t w, int64_t c, int64_t images, int64_t threads)
{
    const augmentation_draws d = {severity, alpha, depth, width, set, 0};
    const int64_t n = h * w * c;
    const chain_memory memory = {scratch, (uint8_t *)(scratch + n)};
    (void)threads;
    for (int64_t k = 0; k < images; k++) {
        const picture to = {y + k * n, h, w, c};
        (mixes ? chain_mix
               : chain_rand)(&d, tutti_stream_at(seed, purpose, epoch, (uint64_t)index[k]),
                             x + k * n, &to, memory);
    }
}

static int32_t augmentation_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                        const tutti_tensor *in, tutti_tensor *out,
                                        tutti_error *err)
{
    augmentation *a = self;
    const tutti_desc *d = &in->desc;
    augmentation_draws *r = &a->draws;
    (void)k;
    if (d->rank != 4 || d->dtype != TUTTI_U8)
        return 0;
    tutti_samples s = *samples;
    uint32_t purpose = sample_purpose(a->name);
    int64_t images = d->dim[0], h = d->dim[1], w = d->dim[2], c = d->dim[3];
    int64_t threads = images * LANES;
    const void *x = in->data;
    const uint64_t bytes = (uint64_t)tutti_numel(d) * (sizeof(float) + 1);
    const tutti_status status =
        x ? batch_memory_take(&a->scratch, a->host, a->name, bytes, err) : TUTTI_OK;
    if (status)
        return status;
    void *const args[] = {&x,        &out->data, &a->scratch.data, &s.index,  &s.seed,
                          &s.epoch,  &purpose,   &r->severity,     &r->alpha, &r->depth,
                          &r->width, &r->set,    &a->mixes,        &h,        &w,
                          &c,        &images,    &threads};
    out->desc = *d;
    return batch_launch(&a->kernel, a->name, x, args, sizeof args / sizeof *args, err);
}

static const void *augmentation_query(void *self, const char *id)
{
    static const tutti_transform_v1 table = {.struct_size = sizeof table,
                                             .infer = augmentation_infer,
                                             .apply = augmentation_apply,
                                             .apply_batch = augmentation_apply_batch};
    (void)self;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls rand_calls = {.struct_size = sizeof rand_calls,
                                       .open = augmentation_rand_open,
                                       .close = augmentation_close,
                                       .query = augmentation_query};
static const tutti_calls mix_calls = {.struct_size = sizeof mix_calls,
                                      .open = augmentation_mix_open,
                                      .close = augmentation_close,
                                      .query = augmentation_query};
static const tutti_object randaugment =
    TUTTI_OBJECT_INIT("randaugment", TUTTI_KIND_TRANSFORM, &rand_calls);
static const tutti_object augmix =
    TUTTI_OBJECT_INIT("augmix", TUTTI_KIND_TRANSFORM, &mix_calls);
static const tutti_object *const objects[] = {&randaugment, &augmix, NULL};
static const tutti_plugin plugin =
    TUTTI_PLUGIN_INIT("org.tutti.augmentation", "1.0.0", objects);

TUTTI_EXPORT const tutti_plugin *tutti_plugin_v1(uint32_t host_abi)
{
    (void)host_abi;
    return &plugin;
}
