/* adagrad_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual; all of it */
static const optimizer_variant variants[] = {
    {{{"lr_decay", 'f', 0, 0},
      {"weight_decay", 'f', 0, 0},
      {"initial_accumulator_value", 'f', 0, 0},
      {"eps", 'f', 1e-10, 0}},
     1,
     {-0.7744491220, -0.4089191699, -0.9738582306, -1.0020417570}},
    {{{"lr_decay", 'f', 0.1, 0},
      {"weight_decay", 'f', 0.02, 0},
      {"initial_accumulator_value", 'f', 0.5, 0},
      {"eps", 'f', 0.001, 0}},
     1,
     {-0.7686971615, -0.4070832254, -0.9759612831, -1.0015497037}},
};

/* Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online Learning and Stochastic Optimization. As torch.optim.Adagrad. */
static void adagrad_step(const optimizer_step *s)
{
    const double g = s->g + variant_value(s->variant, "weight_decay") * *s->w;
    if (s->t == 1)
        s->state[0] = variant_value(s->variant, "initial_accumulator_value");
    s->state[0] += g * g;
    const double rate =
        s->lr / (1.0 + (double)(s->t - 1) * variant_value(s->variant, "lr_decay"));
    *s->w -= rate * g / (sqrt(s->state[0]) + variant_value(s->variant, "eps"));
}

const optimizer_case optimizer_tested = {
    "adagrad", 0.01, variants, sizeof variants / sizeof *variants, adagrad_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
