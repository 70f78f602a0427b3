/* nadam_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual; decay in the gradient; decoupled */
static const optimizer_variant variants[] = {
    {{{"betas", 'p', 0.9, 0.95},
      {"weight_decay", 'f', 0, 0},
      {"eps", 'f', 1e-08, 0},
      {"momentum_decay", 'f', 0.004, 0},
      {"decoupled_weight_decay", 'b', 0, 0}},
     2,
     {-0.7814724366, -0.4099798387, -0.9720289268, -1.0003609670}},
    {{{"betas", 'p', 0.9, 0.95},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 1e-08, 0},
      {"momentum_decay", 'f', 0.1, 0},
      {"decoupled_weight_decay", 'b', 0, 0}},
     2,
     {-0.7804633772, -0.4083842016, -0.9705695667, -0.9986553037}},
    {{{"betas", 'p', 0.5, 0.9},
      {"weight_decay", 'f', 0.1, 0},
      {"eps", 'f', 1e-08, 0},
      {"momentum_decay", 'f', 3, 0},
      {"decoupled_weight_decay", 'b', 1, 0}},
     2,
     {-0.7777084965, -0.4056007592, -0.9628231632, -0.9881963461}},
};

/* Dozat, Incorporating Nesterov Momentum into Adam. As torch.optim.NAdam. */
static void nadam_step(const optimizer_step *s)
{
    const double beta1 = variant_value(s->variant, "betas");
    const double beta2 = variant_second(s->variant, "betas");
    const double psi = variant_value(s->variant, "momentum_decay");
    const double decay = variant_value(s->variant, "weight_decay");
    const bool decoupled = variant_value(s->variant, "decoupled_weight_decay") != 0.0;
    double *mean = &s->state[0], *square = &s->state[1], product = 1.0;
    *s->w *= decoupled ? 1.0 - s->lr * decay : 1.0;
    const double g = s->g + (decoupled ? 0.0 : decay * *s->w);
    for (int64_t k = 1; k <= s->t; k++)
        product *= beta1 * (1.0 - 0.5 * pow(0.96, (double)k * psi));
    const double mu = beta1 * (1.0 - 0.5 * pow(0.96, (double)s->t * psi));
    const double next = beta1 * (1.0 - 0.5 * pow(0.96, (double)(s->t + 1) * psi));
    *mean = beta1 * *mean + (1.0 - beta1) * g;
    *square = beta2 * *square + (1.0 - beta2) * g * g;
    const double below = sqrt(*square / (1.0 - pow(beta2, (double)s->t))) + 1e-8;
    *s->w -= s->lr * (1.0 - mu) / (1.0 - product) * g / below;
    *s->w -= s->lr * next / (1.0 - product * next) * *mean / below;
}

const optimizer_case optimizer_tested = {
    "nadam", 0.01, variants, sizeof variants / sizeof *variants, nadam_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
