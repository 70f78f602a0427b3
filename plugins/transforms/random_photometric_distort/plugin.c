/* plugin.c - random_photometric_distort: colours changed and channels exchanged, each with a probability. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "distort.h"

typedef struct random_photometric_distort {
    double p; /* of the shell: every picture is drawn for */
    double each;
    double range[CHANGES][2];
} random_photometric_distort;

static tutti_status random_photometric_distort_read_settings(const tutti_params *params,
                                                             random_photometric_distort *t,
                                                             tutti_error *err)
{
    static const char *const names[CHANGES] = {"brightness", "contrast", "saturation", "hue"};
    tutti_status s = TUTTI_OK;
    t->each = t->p;
    t->p = 1.0;
    for (int k = 0; !s && k < CHANGES; k++)
        s = range_setting(params, names[k], t->range[k], err);
    return s;
}

static int distort_draws(tutti_stream *r, double p)
{
    return tutti_stream_uniform(r) < p;
}

/* All is drawn, whatever is made of it, so that one draw does not move the others. */
static void random_photometric_distort_change(const random_photometric_distort *t,
                                              const picture *x, tutti_stream *r,
                                              uint8_t *scratch)
{
    distortion d = {.channel = {0, 1, 2}};
    (void)scratch;
    for (int k = 0; k < CHANGES; k++) {
        d.makes[k] = distort_draws(r, t->each);
        d.by[k] = stream_between(r, t->range[k][0], t->range[k][1]);
    }
    d.contrast_first = distort_draws(r, 0.5);
    const int permutes = distort_draws(r, t->each);
    for (uint32_t k = 2; permutes && k > 0; k--) {
        const uint32_t j = tutti_stream_below(r, k + 1);
        const uint8_t other = d.channel[j];
        d.channel[j] = d.channel[k];
        d.channel[k] = other;
    }
    distortion_make(x, &d);
}

PICTURE_CHANGE(random_photometric_distort, random_photometric_distort, 0, 0,
               random_photometric_distort_read_settings, random_photometric_distort_change);
