/* plugin.c - random_channel_permutation: channels in another order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"

typedef struct random_channel_permutation {
    double p;
} random_channel_permutation;

static tutti_status random_channel_permutation_read_settings(const tutti_params *params,
                                                             random_channel_permutation *t,
                                                             tutti_error *err)
{
    (void)params, (void)t, (void)err;
    return TUTTI_OK;
}

static void random_channel_permutation_change(const random_channel_permutation *t,
                                              const picture *x, tutti_stream *r,
                                              uint8_t *scratch)
{
    uint8_t from[3] = {0, 1, 2};
    (void)t, (void)scratch;
    if (x->c != 3)
        return;
    for (uint32_t k = 2; k > 0; k--) {
        const uint32_t j = tutti_stream_below(r, k + 1);
        const uint8_t other = from[j];
        from[j] = from[k];
        from[k] = other;
    }
    for (int64_t i = 0; i < x->h * x->w; i++) {
        uint8_t *at = x->pixels + 3 * i;
        const uint8_t old[3] = {at[0], at[1], at[2]};
        for (int k = 0; k < 3; k++)
            at[k] = old[from[k]];
    }
}

PICTURE_CHANGE(random_channel_permutation, random_channel_permutation, 0, 0,
               random_channel_permutation_read_settings, random_channel_permutation_change);
