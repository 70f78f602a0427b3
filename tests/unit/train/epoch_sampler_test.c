/* epoch_sampler_test.c - draws by weight have its shares, and groups by length are those of Hugging Face's sampler. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/epoch_sampler_order.h"
#include "train/data/epoch_sampler_read.h"
#include "tutti_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 9, PLACES = 90000 };

static tutti_error err = TUTTI_ERROR_INIT;
static const double weight[SAMPLES] = {0.0, 1.0, 2.0, 0.0, 0.0, 4.0, 0.5, 0.0, 0.0};

static tutti_epoch epoch_of(uint64_t seed, int64_t epoch)
{
    return (tutti_epoch){
        .struct_size = sizeof(tutti_epoch), .shuffle = 1, .seed = seed, .epoch = epoch};
}

START_TEST(draws_have_the_shares_of_their_weights)
{
    static int64_t index[PLACES], again[PLACES];
    double sums[SAMPLES], sum = 0.0;
    int64_t count[SAMPLES] = {0};
    const tutti_epoch one = epoch_of(3, _i), other = epoch_of(3, _i + 1);
    for (int k = 0; k < SAMPLES; k++)
        sums[k] = sum += weight[k];
    epoch_sampler_draw(sums, SAMPLES, &one, PLACES, index);
    for (int k = 0; k < PLACES; k++)
        count[index[k]]++;
    for (int k = 0; k < SAMPLES; k++) { /* five standard deviations of a binomial draw */
        const double p = weight[k] / sum;
        ck_assert_close((double)count[k], PLACES * p, 5.0 * sqrt(PLACES * p * (1.0 - p)));
    }
    epoch_sampler_draw(sums, SAMPLES, &one, PLACES, again);
    ck_assert_mem_eq(index, again, sizeof index);
    epoch_sampler_draw(sums, SAMPLES, &other, PLACES, again);
    ck_assert_mem_ne(index, again, sizeof index);
}
END_TEST

START_TEST(without_replacement_none_comes_twice)
{
    enum { EPOCHS = 20000 };
    int64_t first[SAMPLES] = {0}, index[SAMPLES];
    for (int64_t e = 0; e < EPOCHS; e++) {
        const tutti_epoch epoch = epoch_of(11, e);
        int seen[SAMPLES] = {0};
        ck_assert_ok(epoch_sampler_draw_once(weight, SAMPLES, &epoch, 4, index, &err), err);
        for (int k = 0; k < 4; k++) {
            ck_assert(weight[index[k]] > 0.0);
            ck_assert_int_eq(seen[index[k]]++, 0);
        }
        first[index[0]]++;
    }
    for (int k = 0; k < SAMPLES; k++) { /* the first draw is one by weight */
        const double p = weight[k] / 7.5;
        ck_assert_close((double)first[k], EPOCHS * p, 5.0 * sqrt(EPOCHS * p * (1.0 - p)));
    }
}
END_TEST

/* Samples, those of a batch, and a digest of the order: tests/peers/length_groups.py, transformers 5.23.0. */
static const struct {
    int64_t samples, batch;
    uint64_t want;
} groups[] = {
    {1, 1, 0xaf63bd4c8601b7dfu},     {7, 8, 0x9e7354579af125b4u},
    {40, 4, 0x8b5008880ec46745u},    {333, 8, 0x43674522a58c55b3u},
    {1000, 4, 0xf9a9dc4e361cf70du},  {5000, 6, 0x2945a75dd9aaf003u},
    {2048, 16, 0xc5d37064e6091e5fu},
};

START_TEST(groups_are_those_of_transformers)
{
    static int64_t length[5000], index[5000];
    const int64_t n = groups[_i].samples;
    uint64_t h = 14695981039346656037u;
    for (int64_t k = 0; k < n; k++) {
        length[k] = (k * k * 7 + 3 * k) % 97 + k % 5;
        index[k] = (k * 7919 + 5) % n;
    }
    ck_assert_ok(epoch_sampler_group(length, n, groups[_i].batch, index, &err), err);
    for (int64_t k = 0; k < n; k++)
        h = (h ^ (uint64_t)index[k]) * 1099511628211u;
    ck_assert_uint_eq(h, groups[_i].want);
}
END_TEST

static const struct {
    const char *text, *want;
} files[] = {
    {"1\n2.5\n 0 \r\n", ""},
    {"1\n2.5\n", "weights.txt has 2 weights, there are 3 samples"},
    {"1\n2\n3\n4\n", "weights.txt has 4 weights, there are 3 samples"},
    {"1\n-2\n3\n", "weights.txt:2: want a weight, 0 or more"},
    {"1\n2 x\n3\n", "weights.txt:2: want a weight, 0 or more"},
    {"1\n\n3\n", "weights.txt:2: want a weight, 0 or more"},
    {"nan\n2\n3\n", "weights.txt:1: want a weight, 0 or more"},
    {"0\n0\n0\n", "weights.txt: the weights add up to 0, want more than 0"},
};

START_TEST(a_file_has_a_weight_a_line)
{
    double read[3];
    FILE *file = fopen("weights.txt", "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(files[_i].text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    err = (tutti_error)TUTTI_ERROR_INIT;
    const tutti_status s = epoch_sampler_read_weights("weights.txt", 3, read, &err);
    ck_assert_str_eq(err.text, files[_i].want);
    ck_assert_int_eq(s, *files[_i].want ? TUTTI_E_FORMAT : TUTTI_OK);
    if (!s)
        ck_assert_close(read[1], 2.5, 0);
    ck_assert_int_eq(remove("weights.txt"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *c = tcase_create("sampler");
    tcase_add_loop_test(c, draws_have_the_shares_of_their_weights, 0, 4);
    tcase_add_test(c, without_replacement_none_comes_twice);
    tcase_add_loop_test(c, groups_are_those_of_transformers, 0,
                        (int)(sizeof groups / sizeof *groups));
    tcase_add_loop_test(c, a_file_has_a_weight_a_line, 0, (int)(sizeof files / sizeof *files));
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
