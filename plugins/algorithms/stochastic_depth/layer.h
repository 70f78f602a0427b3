/* layer.h - the layer that the algorithm puts in, and the residual blocks that it knows. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_STOCHASTIC_DEPTH_H
#define PLUGIN_STOCHASTIC_DEPTH_H

#include "tutti/tutti.h"

enum { METHOD_BLOCK, METHOD_SAMPLE, MAX_PAIRS = 3, MAX_SHORTCUT = 2 };

/* relu(main + shortcut): main is pairs of a convolution and a norm with relu between them. */
typedef struct residual_form {
    const char *kind; /* of the module */
    const char *pairs[MAX_PAIRS][2];
    const char *shortcut[MAX_SHORTCUT]; /* run one after the other; absent: the identity */
    int32_t npairs;
    int32_t nshortcut;
} residual_form;

/* By the index of the setting target_layer_name. */
extern const residual_form residual_forms[];
enum { RESIDUAL_FORMS = 4 };

extern const tutti_object stochastic_block_object;

#endif
