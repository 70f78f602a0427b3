/* gelu_op.c - the Gaussian error linear unit. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/elementwise.h"

#include <math.h>

/* Hendrycks and Gimpel 2016.  approximate 0: x Phi(x); 1: the tanh form. */
typedef struct gelu_attr {
    int64_t approximate;
} gelu_attr;

static const tutti_attr_field fields[] = {OP_FIELD_I64(gelu_attr, approximate, 0)};

#define SQRT_2_OVER_PI 0.79788456080286536
#define CUBIC 0.044715

static inline double gelu_f64(double x, int64_t approximate)
{
    return approximate ? 0.5 * x * (1.0 + tanh(SQRT_2_OVER_PI * (x + CUBIC * x * x * x)))
                       : 0.5 * x * (1.0 + erf(x * 0.70710678118654752));
}

static inline float gelu_f32(float x, int64_t approximate)
{
    return approximate
               ? 0.5f * x *
                     (1.0f + tanhf((float)SQRT_2_OVER_PI * (x + (float)CUBIC * x * x * x)))
               : 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

/* erf: Phi(x) + x phi(x).  tanh: 0.5 (1 + t) + 0.5 x (1 - t^2) u', u' = c (1 + 3 k x^2). */
static tutti_status gelu_vjp(tutti_graph *g, const tutti_node *n, const tutti_value *dy,
                             tutti_value *dx)
{
    const gelu_attr *a = n->attr;
    const tutti_value x = n->in[0], x2 = tutti_mul(g, x, x);
    tutti_value d;
    if (a->approximate) {
        const tutti_value inner = tutti_affine(g, x2, SQRT_2_OVER_PI * CUBIC, SQRT_2_OVER_PI);
        const tutti_value t = tutti_op1(g, "tanh", tutti_mul(g, x, inner));
        const tutti_value slope =
            tutti_affine(g, x2, 3.0 * SQRT_2_OVER_PI * CUBIC, SQRT_2_OVER_PI);
        const tutti_value bend = tutti_affine(g, tutti_mul(g, t, t), -0.5, 0.5);
        d = tutti_add(g, tutti_affine(g, t, 0.5, 0.5),
                      tutti_mul(g, x, tutti_mul(g, bend, slope)));
    } else {
        const tutti_value phi = tutti_affine(
            g, tutti_op1(g, "exp", tutti_affine(g, x2, -0.5, 0.0)), 0.39894228040143268, 0.0);
        const tutti_value cdf = tutti_affine(
            g, tutti_op1(g, "erf", tutti_affine(g, x, 0.70710678118654752, 0.0)), 0.5, 0.5);
        d = tutti_add(g, cdf, tutti_mul(g, x, phi));
    }
    if (n->need & 1)
        dx[0] = tutti_mul(g, dy[0], d);
    return TUTTI_OK;
}

OP_UNARY_ATTR(gelu, gelu_attr, fields, 1, gelu_f32(x, a->approximate),
              gelu_f64(x, a->approximate), gelu_vjp)
