/* sgd_test.c - the optimizer through its entry function, against its definition in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../optimizer_check.h"

/* plain, momentum, Nesterov */
static const optimizer_variant variants[] = {
    {{{"weight_decay", 'f', 0.02, 0},
      {"momentum", 'f', 0, 0},
      {"dampening", 'f', 0, 0},
      {"nesterov", 'b', 0, 0}},
     0,
     {-0.9246903749, -0.4246494170, -0.9427251265, -0.9714907705}},
    {{{"weight_decay", 'f', 0.02, 0},
      {"momentum", 'f', 0.9, 0},
      {"dampening", 'f', 0.1, 0},
      {"nesterov", 'b', 0, 0}},
     1,
     {-1.5639325515, -0.3570195708, -1.0570784032, -1.0845772280}},
    {{{"weight_decay", 'f', 0.02, 0},
      {"momentum", 'f', 0.9, 0},
      {"dampening", 'f', 0, 0},
      {"nesterov", 'b', 1, 0}},
     1,
     {-1.6816278571, -0.3698494931, -1.0541224816, -1.0048550157}},
};

/* PyTorch's: the decay is part of the gradient, and the first step takes the gradient undamped. */
static void sgd_step(const optimizer_step *s)
{
    const double momentum = variant_value(s->variant, "momentum");
    double g = s->g, *buf = &s->state[0];
    g += variant_value(s->variant, "weight_decay") * *s->w;
    if (momentum != 0.0) {
        *buf = s->t == 1 ? g
                         : momentum * *buf + (1.0 - variant_value(s->variant, "dampening")) * g;
        g = variant_value(s->variant, "nesterov") != 0.0 ? g + momentum * *buf : *buf;
    }
    *s->w -= s->lr * g;
}

const optimizer_case optimizer_tested = {
    "sgd", 0.1, variants, sizeof variants / sizeof *variants, sgd_step, false};

START_TEST(nesterov_needs_momentum_and_no_dampening)
{
    test_settings g;
    settings_of(&g, &variants[_i]);
    test_settings_bool(&g, "nesterov", 1);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "sgd", &g, TUTTI_E_ARG,
                           "sgd: nesterov needs a momentum above 0 and a dampening of 0");
}
END_TEST

static void more(TCase *tc)
{
    tcase_add_loop_test(tc, nesterov_needs_momentum_and_no_dampening, 0, 2);
}

int main(void)
{
    return optimizer_run(more);
}
