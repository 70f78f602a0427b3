/* trust_step.h - what all optimizers with a trust ratio have, on every device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRUST_STEP_H
#define TRUST_STEP_H

#ifndef TUTTI_USE_MINOR
#define TUTTI_USE_MINOR 1 /* gradient_norm */
#define TUTTI_MIN_MINOR 0
#endif
#include "tutti/cuda_code.h"

#include <math.h>

enum { TRUST_SLOTS = 2, TRUST_SETTINGS = 5 };

/* Flags of settings. */
enum {
    TRUST_CLIP = 1,     /* trust_clip: the ratio is at most 1 */
    TRUST_ALWAYS = 2,   /* always_adapt: weights without decay have a ratio too */
    TRUST_NORM = 4,     /* NAME_at reads the norm of all gradients */
    TRUST_OWN_FLAGS = 8 /* of one optimizer: this and above */
};

/* What of one element is squared and summed. */
typedef struct trust_pair {
    float w;
    float step;
} trust_pair;

#endif
