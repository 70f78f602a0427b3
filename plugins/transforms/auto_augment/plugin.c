/* plugin.c - auto_augment: two changes that a search has found. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/policy.h"

typedef struct auto_augment {
    double p;
    int64_t policy;
    warp_options warp;
} auto_augment;

enum { PAIRS = 25, BINS = 10 };

typedef struct policy_step {
    policy_op op;
    double p;
    int bin;
} policy_step;

/* What the authors' search found, by the data that it searched with. */
static const policy_step policies[][PAIRS][2] = {
    {
        {{POLICY_POSTERIZE, 0.4, 8}, {POLICY_ROTATE, 0.6, 9}},
        {{POLICY_SOLARIZE, 0.6, 5}, {POLICY_AUTOCONTRAST, 0.6, 0}},
        {{POLICY_EQUALIZE, 0.8, 0}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_POSTERIZE, 0.6, 7}, {POLICY_POSTERIZE, 0.6, 6}},
        {{POLICY_EQUALIZE, 0.4, 0}, {POLICY_SOLARIZE, 0.2, 4}},
        {{POLICY_EQUALIZE, 0.4, 0}, {POLICY_ROTATE, 0.8, 8}},
        {{POLICY_SOLARIZE, 0.6, 3}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_POSTERIZE, 0.8, 5}, {POLICY_EQUALIZE, 1.0, 0}},
        {{POLICY_ROTATE, 0.2, 3}, {POLICY_SOLARIZE, 0.6, 8}},
        {{POLICY_EQUALIZE, 0.6, 0}, {POLICY_POSTERIZE, 0.4, 6}},
        {{POLICY_ROTATE, 0.8, 8}, {POLICY_COLOR, 0.4, 0}},
        {{POLICY_ROTATE, 0.4, 9}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_EQUALIZE, 0.0, 0}, {POLICY_EQUALIZE, 0.8, 0}},
        {{POLICY_INVERT, 0.6, 0}, {POLICY_EQUALIZE, 1.0, 0}},
        {{POLICY_COLOR, 0.6, 4}, {POLICY_CONTRAST, 1.0, 8}},
        {{POLICY_ROTATE, 0.8, 8}, {POLICY_COLOR, 1.0, 2}},
        {{POLICY_COLOR, 0.8, 8}, {POLICY_SOLARIZE, 0.8, 7}},
        {{POLICY_SHARPNESS, 0.4, 7}, {POLICY_INVERT, 0.6, 0}},
        {{POLICY_SHEAR_X, 0.6, 5}, {POLICY_EQUALIZE, 1.0, 0}},
        {{POLICY_COLOR, 0.4, 0}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_EQUALIZE, 0.4, 0}, {POLICY_SOLARIZE, 0.2, 4}},
        {{POLICY_SOLARIZE, 0.6, 5}, {POLICY_AUTOCONTRAST, 0.6, 0}},
        {{POLICY_INVERT, 0.6, 0}, {POLICY_EQUALIZE, 1.0, 0}},
        {{POLICY_COLOR, 0.6, 4}, {POLICY_CONTRAST, 1.0, 8}},
        {{POLICY_EQUALIZE, 0.8, 0}, {POLICY_EQUALIZE, 0.6, 0}},
    },
    {
        {{POLICY_INVERT, 0.1, 0}, {POLICY_CONTRAST, 0.2, 6}},
        {{POLICY_ROTATE, 0.7, 2}, {POLICY_TRANSLATE_X, 0.3, 9}},
        {{POLICY_SHARPNESS, 0.8, 1}, {POLICY_SHARPNESS, 0.9, 3}},
        {{POLICY_SHEAR_Y, 0.5, 8}, {POLICY_TRANSLATE_Y, 0.7, 9}},
        {{POLICY_AUTOCONTRAST, 0.5, 0}, {POLICY_EQUALIZE, 0.9, 0}},
        {{POLICY_SHEAR_Y, 0.2, 7}, {POLICY_POSTERIZE, 0.3, 7}},
        {{POLICY_COLOR, 0.4, 3}, {POLICY_BRIGHTNESS, 0.6, 7}},
        {{POLICY_SHARPNESS, 0.3, 9}, {POLICY_BRIGHTNESS, 0.7, 9}},
        {{POLICY_EQUALIZE, 0.6, 0}, {POLICY_EQUALIZE, 0.5, 0}},
        {{POLICY_CONTRAST, 0.6, 7}, {POLICY_SHARPNESS, 0.6, 5}},
        {{POLICY_COLOR, 0.7, 7}, {POLICY_TRANSLATE_X, 0.5, 8}},
        {{POLICY_EQUALIZE, 0.3, 0}, {POLICY_AUTOCONTRAST, 0.4, 0}},
        {{POLICY_TRANSLATE_Y, 0.4, 3}, {POLICY_SHARPNESS, 0.2, 6}},
        {{POLICY_BRIGHTNESS, 0.9, 6}, {POLICY_COLOR, 0.2, 8}},
        {{POLICY_SOLARIZE, 0.5, 2}, {POLICY_INVERT, 0.0, 0}},
        {{POLICY_EQUALIZE, 0.2, 0}, {POLICY_AUTOCONTRAST, 0.6, 0}},
        {{POLICY_EQUALIZE, 0.2, 0}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_COLOR, 0.9, 9}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_AUTOCONTRAST, 0.8, 0}, {POLICY_SOLARIZE, 0.2, 8}},
        {{POLICY_BRIGHTNESS, 0.1, 3}, {POLICY_COLOR, 0.7, 0}},
        {{POLICY_SOLARIZE, 0.4, 5}, {POLICY_AUTOCONTRAST, 0.9, 0}},
        {{POLICY_TRANSLATE_Y, 0.9, 9}, {POLICY_TRANSLATE_Y, 0.7, 9}},
        {{POLICY_AUTOCONTRAST, 0.9, 0}, {POLICY_SOLARIZE, 0.8, 3}},
        {{POLICY_EQUALIZE, 0.8, 0}, {POLICY_INVERT, 0.1, 0}},
        {{POLICY_TRANSLATE_Y, 0.7, 9}, {POLICY_AUTOCONTRAST, 0.9, 0}},
    },
    {
        {{POLICY_SHEAR_X, 0.9, 4}, {POLICY_INVERT, 0.2, 0}},
        {{POLICY_SHEAR_Y, 0.9, 8}, {POLICY_INVERT, 0.7, 0}},
        {{POLICY_EQUALIZE, 0.6, 0}, {POLICY_SOLARIZE, 0.6, 6}},
        {{POLICY_INVERT, 0.9, 0}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_EQUALIZE, 0.6, 0}, {POLICY_ROTATE, 0.9, 3}},
        {{POLICY_SHEAR_X, 0.9, 4}, {POLICY_AUTOCONTRAST, 0.8, 0}},
        {{POLICY_SHEAR_Y, 0.9, 8}, {POLICY_INVERT, 0.4, 0}},
        {{POLICY_SHEAR_Y, 0.9, 5}, {POLICY_SOLARIZE, 0.2, 6}},
        {{POLICY_INVERT, 0.9, 0}, {POLICY_AUTOCONTRAST, 0.8, 0}},
        {{POLICY_EQUALIZE, 0.6, 0}, {POLICY_ROTATE, 0.9, 3}},
        {{POLICY_SHEAR_X, 0.9, 4}, {POLICY_SOLARIZE, 0.3, 3}},
        {{POLICY_SHEAR_Y, 0.8, 8}, {POLICY_INVERT, 0.7, 0}},
        {{POLICY_EQUALIZE, 0.9, 0}, {POLICY_TRANSLATE_Y, 0.6, 6}},
        {{POLICY_INVERT, 0.9, 0}, {POLICY_EQUALIZE, 0.6, 0}},
        {{POLICY_CONTRAST, 0.3, 3}, {POLICY_ROTATE, 0.8, 4}},
        {{POLICY_INVERT, 0.8, 0}, {POLICY_TRANSLATE_Y, 0.0, 2}},
        {{POLICY_SHEAR_Y, 0.7, 6}, {POLICY_SOLARIZE, 0.4, 8}},
        {{POLICY_INVERT, 0.6, 0}, {POLICY_ROTATE, 0.8, 4}},
        {{POLICY_SHEAR_Y, 0.3, 7}, {POLICY_TRANSLATE_X, 0.9, 3}},
        {{POLICY_SHEAR_X, 0.1, 6}, {POLICY_INVERT, 0.6, 0}},
        {{POLICY_SOLARIZE, 0.7, 2}, {POLICY_TRANSLATE_Y, 0.6, 7}},
        {{POLICY_SHEAR_Y, 0.8, 4}, {POLICY_INVERT, 0.8, 0}},
        {{POLICY_SHEAR_X, 0.7, 9}, {POLICY_TRANSLATE_Y, 0.8, 3}},
        {{POLICY_SHEAR_Y, 0.8, 5}, {POLICY_AUTOCONTRAST, 0.7, 0}},
        {{POLICY_SHEAR_X, 0.7, 2}, {POLICY_INVERT, 0.1, 0}},
    },
};

static tutti_status auto_augment_read_settings(const tutti_params *params, auto_augment *t,
                                               tutti_error *err)
{
    (void)err;
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    t->policy = tutti_param_i64(params, "policy");
    return TUTTI_OK;
}

static void auto_augment_change(const auto_augment *t, const picture *x, tutti_stream *r,
                                uint8_t *scratch)
{
    const policy_step *pair = policies[t->policy][tutti_stream_below(r, PAIRS)];
    for (int k = 0; k < 2; k++) {
        if (tutti_stream_uniform(r) > pair[k].p)
            continue;
        const double v = policy_magnitude(&policy_narrow, pair[k].op, pair[k].bin, BINS, x);
        const int minus = policy_is_signed(pair[k].op) && tutti_stream_uniform(r) <= 0.5;
        policy_change(x, pair[k].op, minus ? -v : v, &t->warp, scratch);
    }
}

PICTURE_CHANGE(auto_augment, auto_augment, 1, 1, auto_augment_read_settings,
               auto_augment_change);
