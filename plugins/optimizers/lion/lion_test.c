/* lion_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual; decay */
static const optimizer_variant variants[] = {
    {{{"betas", 'p', 0.9, 0.99}, {"weight_decay", 'f', 0, 0}},
     1,
     {-0.8013469410, -0.4202672596, -0.9689551754, -0.9930930090}},
    {{{"betas", 'p', 0.5, 0.9}, {"weight_decay", 'f', 0.1, 0}},
     1,
     {-0.7945785476, -0.4166941652, -0.9604881085, -0.9694218665}},
};

/* Chen et al., Symbolic Discovery of Optimization Algorithms, program 1. The answers are timm 1.0.31's. */
static void lion_step(const optimizer_step *s)
{
    const double beta1 = variant_value(s->variant, "betas");
    const double beta2 = variant_second(s->variant, "betas");
    const double c = beta1 * s->state[0] + (1.0 - beta1) * s->g;
    *s->w *= 1.0 - s->lr * variant_value(s->variant, "weight_decay");
    *s->w -= s->lr * (double)((c > 0.0) - (c < 0.0));
    s->state[0] = beta2 * s->state[0] + (1.0 - beta2) * s->g;
}

const optimizer_case optimizer_tested = {
    "lion", 0.01, variants, sizeof variants / sizeof *variants, lion_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
