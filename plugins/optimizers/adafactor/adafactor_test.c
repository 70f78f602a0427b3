/* adafactor_test.c - the optimizer through its entry function, against torch 2.15.0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../weight_check.h"

/* usual; a vector with decay; batches of matrices, of other settings; a row; several parts; a column */
static const weight_variant variants[] = {
    {{{"beta2_decay", 'f', -0.8, 0},
      {"eps", 'p', 1.1920928955078125e-07, 0.001},
      {"d", 'f', 1.0, 0},
      {"weight_decay", 'f', 0.0, 0}},
     NULL,
     2,
     2,
     {5, 7},
     {-0.8567017991, -0.4139639465, -0.9607690586, -0.9919697200},
     4.0660466371,
     1e-6},
    {{{"beta2_decay", 'f', -0.8, 0},
      {"eps", 'p', 1.1920928955078125e-07, 0.001},
      {"d", 'f', 1.0, 0},
      {"weight_decay", 'f', 0.1, 0}},
     NULL,
     2,
     1,
     {67},
     {-0.7951676907, -0.3861172721, -0.9164593212, -0.9364601417},
     5.1533899312,
     1e-6},
    {{{"beta2_decay", 'f', -0.5, 0},
      {"eps", 'p', 0.001, 0.1},
      {"d", 'f', 1.5, 0},
      {"weight_decay", 'f', 0.0, 0}},
     NULL,
     2,
     4,
     {3, 2, 3, 3},
     {-0.8402389206, -0.4159029360, -0.9495240997, -0.9875228885},
     4.9387468991,
     1e-6},
    {{{"beta2_decay", 'f', -0.8, 0},
      {"eps", 'p', 1.1920928955078125e-07, 0.001},
      {"d", 'f', 1.0, 0},
      {"weight_decay", 'f', 0.02, 0}},
     NULL,
     2,
     2,
     {1, 9},
     {-0.8455245309, -0.3906502706, -0.9380333031, -0.9594321660},
     2.6017939354,
     1e-6},
    {{{"beta2_decay", 'f', -0.8, 0},
      {"eps", 'p', 1.1920928955078125e-07, 0.001},
      {"d", 'f', 1.0, 0},
      {"weight_decay", 'f', 0.0, 0}},
     NULL,
     2,
     2,
     {130, 300},
     {-0.8465204111, -0.4199740533, -0.9683492988, -0.9928813386},
     114.6214254394,
     1e-6},
    {{{"beta2_decay", 'f', -0.8, 0},
      {"eps", 'p', 1.1920928955078125e-07, 0.001},
      {"d", 'f', 1.0, 0},
      {"weight_decay", 'f', 0.0, 0}},
     NULL,
     2,
     2,
     {9, 1},
     {-0.8528271632, -0.3940851920, -0.9462428048, -0.9678331659},
     2.6242907434,
     1e-6},
};

const weight_case weight_tested = {"adafactor", 0.05, variants,
                                   sizeof variants / sizeof *variants};

/* Rows and columns of a matrix, all numbers of a vector: what torch's state has. */
START_TEST(state_is_that_of_rows_and_columns)
{
    static const tutti_desc want[][2] = {
        {{{5, 1}, 2, TUTTI_F32}, {{1, 7}, 2, TUTTI_F32}},
        {{{67}, 1, TUTTI_F32}, {{0}, 1, TUTTI_F32}},
        {{{3, 2, 3, 1}, 4, TUTTI_F32}, {{3, 2, 1, 3}, 4, TUTTI_F32}},
    };
    for (int k = 0; k < 3; k++) {
        weight_drill d;
        weight_open(&d, &variants[k]);
        for (int slot = 0; slot < 2; slot++)
            ck_assert(tutti_same_shape(&d.shape[slot], &want[k][slot]));
        weight_close(&d);
    }
}
END_TEST

static void adafactor_tests(TCase *tc)
{
    tcase_add_test(tc, state_is_that_of_rows_and_columns);
}

int main(void)
{
    return weight_run(adafactor_tests);
}
