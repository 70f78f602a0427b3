/* adam_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual; AMSGrad and decay; no momentum */
static const optimizer_variant variants[] = {
    {{{"betas", 'p', 0.9, 0.95},
      {"weight_decay", 'f', 0, 0},
      {"eps", 'f', 1e-08, 0},
      {"amsgrad", 'b', 0, 0}},
     2,
     {-0.7990765350, -0.4148981159, -0.9790015226, -1.0152148919}},
    {{{"betas", 'p', 0.9, 0.95},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 1e-08, 0},
      {"amsgrad", 'b', 1, 0}},
     3,
     {-0.7975650491, -0.4126523916, -0.9767152942, -1.0131498131}},
    {{{"betas", 'p', 0, 0.5},
      {"weight_decay", 'f', 0.1, 0},
      {"eps", 'f', 1e-08, 0},
      {"amsgrad", 'b', 0, 0}},
     2,
     {-0.7724285285, -0.4016809344, -0.9645872432, -0.9768335516}},
};

/* Kingma and Ba, Adam: A Method for Stochastic Optimization; AMSGrad: Reddi, Kale and Kumar. As torch.optim.Adam. */
static void adam_step(const optimizer_step *s)
{
    const double beta1 = variant_value(s->variant, "betas");
    const double beta2 = variant_second(s->variant, "betas");
    const double g = s->g + variant_value(s->variant, "weight_decay") * *s->w;
    double *mean = &s->state[0], *square = &s->state[1], *most = &s->state[2];
    *mean = beta1 * *mean + (1.0 - beta1) * g;
    *square = beta2 * *square + (1.0 - beta2) * g * g;
    *most = variant_value(s->variant, "amsgrad") != 0.0 ? fmax(*most, *square) : *square;
    const double unbiased = sqrt(*most) / sqrt(1.0 - pow(beta2, (double)s->t));
    *s->w -= s->lr / (1.0 - pow(beta1, (double)s->t)) * *mean / (unbiased + 1e-8);
}

const optimizer_case optimizer_tested = {
    "adam", 0.01, variants, sizeof variants / sizeof *variants, adam_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
