/* radam_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual: plain to step 5, adapted behind; never adapted; decoupled */
static const optimizer_variant variants[] = {
    {{{"betas", 'p', 0.9, 0.999},
      {"weight_decay", 'f', 0, 0},
      {"eps", 'f', 1e-08, 0},
      {"decoupled_weight_decay", 'b', 0, 0}},
     2,
     {-0.7774946760, -0.4089061557, -0.9770960248, -1.0140542849}},
    {{{"betas", 'p', 0.9, 0.5},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 1e-08, 0},
      {"decoupled_weight_decay", 'b', 0, 0}},
     2,
     {-0.7850822567, -0.4072899446, -0.9770773722, -1.0108475960}},
    {{{"betas", 'p', 0.5, 0.95},
      {"weight_decay", 'f', 0.1, 0},
      {"eps", 'f', 1e-08, 0},
      {"decoupled_weight_decay", 'b', 1, 0}},
     2,
     {-0.7675574451, -0.4064655936, -0.9693779503, -0.9963398144}},
};

/* Liu et al., On the Variance of the Adaptive Learning Rate and Beyond. As torch.optim.RAdam. */
static void radam_step(const optimizer_step *s)
{
    const double beta1 = variant_value(s->variant, "betas");
    const double beta2 = variant_second(s->variant, "betas");
    const double decay = variant_value(s->variant, "weight_decay");
    const bool decoupled = variant_value(s->variant, "decoupled_weight_decay") != 0.0;
    double *mean = &s->state[0], *square = &s->state[1], adapt = 1.0;
    *s->w *= decoupled ? 1.0 - s->lr * decay : 1.0;
    const double g = s->g + (decoupled ? 0.0 : decay * *s->w);
    *mean = beta1 * *mean + (1.0 - beta1) * g;
    *square = beta2 * *square + (1.0 - beta2) * g * g;
    const double power = pow(beta2, (double)s->t), most = 2.0 / (1.0 - beta2) - 1.0;
    const double rho = most - 2.0 * (double)s->t * power / (1.0 - power);
    if (rho > 5.0)
        adapt = sqrt((rho - 4.0) * (rho - 2.0) * most / ((most - 4.0) * (most - 2.0) * rho)) *
                sqrt(1.0 - power) / (sqrt(*square) + 1e-8);
    *s->w -= s->lr / (1.0 - pow(beta1, (double)s->t)) * *mean * adapt;
}

const optimizer_case optimizer_tested = {
    "radam", 0.01, variants, sizeof variants / sizeof *variants, radam_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
