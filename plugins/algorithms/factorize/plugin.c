/* plugin.c - factorize: replaces wide layers by two narrow ones, one after the other. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../surgery.h"

#include <math.h>

typedef struct factorize {
    const tutti_host *host;
    int32_t convs;
    int32_t linears;
    int64_t min_channels;
    int64_t min_features;
    double latent_channels;
    double latent_features;
} factorize;

static tutti_status factorize_open(const tutti_host *host, const tutti_params *params,
                                   void **ret_self, tutti_error *err)
{
    factorize *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "factorize: no memory");
    f->host = host;
    f->convs = tutti_param_i64(params, "factorize_convs") != 0;
    f->linears = tutti_param_i64(params, "factorize_linears") != 0;
    f->min_channels = tutti_param_i64(params, "min_channels");
    f->min_features = tutti_param_i64(params, "min_features");
    f->latent_channels = tutti_param_f64(params, "latent_channels");
    f->latent_features = tutti_param_f64(params, "latent_features");
    *ret_self = f;
    return TUTTI_OK;
}

/* The width between the two layers, or 0 where they would be no smaller than the one.  The largest
 * rank is ceil(a b / (a + b) - 1) for a inputs per output and b outputs. */
static int64_t rank_of(double latent, int64_t in, int64_t out, int64_t fan_in)
{
    const int64_t least = in < out ? in : out;
    const int64_t share = (int64_t)(latent * (double)least);
    const int64_t rank = latent >= 1.0 ? (int64_t)latent : share > 1 ? share : 1;
    const double a = (double)fan_in, b = (double)out;
    return (double)rank <= ceil(a * b / (a + b) - 1.0) ? rank : 0;
}

/* "0" and "1" in a sequential take the place of `m`. */
static tutti_status factorize_put(const tutti_module_v1 *s, tutti_module m, const char *kind,
                                  const tutti_attr *first, uint32_t nfirst,
                                  const tutti_attr *second, uint32_t nsecond, tutti_error *err)
{
    tutti_module pair, a, b;
    tutti_status status = s->create(s->ctx, "sequential", NULL, 0, &pair, err);
    if (status || (status = s->create(s->ctx, kind, first, nfirst, &a, err)) ||
        (status = s->create(s->ctx, kind, second, nsecond, &b, err)) ||
        (status = s->add(s->ctx, pair, "0", a, err)) ||
        (status = s->add(s->ctx, pair, "1", b, err)))
        return status;
    return s->replace(s->ctx, m, pair, err);
}

/* 1 when `m` was replaced, 0 when it stays, a negative status on error. */
static int32_t split_conv(const factorize *f, const tutti_module_v1 *s, tutti_module m,
                          tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, m);
    const int64_t in = tutti_param_i64(p, "in_channels"), k = tutti_param_i64(p, "kernel_size");
    const int64_t out = tutti_param_i64(p, "out_channels");
    const int64_t rank = rank_of(f->latent_channels, in, out, in * k * k);
    if (tutti_param_i64(p, "groups") != 1 || (in < out ? in : out) < f->min_channels || !rank)
        return 0;
    const tutti_attr first[7] = {tutti_attr_i("in_channels", in),
                                 tutti_attr_i("out_channels", rank),
                                 tutti_attr_i("kernel_size", k),
                                 tutti_attr_i("stride", tutti_param_i64(p, "stride")),
                                 tutti_attr_i("padding", tutti_param_i64(p, "padding")),
                                 tutti_attr_i("dilation", tutti_param_i64(p, "dilation")),
                                 tutti_attr_i("bias", 0)};
    const tutti_attr second[4] = {tutti_attr_i("in_channels", rank),
                                  tutti_attr_i("out_channels", out),
                                  tutti_attr_i("kernel_size", 1), tutti_attr_i("bias", 1)};
    const tutti_status status = factorize_put(s, m, "conv2d", first, 7, second, 4, err);
    return status ? status : 1;
}

static int32_t split_linear(const factorize *f, const tutti_module_v1 *s, tutti_module m,
                            tutti_error *err)
{
    const tutti_params *p = s->params(s->ctx, m);
    const int64_t in = tutti_param_i64(p, "in_features");
    const int64_t out = tutti_param_i64(p, "out_features");
    const int64_t rank = rank_of(f->latent_features, in, out, in);
    if ((in < out ? in : out) < f->min_features || !rank)
        return 0;
    const tutti_attr first[3] = {tutti_attr_i("in_features", in),
                                 tutti_attr_i("out_features", rank), tutti_attr_i("bias", 0)};
    const tutti_attr second[3] = {tutti_attr_i("in_features", rank),
                                  tutti_attr_i("out_features", out),
                                  tutti_attr_i("bias", tutti_param_i64(p, "bias"))};
    const tutti_status status = factorize_put(s, m, "linear", first, 3, second, 3, err);
    return status ? status : 1;
}

/* Splits all modules of one kind that are wide enough. */
static tutti_status split_all(const factorize *f, const char *kind, uint32_t *ret_count,
                              tutti_error *err)
{
    const int conv = strcmp(kind, "conv2d") == 0;
    surgery v = {NULL, NULL, 0, 0};
    const tutti_status status = surgery_find(f->host, "factorize", kind, NULL, &v, err);
    int32_t done = status;
    for (uint32_t k = 0; done >= 0 && k < v.count; k++) {
        done = conv ? split_conv(f, v.s, v.list[k], err) : split_linear(f, v.s, v.list[k], err);
        *ret_count += done > 0;
    }
    free(v.list);
    return done < 0 ? done : TUTTI_OK;
}

static tutti_status factorize_apply(void *self, const tutti_event *event,
                                    int64_t *ret_exit_code, tutti_error *err)
{
    const factorize *f = self;
    uint32_t convs = 0, linears = 0;
    (void)event, (void)ret_exit_code;
    tutti_status status = f->convs ? split_all(f, "conv2d", &convs, err) : TUTTI_OK;
    if (status == TUTTI_OK && f->linears)
        status = split_all(f, "linear", &linears, err);
    if (status)
        return status;
    if (f->convs)
        surgery_report(f->host, "factorize/num_conv2d_replacements", convs,
                       "factorize replaces no convolution: none is wide enough");
    if (f->linears)
        surgery_report(f->host, "factorize/num_linear_replacements", linears,
                       "factorize replaces no linear layer: none is wide enough");
    return TUTTI_OK;
}

ALGORITHM_PLUGIN("factorize", .open = factorize_open, .match = surgery_match,
                 .apply = factorize_apply, .close = surgery_close);
