/* adadelta_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual; decay */
static const optimizer_variant variants[] = {
    {{{"rho", 'f', 0.9, 0}, {"eps", 'f', 1e-06, 0}, {"weight_decay", 'f', 0, 0}},
     2,
     {-0.7564272382, -0.4082787895, -0.9769397821, -0.9980831486}},
    {{{"rho", 'f', 0.5, 0}, {"eps", 'f', 0.001, 0}, {"weight_decay", 'f', 0.1, 0}},
     2,
     {-0.7572316462, -0.4081332954, -0.9763529001, -0.9969414281}},
};

/* Zeiler, ADADELTA: An Adaptive Learning Rate Method. As torch.optim.Adadelta. */
static void adadelta_step(const optimizer_step *s)
{
    const double rho = variant_value(s->variant, "rho"), eps = variant_value(s->variant, "eps");
    const double g = s->g + variant_value(s->variant, "weight_decay") * *s->w;
    double *square = &s->state[0], *steps = &s->state[1];
    *square = rho * *square + (1.0 - rho) * g * g;
    const double step = sqrt(*steps + eps) / sqrt(*square + eps) * g;
    *steps = rho * *steps + (1.0 - rho) * step * step;
    *s->w -= s->lr * step;
}

const optimizer_case optimizer_tested = {
    "adadelta", 0.01, variants, sizeof variants / sizeof *variants, adadelta_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
