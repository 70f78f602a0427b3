/* plugin.c - randaugment and augmix: pictures through random changes. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../../common/beta.h"
#include "../transform_plugin.h"
#include "chain.h"

enum { MAX_WIDTH = 64 };

typedef struct augmentation {
    const char *name;
    double severity;
    int64_t depth;
    int64_t width; /* chains; augmix alone, as is: */
    double alpha;
    int32_t set;
    int32_t mixes;
} augmentation;

static tutti_status open_as(const char *name, const tutti_params *params, void **ret_self,
                            tutti_error *err)
{
    augmentation *a = calloc(1, sizeof *a);
    if (!a)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory", name);
    a->name = name;
    a->severity = tutti_param_f64(params, "severity");
    a->depth = tutti_param_i64(params, "depth");
    a->set = (int32_t)tutti_param_i64(params, "augmentation_set");
    a->mixes = strcmp(name, "augmix") == 0;
    a->width = a->mixes ? tutti_param_i64(params, "width") : 1;
    a->alpha = tutti_param_f64(params, "alpha");
    *ret_self = a;
    return TUTTI_OK;
}

static tutti_status rand_open(const tutti_host *host, const tutti_params *params,
                              void **ret_self, tutti_error *err)
{
    (void)host;
    return open_as("randaugment", params, ret_self, err);
}

static tutti_status mix_open(const tutti_host *host, const tutti_params *params,
                             void **ret_self, tutti_error *err)
{
    (void)host;
    return open_as("augmix", params, ret_self, err);
}

static tutti_status augmentation_close(void *self, tutti_error *err)
{
    (void)err;
    free(self);
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

/* Shares of the chains, Dirichlet(alpha, ..., alpha): gamma draws over their sum. */
static void draw_shares(const augmentation *a, tutti_stream *r, double *share)
{
    double largest = 0.0, sum = 0.0;
    for (int64_t k = 0; k < a->width; k++) {
        share[k] = log_gamma_draw(r, a->alpha);
        largest = k == 0 || share[k] > largest ? share[k] : largest;
    }
    for (int64_t k = 0; k < a->width; k++)
        sum += share[k] = exp(share[k] - largest);
    for (int64_t k = 0; k < a->width; k++)
        share[k] /= sum;
}

/* out = (1 - m) x + m sum share_k chain_k(x), m ~ Beta(alpha, alpha), rounded down. */
static void augmentation_mix(const augmentation *a, tutti_stream *r, const uint8_t *x,
                             const picture *chain, uint8_t *scratch, double *sum, uint8_t *out)
{
    double share[MAX_WIDTH];
    const int64_t n = chain->h * chain->w * chain->c;
    draw_shares(a, r, share);
    const double m = beta_symmetric(r, a->alpha);
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t k = 0; k < a->width; k++) {
        const int64_t depth = a->depth > 0 ? a->depth : 1 + (int64_t)tutti_stream_below(r, 3);
        memcpy(chain->pixels, x, (size_t)n);
        chain_apply(chain, r, a->set, a->severity, depth, scratch);
        for (int64_t i = 0; i < n; i++)
            sum[i] += share[k] * chain->pixels[i];
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = (uint8_t)((1.0 - m) * x[i] + m * sum[i]);
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
    double *memory = malloc(n * (sizeof *memory + 2) + 1); /* sums, a chain, its scratch */
    if (!memory)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for a picture", a->name);
    uint8_t *chain = (uint8_t *)(memory + n), *scratch = chain + n;
    tutti_stream r = sample_stream(sample, a->name);
    out->desc = *d;
    if (a->mixes) {
        const picture p = {chain, d->dim[0], d->dim[1], d->dim[2]};
        augmentation_mix(a, &r, in->data, &p, scratch, memory, out->data);
    } else {
        const picture p = {out->data, d->dim[0], d->dim[1], d->dim[2]};
        memcpy(out->data, in->data, n);
        chain_apply(&p, &r, a->set, a->severity, a->depth, scratch);
    }
    free(memory);
    return 1;
}

static const void *augmentation_query(void *self, const char *id)
{
    static const tutti_transform_v1 table = {
        .struct_size = sizeof table, .infer = augmentation_infer, .apply = augmentation_apply};
    (void)self;
    return strcmp(id, TUTTI_TRANSFORM_V1) == 0 ? &table : NULL;
}

static const tutti_calls rand_calls = {.struct_size = sizeof rand_calls,
                                       .open = rand_open,
                                       .close = augmentation_close,
                                       .query = augmentation_query};
static const tutti_calls mix_calls = {.struct_size = sizeof mix_calls,
                                      .open = mix_open,
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
