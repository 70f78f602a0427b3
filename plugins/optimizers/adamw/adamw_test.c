/* adamw_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual, AMSGrad, no momentum and no decay */
static const optimizer_variant variants[] = {
    {{{"betas", 'p', 0.9, 0.95},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 1e-8, 0},
      {"amsgrad", 'b', 0, 0}},
     2,
     {-0.7977163838, -0.4141763657, -0.9773062581, -1.0134514238}},
    {{{"betas", 'p', 0.9, 0.95},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 1e-8, 0},
      {"amsgrad", 'b', 1, 0}},
     3,
     {-0.7974642739, -0.4140774163, -0.9772878417, -1.0136219135}},
    {{{"betas", 'p', 0, 0.5},
      {"weight_decay", 'f', 0, 0},
      {"eps", 'f', 1e-8, 0},
      {"amsgrad", 'b', 0, 0}},
     2,
     {-0.7790221746, -0.4071328664, -0.9725088656, -0.9871916000}},
};

/* Loshchilov and Hutter, Decoupled Weight Decay Regularization, algorithm 2; AMSGrad: Reddi et al. */
static void adamw_step(const optimizer_step *s)
{
    const double beta1 = variant_value(s->variant, "betas");
    const double beta2 = variant_second(s->variant, "betas");
    double *mean = &s->state[0], *square = &s->state[1], *most = &s->state[2];
    *s->w *= 1.0 - s->lr * variant_value(s->variant, "weight_decay");
    *mean = beta1 * *mean + (1.0 - beta1) * s->g;
    *square = beta2 * *square + (1.0 - beta2) * s->g * s->g;
    *most = variant_value(s->variant, "amsgrad") != 0.0 ? fmax(*most, *square) : *square;
    const double unbiased = sqrt(*most) / sqrt(1.0 - pow(beta2, (double)s->t));
    *s->w -= s->lr / (1.0 - pow(beta1, (double)s->t)) * *mean / (unbiased + 1e-8);
}

const optimizer_case optimizer_tested = {
    "adamw", 0.01, variants, sizeof variants / sizeof *variants, adamw_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
