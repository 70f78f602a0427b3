/* plugin.c - random_perspective: a picture seen from another side. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../common/picture_change.h"
#include "../common/warp.h"

typedef struct random_perspective {
    double p;
    double most;
    warp_options warp;
} random_perspective;

/* Corners of the picture, clockwise from the upper left: their places before and after. */
typedef double corners[4][2];

/* The coefficients with which corner `to` comes from corner `from`, by elimination; false: the corners are on a line. */
static int solve_corners(const corners to, const corners from, double ret_c[8])
{
    double a[8][9];
    for (int k = 0; k < 4; k++) {
        const double x = to[k][0], y = to[k][1], u = from[k][0], v = from[k][1];
        const double rows[2][9] = {{x, y, 1, 0, 0, 0, -u * x, -u * y, u},
                                   {0, 0, 0, x, y, 1, -v * x, -v * y, v}};
        memcpy(a[2 * k], rows, sizeof rows);
    }
    for (int k = 0; k < 8; k++) {
        int best = k;
        double row[9];
        for (int j = k + 1; j < 8; j++)
            best = fabs(a[j][k]) > fabs(a[best][k]) ? j : best;
        if (fabs(a[best][k]) < 1e-12)
            return 0;
        memcpy(row, a[best], sizeof row);
        memcpy(a[best], a[k], sizeof row);
        memcpy(a[k], row, sizeof row);
        for (int j = 0; j < 8; j++) {
            const double factor = j == k ? 0.0 : a[j][k] / a[k][k];
            for (int i = k; i < 9 && j != k; i++)
                a[j][i] -= factor * a[k][i];
        }
    }
    for (int k = 0; k < 8; k++)
        ret_c[k] = a[k][8] / a[k][k];
    return 1;
}

static tutti_status random_perspective_read_settings(const tutti_params *params,
                                                     random_perspective *t, tutti_error *err)
{
    (void)err;
    t->warp.filter = (int32_t)tutti_param_i64(params, "interpolation");
    memset(t->warp.fill, (int)tutti_param_i64(params, "fill"), sizeof t->warp.fill);
    t->most = tutti_param_f64(params, "distortion_scale");
    return TUTTI_OK;
}

static void random_perspective_change(const random_perspective *t, const picture *x,
                                      tutti_stream *r, uint8_t *scratch)
{
    const double right = (double)x->w - 1.0, bottom = (double)x->h - 1.0;
    const uint32_t across = (uint32_t)(t->most * (double)(x->w / 2)) + 1;
    const uint32_t down = (uint32_t)(t->most * (double)(x->h / 2)) + 1;
    const corners from = {{0, 0}, {right, 0}, {right, bottom}, {0, bottom}};
    corners to;
    double c[8];
    for (int k = 0; k < 4; k++) {
        const double dx = tutti_stream_below(r, across), dy = tutti_stream_below(r, down);
        to[k][0] = from[k][0] > 0 ? from[k][0] - dx : dx;
        to[k][1] = from[k][1] > 0 ? from[k][1] - dy : dy;
    }
    if (solve_corners(to, from, c))
        warp_perspective(x, c, &t->warp, scratch);
}

PICTURE_CHANGE(random_perspective, random_perspective, 1, 1, random_perspective_read_settings,
               random_perspective_change);
