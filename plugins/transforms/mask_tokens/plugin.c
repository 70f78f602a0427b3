/* plugin.c - mask_tokens: tokens hidden at random, and what was there as the target. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_plugin.h"

enum { SPECIAL_MAX = 64 };

/* Where nothing is asked for, as in PyTorch. */
static const int32_t ignored = -100;

typedef struct masker {
    double probability;
    double mask_share;
    double random_share;
    int64_t mask_token;
    int64_t tokens; /* that a random one is taken from; known after infer */
    int64_t special[SPECIAL_MAX];
    uint32_t nspecial;
    uint32_t input, target; /* columns; known after infer */
    int32_t has_mask_token;
} masker;

static int is_tokens(const tutti_desc *d)
{
    return d->rank == 1 && (d->dtype == TUTTI_I32 || d->dtype == TUTTI_I64);
}

static tutti_status find(const tutti_column *columns, uint32_t n, const char *name,
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
static tutti_status infer(void *self, tutti_column *columns, uint32_t ncolumns,
                          tutti_error *err)
{
    masker *m = self;
    char text[96];
    tutti_status s = find(columns, ncolumns, "input", &m->input, err);
    if (s || (s = find(columns, ncolumns, "target", &m->target, err)))
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
        m->mask_token = classes;
    else if (m->mask_token >= classes)
        return tutti_fail(err, TUTTI_E_RANGE,
                          "mask_tokens: mask_token is %lld, the data has %lld tokens",
                          (long long)m->mask_token, (long long)classes);
    m->tokens = classes;
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

/* Whether `token`, the next of its sample, is drawn; *ret_becomes is then what the model sees. */
static int draw(const masker *m, tutti_stream *s, int64_t token, int64_t *ret_becomes)
{
    const int drawn = tutti_stream_uniform(s) < m->probability;
    if (!drawn || is_special(m, token))
        return 0;
    const double how = tutti_stream_uniform(s);
    *ret_becomes = token;
    if (how < m->mask_share)
        *ret_becomes = m->mask_token;
    else if (how < m->mask_share + m->random_share)
        *ret_becomes = tutti_stream_below(s, (uint32_t)m->tokens);
    return 1;
}

static int64_t token_at(const tutti_tensor *t, int64_t k)
{
    return t->desc.dtype == TUTTI_I64 ? ((const int64_t *)t->data)[k]
                                      : ((const int32_t *)t->data)[k];
}

/* Both columns come from the input as it was, with the same draws. */
static int32_t apply(void *self, const tutti_sample *sample, uint32_t k, const tutti_tensor *in,
                     tutti_tensor *out, tutti_error *err)
{
    const masker *m = self;
    if (k != m->input && k != m->target)
        return 0;
    if (sample->ncolumns <= m->input)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "mask_tokens: this host does not show a transform the whole sample");
    const tutti_tensor *from = &sample->columns[m->input];
    const int64_t n = tutti_numel(&from->desc);
    tutti_stream s = sample_stream(sample, "mask_tokens");
    out->desc = k == m->input ? in->desc : (tutti_desc){{n}, 1, TUTTI_I32};
    for (int64_t t = 0; t < n; t++) {
        const int64_t token = token_at(from, t);
        int64_t becomes = token;
        const int drawn = draw(m, &s, token, &becomes);
        if (k == m->target)
            ((int32_t *)out->data)[t] = drawn ? (int32_t)token : ignored;
        else if (out->desc.dtype == TUTTI_I64)
            ((int64_t *)out->data)[t] = becomes;
        else
            ((int32_t *)out->data)[t] = (int32_t)becomes;
    }
    return 1;
}

static tutti_status open(const tutti_host *host, const tutti_params *params, void **ret_self,
                         tutti_error *err)
{
    const double mask = tutti_param_f64(params, "mask_share");
    const double random = tutti_param_f64(params, "random_share");
    const tutti_param *special = tutti_param_find(params, "special_tokens");
    (void)host;
    if (mask + random > 1.0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "mask_tokens: mask_share %g and random_share %g are more than 1",
                          mask, random);
    masker *m = calloc(1, sizeof *m);
    if (!m)
        return tutti_fail(err, TUTTI_E_NOMEM, "mask_tokens: no memory");
    m->probability = tutti_param_f64(params, "probability");
    m->mask_share = mask;
    m->random_share = random;
    m->has_mask_token = tutti_param_is_set(params, "mask_token");
    m->mask_token = tutti_param_i64(params, "mask_token");
    for (uint64_t k = 0; special && k < special->count && k < SPECIAL_MAX; k++)
        m->special[m->nspecial++] = special->items[k]->i;
    *ret_self = m;
    return TUTTI_OK;
}

TRANSFORM_PLUGIN(mask_tokens, open, infer, apply, NULL)
