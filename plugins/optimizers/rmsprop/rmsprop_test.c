/* rmsprop_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* usual; momentum and decay; centered; all of it */
static const optimizer_variant variants[] = {
    {{{"alpha", 'f', 0.9, 0},
      {"weight_decay", 'f', 0, 0},
      {"eps", 'f', 1e-08, 0},
      {"momentum", 'f', 0, 0},
      {"centered", 'b', 0, 0}},
     1,
     {-0.8147630989, -0.4101986554, -0.9650576395, -1.0069804903}},
    {{{"alpha", 'f', 0.9, 0},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 1e-08, 0},
      {"momentum", 'f', 0.9, 0},
      {"centered", 'b', 0, 0}},
     2,
     {-1.0564761133, -0.3833928432, -0.9516857824, -1.0770092689}},
    {{{"alpha", 'f', 0.5, 0},
      {"weight_decay", 'f', 0, 0},
      {"eps", 'f', 0.001, 0},
      {"momentum", 'f', 0, 0},
      {"centered", 'b', 1, 0}},
     3,
     {-0.8046074031, -0.4060978581, -0.9653185124, -0.9972938122}},
    {{{"alpha", 'f', 0.9, 0},
      {"weight_decay", 'f', 0.02, 0},
      {"eps", 'f', 0.01, 0},
      {"momentum", 'f', 0.5, 0},
      {"centered", 'b', 1, 0}},
     3,
     {-0.8670725169, -0.3915644023, -0.9582365602, -1.0180972360}},
};

/* Tieleman and Hinton, lecture 6.5 of Neural Networks for Machine Learning; centered: Graves, Generating Sequences With Recurrent Neural Networks. As torch.optim.RMSprop. */
static void rmsprop_step(const optimizer_step *s)
{
    const double alpha = variant_value(s->variant, "alpha");
    const double g = s->g + variant_value(s->variant, "weight_decay") * *s->w;
    double *square = &s->state[0], *buffer = &s->state[1], *mean = &s->state[2];
    *square = alpha * *square + (1.0 - alpha) * g * g;
    *mean = alpha * *mean + (1.0 - alpha) * g;
    const double off = variant_value(s->variant, "centered") != 0.0 ? *mean * *mean : 0.0;
    const double step = g / (sqrt(*square - off) + variant_value(s->variant, "eps"));
    *buffer = variant_value(s->variant, "momentum") * *buffer + step;
    *s->w -= s->lr * *buffer;
}

const optimizer_case optimizer_tested = {
    "rmsprop", 0.01, variants, sizeof variants / sizeof *variants, rmsprop_step, false};

int main(void)
{
    return optimizer_run(NULL);
}
