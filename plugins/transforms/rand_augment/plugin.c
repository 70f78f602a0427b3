/* plugin.c - rand_augment: some changes of one strength. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/policy.h"

typedef struct rand_augment {
    double p;
    int64_t count;
    int bin, bins;
    warp_options warp;
} rand_augment;

static tutti_status rand_augment_read_settings(const tutti_params *params, rand_augment *t,
                                               tutti_error *err)
{
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    t->count = tutti_param_i64(params, "num_ops");
    t->bin = (int)tutti_param_i64(params, "magnitude");
    t->bins = (int)tutti_param_i64(params, "num_magnitude_bins");
    if (t->bin >= t->bins)
        return tutti_fail(
            err, TUTTI_E_ARG,
            "rand_augment: magnitude is %d, want one below num_magnitude_bins, %d", t->bin,
            t->bins);
    return TUTTI_OK;
}

static void rand_augment_change(const rand_augment *t, const picture *x, tutti_stream *r,
                                uint8_t *scratch)
{
    for (int64_t k = 0; k < t->count; k++) {
        const policy_op op = (policy_op)tutti_stream_below(r, POLICY_INVERT);
        const double v = policy_magnitude(&policy_narrow, op, t->bin, t->bins, x);
        const int minus = policy_is_signed(op) && tutti_stream_uniform(r) <= 0.5;
        policy_change(x, op, minus ? -v : v, &t->warp, scratch);
    }
}

PICTURE_CHANGE(rand_augment, rand_augment, 1, 1, rand_augment_read_settings,
               rand_augment_change);
