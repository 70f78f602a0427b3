/* plugin.c - mask_tokens: tokens hidden at random, and what was there as the target. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"
#include "mask.h"

enum { SPECIAL_MAX = 64, KERNEL_SPECIAL = 4 };

typedef struct masker {
    mask_rule rule; /* its tokens are known after infer */
    batch_kernel kernel;
    int64_t special[SPECIAL_MAX];
    uint32_t nspecial;
    uint32_t input, target; /* columns; known after infer */
    int32_t has_mask_token;
} masker;

static int is_tokens(const tutti_desc *d)
{
    return d->rank == 1 && (d->dtype == TUTTI_I32 || d->dtype == TUTTI_I64);
}

static tutti_status mask_tokens_find(const tutti_column *columns, uint32_t n, const char *name,
                                     uint32_t *ret, tutti_error *err)
{
    for (uint32_t k = 0; k < n; k++)
        if (strcmp(columns[k].name, name) == 0) {
            *ret = k;
            return TUTTI_OK;
        }
    return tutti_fail(
        err, TUTTI_E_NOTFOUND,
        "mask_tokens: the data has no column \"%s\", want \"input\" and \"target\"", name);
}

/* Afterwards both columns have the vocabulary with the mask in it. */
static tutti_status mask_tokens_infer(void *self, tutti_column *columns, uint32_t ncolumns,
                                      tutti_error *err)
{
    masker *m = self;
    char text[96];
    tutti_status s = mask_tokens_find(columns, ncolumns, "input", &m->input, err);
    if (s || (s = mask_tokens_find(columns, ncolumns, "target", &m->target, err)))
        return s;
    tutti_column *in = &columns[m->input];
    const int64_t classes = in->classes > 0 ? in->classes : columns[m->target].classes;
    if (!is_tokens(&in->desc))
        return tutti_fail(err, TUTTI_E_ARG,
                          "mask_tokens: the input is %s, want tokens (T) of I32 or I64",
                          tutti_desc_text(&in->desc, text, sizeof text));
    if (classes < 1)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mask_tokens: the data does not say how many tokens there are");
    if (!m->has_mask_token)
        m->rule.mask_token = classes;
    else if (m->rule.mask_token >= classes)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "mask_tokens: mask_token is %lld, the data has %lld tokens",
                          (long long)m->rule.mask_token, (long long)classes);
    m->rule.tokens = classes;
    in->classes = m->has_mask_token ? classes : classes + 1;
    columns[m->target].classes = in->classes;
    columns[m->target].desc = (tutti_desc){{in->desc.dim[0]}, 1, TUTTI_I32};
    return TUTTI_OK;
}

static int is_special(const masker *m, int64_t token)
{
    for (uint32_t k = 0; k < m->nspecial; k++)
        if (m->special[k] == token)
            return 1;
    return 0;
}

/* Both columns come from the input as it was, with the same draws. */
static int32_t mask_tokens_apply(void *self, const tutti_sample *sample, uint32_t k,
                                 const tutti_tensor *in, tutti_tensor *out, tutti_error *err)
{
    const masker *m = self;
    if (k != m->input && k != m->target)
        return 0;
    if (sample->ncolumns <= m->input)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "mask_tokens: this host does not show a transform the whole sample");
    const tutti_tensor *from = &sample->columns[m->input];
    const int64_t n = tutti_numel(&from->desc);
    const int32_t wide = from->desc.dtype == TUTTI_I64;
    tutti_stream s = sample_stream(sample, "mask_tokens");
    out->desc = k == m->input ? in->desc : (tutti_desc){{n}, 1, TUTTI_I32};
    for (int64_t t = 0; t < n; t++) {
        const int64_t token = mask_token_at(from->data, wide, t);
        int64_t becomes = token;
        const int drawn = mask_draw(m->rule, &s, token, is_special(m, token), &becomes);
        mask_put(out->data, wide, k == m->target, t, drawn, token, becomes);
    }
    return 1;
}

/* The manifest's kernel. */
TUTTI_EXPORT void mask_tokens_cpu(const uint8_t *tokens, uint8_t *y, const int64_t *index,
                                  uint64_t seed, uint64_t epoch, uint32_t purpose,
                                  double probability, double mask_share, double random_share,
                                  int64_t mask_token, int64_t classes, int64_t special0,
                                  int64_t special1, int64_t special2, int64_t special3,
                                  int32_t wide, int32_t asked, int64_t length, int64_t n);

void mask_tokens_cpu(const uint8_t *tokens, uint8_t *y, const int64_t *index, uint64_t seed,
                     uint64_t epoch, uint32_t purpose, double probability, double mask_share,
                     double random_share, int64_t mask_token, int64_t classes, int64_t special0,
                     int64_t special1, int64_t special2, int64_t special3, int32_t wide,
                     int32_t asked, int64_t length, int64_t n)
{
    const mask_rule m = {probability, mask_share, random_share, mask_token, classes};
    for (int64_t k = 0; k < n; k++) {
        tutti_stream s = tutti_stream_at(seed, purpose, epoch, (uint64_t)index[k]);
        for (int64_t t = k * length; t < (k + 1) * length; t++) {
            const int64_t token = mask_token_at(tokens, wide, t);
            const int special = token == special0 || token == special1 || token == special2 ||
                                token == special3;
            int64_t becomes = token;
            const int drawn = mask_draw(m, &s, token, special, &becomes);
            mask_put(y, wide, asked, t, drawn, token, becomes);
        }
    }
}

static int32_t mask_tokens_apply_batch(void *self, const tutti_samples *samples, uint32_t k,
                                       const tutti_tensor *in, tutti_tensor *out,
                                       tutti_error *err)
{
    masker *m = self;
    if (k != m->input && k != m->target)
        return 0;
    if (samples->ncolumns <= m->input)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "mask_tokens: this host does not show a transform the whole batch");
    if (m->nspecial > KERNEL_SPECIAL)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "mask_tokens has kernels for at most %d special tokens, there are %u",
                          KERNEL_SPECIAL, m->nspecial);
    tutti_samples s = *samples;
    const tutti_tensor *from = &s.columns[m->input];
    uint32_t purpose = sample_purpose("mask_tokens");
    int64_t special[KERNEL_SPECIAL] = {-1, -1, -1, -1}; /* no token */
    int64_t n = from->desc.dim[0], length = from->desc.dim[1];
    int32_t wide = from->desc.dtype == TUTTI_I64, asked = k == m->target;
    mask_rule *r = &m->rule;
    const void *x = from->data;
    void *const args[] = {&x,
                          &out->data,
                          &s.index,
                          &s.seed,
                          &s.epoch,
                          &purpose,
                          &r->probability,
                          &r->mask_share,
                          &r->random_share,
                          &r->mask_token,
                          &r->tokens,
                          &special[0],
                          &special[1],
                          &special[2],
                          &special[3],
                          &wide,
                          &asked,
                          &length,
                          &n};
    memcpy(special, m->special, m->nspecial * sizeof *special);
    out->desc = asked ? (tutti_desc){{n, length}, 2, TUTTI_I32} : in->desc;
    return batch_launch(&m->kernel, "mask_tokens", x, args, sizeof args / sizeof *args, err);
}

static tutti_status mask_tokens_open(const tutti_host *host, const tutti_params *params,
                                     void **ret_self, tutti_error *err)
{
    const double mask = tutti_param_f64(params, "mask_share");
    const double random = tutti_param_f64(params, "random_share");
    const tutti_param *special = tutti_param_find(params, "special_tokens");
    if (mask + random > 1.0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mask_tokens: mask_share %g and random_share %g are more than 1",
                          mask, random);
    masker *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mask_tokens: no memory");
    m->kernel = batch_kernel_find(host, "mask_tokens");
    m->rule.probability = tutti_param_f64(params, "probability");
    m->rule.mask_share = mask;
    m->rule.random_share = random;
    m->has_mask_token = tutti_param_is_set(params, "mask_token");
    m->rule.mask_token = tutti_param_i64(params, "mask_token");
    for (uint64_t k = 0; special && k < special->count && k < SPECIAL_MAX; k++)
        m->special[m->nspecial++] = special->items[k]->i;
    *ret_self = m;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(mask_tokens, mask_tokens_open, mask_tokens_infer, mask_tokens_apply,
                 mask_tokens_apply_batch);
