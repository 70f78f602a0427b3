/* plugin.c - trivial_augment_wide: one change of any strength. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/policy.h"

typedef struct trivial_augment_wide {
    double p;
    int bins;
    warp_options warp;
} trivial_augment_wide;

static tutti_status trivial_augment_wide_read_settings(const tutti_params *params,
                                                       trivial_augment_wide *t,
                                                       tutti_error *err)
{
    (void)err;
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    t->bins = (int)tutti_param_i64(params, "num_magnitude_bins");
    return TUTTI_OK;
}

static void trivial_augment_wide_change(const trivial_augment_wide *t, const picture *x,
                                        tutti_stream *r, uint8_t *scratch)
{
    const policy_op op = (policy_op)tutti_stream_below(r, POLICY_INVERT);
    const int bin = (int)tutti_stream_below(r, (uint32_t)t->bins);
    const double v = policy_magnitude(&policy_wide, op, bin, t->bins, x);
    const int minus = policy_is_signed(op) && tutti_stream_uniform(r) <= 0.5;
    policy_change(x, op, minus ? -v : v, &t->warp, scratch);
}

PICTURE_CHANGE(trivial_augment_wide, trivial_augment_wide, 1, 1,
               trivial_augment_wide_read_settings, trivial_augment_wide_change);
