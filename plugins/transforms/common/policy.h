/* policy.h - the changes that policies of automatic augmentation draw from, as torchvision makes them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_POLICY_H
#define PLUGIN_TRANSFORMS_POLICY_H

#include "warp.h"

typedef enum policy_op {
    POLICY_IDENTITY,
    POLICY_SHEAR_X,
    POLICY_SHEAR_Y,
    POLICY_TRANSLATE_X,
    POLICY_TRANSLATE_Y,
    POLICY_ROTATE,
    POLICY_BRIGHTNESS,
    POLICY_COLOR,
    POLICY_CONTRAST,
    POLICY_SHARPNESS,
    POLICY_POSTERIZE,
    POLICY_SOLARIZE,
    POLICY_AUTOCONTRAST,
    POLICY_EQUALIZE,
    POLICY_INVERT,
    POLICY_OPS
} policy_op;

/* Magnitudes are bins from 0 on; these are those of the last bin. */
typedef struct policy_space {
    double shear;     /* pixels a pixel */
    double translate; /* of the picture's side, or pixels where `pixels` is set */
    double degrees;
    double factor;  /* of colours, away from 1 */
    int32_t pixels; /* see `translate` */
    int32_t keeps;  /* bits that posterize of bin 0 keeps */
    int32_t bits;   /* of these, how many it takes away */
} policy_space;

/* Of AutoAugment and RandAugment, of TrivialAugment, and of AugMix. */
extern const policy_space policy_narrow, policy_wide, policy_mixed;

/* The magnitude of bin `bin` of `bins`, at least 2, before its sign; in f32, as torch has it. */
double policy_magnitude(const policy_space *s, policy_op op, int bin, int bins,
                        const picture *x);
/* Whether a magnitude is as likely negative. */
int policy_is_signed(policy_op op);
/* Changes the picture; `scratch` has room for it. */
void policy_change(const picture *x, policy_op op, double magnitude, const warp_options *o,
                   uint8_t *scratch);

#endif
