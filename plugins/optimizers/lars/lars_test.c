/* lars_test.c - the optimizer through its entry function, against timm 1.0.31. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../weight_check.h"

/* usual; momentum with dampening; nesterov, clipped; no decay, so no ratio; no decay and a ratio, of several
 * pieces */
static const weight_variant variants[] = {
    {{{"momentum", 'f', 0, 0},
      {"dampening", 'f', 0, 0},
      {"weight_decay", 'f', 0.01, 0},
      {"nesterov", 'b', 0, 0},
      {"trust_coeff", 'f', 0.001, 0},
      {"eps", 'f', 1e-08, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0}},
     NULL,
     0,
     2,
     {5, 7},
     {-0.7565569585, -0.4082840496, -0.9769224897, -0.9980808809},
     3.9021679483,
     1e-6},
    {{{"momentum", 'f', 0.9, 0},
      {"dampening", 'f', 0.2, 0},
      {"weight_decay", 'f', 0.01, 0},
      {"nesterov", 'b', 0, 0},
      {"trust_coeff", 'f', 0.02, 0},
      {"eps", 'f', 1e-08, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0}},
     NULL,
     1,
     1,
     {67},
     {-0.7738189900, -0.4075043732, -0.9784164227, -1.0027448980},
     5.2085978362,
     1e-6},
    {{{"momentum", 'f', 0.5, 0},
      {"dampening", 'f', 0, 0},
      {"weight_decay", 'f', 0.1, 0},
      {"nesterov", 'b', 1, 0},
      {"trust_coeff", 'f', 0.1, 0},
      {"eps", 'f', 1e-08, 0},
      {"trust_clip", 'b', 1, 0},
      {"always_adapt", 'b', 0, 0}},
     NULL,
     1,
     4,
     {3, 2, 3, 3},
     {-0.9568457365, -0.3764415140, -0.8085919758, -0.8288229792},
     4.9784914964,
     1e-6},
    {{{"momentum", 'f', 0.5, 0},
      {"dampening", 'f', 0, 0},
      {"weight_decay", 'f', 0, 0},
      {"nesterov", 'b', 0, 0},
      {"trust_coeff", 'f', 0.001, 0},
      {"eps", 'f', 1e-08, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 0, 0}},
     NULL,
     1,
     1,
     {9},
     {-1.0949719447, -0.4201937450, -0.9934474909, -1.0063467272},
     2.9586282743,
     1e-6},
    {{{"momentum", 'f', 0.9, 0},
      {"dampening", 'f', 0, 0},
      {"weight_decay", 'f', 0, 0},
      {"nesterov", 'b', 0, 0},
      {"trust_coeff", 'f', 0.001, 0},
      {"eps", 'f', 0.1, 0},
      {"trust_clip", 'b', 0, 0},
      {"always_adapt", 'b', 1, 0}},
     NULL,
     1,
     2,
     {130, 300},
     {-0.7572727582, -0.4082365501, -0.9771555327, -0.9982152027},
     113.6802772756,
     1e-6},
};

const weight_case weight_tested = {"lars", 0.1, variants, sizeof variants / sizeof *variants};

START_TEST(nesterov_needs_momentum_and_no_dampening)
{
    test_settings g;
    drill_settings(&g, weight_tested.lr, variants[_i].settings);
    test_settings_bool(&g, "nesterov", 1);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_OPTIMIZER, "lars", &g, TUTTI_E_ARG,
                           "lars: nesterov needs a momentum above 0 and a dampening of 0");
}
END_TEST

static void more(TCase *tc)
{
    tcase_add_loop_test(tc, nesterov_needs_momentum_and_no_dampening, 0, 2);
}

int main(void)
{
    return weight_run(more);
}
