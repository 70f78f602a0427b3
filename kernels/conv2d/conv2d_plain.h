/* conv2d_plain.h - the loops of the definition; included once for each REAL. */
/* SPDX-License-Identifier: Apache-2.0 */

/* Before inclusion: REAL is the type of the numbers and PLAIN(name) makes the functions' names.
 * Sums are f64 for both. */

void PLAIN(conv2d_plain)(const conv2d_geometry *g, const REAL *x, const REAL *w,
                         const REAL *bias, REAL *y, int64_t first, int64_t last)
{
    const int64_t cg = g->c / g->g, og = g->o / g->g;
    for (int64_t at = first; at < last; at++) {
        const int64_t j = at % g->ow, i = at / g->ow % g->oh, b = at / g->ow / g->oh;
        for (int64_t o = 0; o < g->o; o++) {
            double sum = bias ? (double)bias[o] : 0.0;
            for (int64_t u = 0; u < g->kh; u++) {
                for (int64_t v = 0; v < g->kw; v++) {
                    const int64_t r = i * g->sh + u * g->dh - g->ph,
                                  s = j * g->sw + v * g->dw - g->pw;
                    if (r < 0 || r >= g->h || s < 0 || s >= g->w)
                        continue;
                    const REAL *xs = x + ((b * g->h + r) * g->w + s) * g->c + o / og * cg;
                    const REAL *ws = w + ((o * g->kh + u) * g->kw + v) * cg;
                    for (int64_t c = 0; c < cg; c++)
                        sum += (double)xs[c] * (double)ws[c];
                }
            }
            y[at * g->o + o] = (REAL)sum;
        }
    }
}

void PLAIN(conv2d_plain_input)(const conv2d_geometry *g, const REAL *dy, const REAL *w,
                               REAL *dx, int64_t first, int64_t last)
{
    const int64_t cg = g->c / g->g, og = g->o / g->g;
    for (int64_t at = first; at < last; at++) {
        const int64_t s = at % g->w, r = at / g->w % g->h, b = at / g->w / g->h;
        for (int64_t c = 0; c < g->c; c++) {
            double sum = 0.0;
            for (int64_t u = 0; u < g->kh; u++) {
                for (int64_t v = 0; v < g->kw; v++) {
                    const int64_t up = r + g->ph - u * g->dh, left = s + g->pw - v * g->dw;
                    const int64_t i = up / g->sh, j = left / g->sw;
                    if (up < 0 || left < 0 || up % g->sh || left % g->sw || i >= g->oh ||
                        j >= g->ow)
                        continue;
                    const int64_t o = c / cg * og;
                    const REAL *dys = dy + ((b * g->oh + i) * g->ow + j) * g->o + o;
                    const REAL *ws = w + ((o * g->kh + u) * g->kw + v) * cg + c % cg;
                    for (int64_t k = 0; k < og; k++)
                        sum += (double)dys[k] * (double)ws[k * g->kh * g->kw * cg];
                }
            }
            dx[at * g->c + c] = (REAL)sum;
        }
    }
}

/* One element of dw: channel c of the group, window place (u, v), output channel o. */
static double PLAIN(weight_at)(const conv2d_geometry *g, const REAL *x, const REAL *dy,
                               int64_t o, int64_t u, int64_t v, int64_t c)
{
    const int64_t cg = g->c / g->g, og = g->o / g->g;
    double sum = 0.0;
    for (int64_t b = 0; b < g->b; b++) {
        for (int64_t i = 0; i < g->oh; i++) {
            const int64_t r = i * g->sh + u * g->dh - g->ph;
            if (r < 0 || r >= g->h)
                continue;
            for (int64_t j = 0; j < g->ow; j++) {
                const int64_t s = j * g->sw + v * g->dw - g->pw;
                if (s >= 0 && s < g->w)
                    sum += (double)x[((b * g->h + r) * g->w + s) * g->c + o / og * cg + c] *
                           (double)dy[((b * g->oh + i) * g->ow + j) * g->o + o];
            }
        }
    }
    return sum;
}

void PLAIN(conv2d_plain_weight)(const conv2d_geometry *g, const REAL *x, const REAL *dy,
                                REAL *dw, int64_t first, int64_t last)
{
    const int64_t cg = g->c / g->g;
    for (int64_t o = first; o < last; o++)
        for (int64_t u = 0; u < g->kh; u++)
            for (int64_t v = 0; v < g->kw; v++)
                for (int64_t c = 0; c < cg; c++)
                    dw[((o * g->kh + u) * g->kw + v) * cg + c] =
                        (REAL)PLAIN(weight_at)(g, x, dy, o, u, v, c);
}
