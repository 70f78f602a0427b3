/* mask_tokens_test.c - which tokens are hidden, by what, and what the target then asks for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../transform_check.h"

enum { T = 64, VOCABULARY = 50, SAMPLES = 1000, MASK = 7, PAD = 3 };

static bench b;
static test_settings g;

static void settings(int with_mask_token)
{
    test_settings_init(&g);
    test_settings_float(&g, "probability", 0.15);
    test_settings_float(&g, "mask_share", 0.8);
    test_settings_float(&g, "random_share", 0.1);
    if (with_mask_token)
        test_settings_int(&g, "mask_token", MASK);
    else
        test_settings_null(&g, "mask_token");
}

static tutti_status infer(tutti_column *columns, uint32_t n)
{
    b.err = (tutti_error)TUTTI_ERROR_INIT;
    return b.table->infer(b.subject.self, columns, n, &b.err);
}

static void open_with(int with_mask_token, int32_t dtype)
{
    tutti_column columns[3] = {{"weight", {{0}, 0, TUTTI_F32}, 0},
                               {"input", {{T}, 1, dtype}, VOCABULARY},
                               {"target", {{T}, 1, TUTTI_I64}, VOCABULARY}};
    settings(with_mask_token);
    bench_open(&b, "mask_tokens", &g);
    ck_assert_ok(infer(columns, 3), b.err);
    const tutti_desc want = {{T}, 1, TUTTI_I32};
    ck_assert(tutti_same_shape(&columns[2].desc, &want));
    ck_assert_int_eq(columns[1].classes, with_mask_token ? VOCABULARY : VOCABULARY + 1);
    ck_assert_int_eq(columns[2].classes, columns[1].classes);
}

/* Sample `index`: what the model sees and what it is asked for. */
static void mask(const int32_t *tokens, uint64_t epoch, uint64_t index, int32_t *input,
                 int32_t *target)
{
    const tutti_desc one = {{T}, 1, TUTTI_I32};
    float weight = 1.0f;
    tutti_tensor columns[3] = {{&weight, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0},
                               {(void *)(uintptr_t)tokens, one, TUTTI_DEVICE_CPU, 0},
                               {target, one, TUTTI_DEVICE_CPU, 0}};
    const tutti_sample sample = {sizeof sample, 3, 17, epoch, index, columns};
    int32_t *const to[3] = {NULL, input, target};
    for (uint32_t k = 0; k < 3; k++) {
        tutti_tensor out = {to[k], {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
        ck_assert_int_eq(b.table->apply(b.subject.self, &sample, k, &columns[k], &out, &b.err),
                         k > 0);
        if (k)
            ck_assert(tutti_same_shape(&out.desc, &one));
    }
}

static void fill(int32_t *tokens, uint64_t sample)
{
    for (int t = 0; t < T; t++)
        tokens[t] = (int32_t)((sample * 13 + (uint64_t)t * 7) % VOCABULARY);
}

/* Counts within five standard deviations of 64,000 tokens, 9,600 of them drawn. */
START_TEST(tokens_are_hidden_changed_or_kept_in_their_shares)
{
    int32_t tokens[T], input[T], target[T];
    int drawn = 0, masked = 0, changed = 0, most = 0;
    const int32_t mask_token = _i ? MASK : VOCABULARY;
    open_with(_i, TUTTI_I32);
    for (uint64_t k = 0; k < SAMPLES; k++) {
        fill(tokens, k);
        mask(tokens, 1, k, input, target);
        for (int t = 0; t < T; t++) {
            if (target[t] == -100) {
                ck_assert_int_eq(input[t], tokens[t]);
                continue;
            }
            ck_assert_int_eq(target[t], tokens[t]);
            drawn++;
            masked += input[t] == mask_token;
            changed += input[t] != mask_token && input[t] != tokens[t];
            most = input[t] > most ? input[t] : most;
        }
    }
    ck_assert_close(drawn, 9600, 452);
    ck_assert_close(masked, 0.8 * drawn + (_i ? 0.004 * drawn : 0), 196);
    ck_assert_close(changed, 0.098 * drawn, 146); /* one in fifty is the token itself */
    ck_assert_int_eq(most, _i ? VOCABULARY - 1 : VOCABULARY);
    subject_close(&b.subject);
}
END_TEST

START_TEST(draws_are_keyed_by_epoch_and_sample)
{
    int32_t tokens[T], input[2][T], target[2][T];
    int differ = 0;
    open_with(1, TUTTI_I32);
    fill(tokens, 0);
    for (uint64_t k = 0; k < 100; k++) {
        mask(tokens, 1, k, input[0], target[0]);
        mask(tokens, 1, k, input[1], target[1]);
        ck_assert_mem_eq(input[0], input[1], sizeof *input);
        ck_assert_mem_eq(target[0], target[1], sizeof *target);
        mask(tokens, 2, k, input[1], target[1]);
        differ += memcmp(target[0], target[1], sizeof *target) != 0;
    }
    ck_assert_int_eq(differ, 100);
    subject_close(&b.subject);
}
END_TEST

START_TEST(wide_tokens_stay_wide)
{
    int64_t tokens[T], input[T];
    int32_t narrow[T], seen[T], target[T];
    const tutti_desc one = {{T}, 1, TUTTI_I64};
    open_with(1, TUTTI_I64);
    fill(narrow, 5);
    for (int t = 0; t < T; t++)
        tokens[t] = narrow[t];
    mask(narrow, 1, 5, seen, target);
    tutti_tensor columns[3] = {{0}, {tokens, one, TUTTI_DEVICE_CPU, 0}, {0}};
    tutti_tensor out = {input, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
    const tutti_sample sample = {sizeof sample, 3, 17, 1, 5, columns};
    ck_assert_int_eq(b.table->apply(b.subject.self, &sample, 1, &columns[1], &out, &b.err), 1);
    ck_assert(tutti_same_shape(&out.desc, &one));
    for (int t = 0; t < T; t++)
        ck_assert_int_eq(input[t], seen[t]);
    subject_close(&b.subject);
}
END_TEST

/* In the middle: all tokens but the special ones are asked for, all are kept. */
START_TEST(special_tokens_are_never_drawn)
{
    int32_t tokens[T], input[T], target[T];
    tutti_column columns[2] = {{"target", {{T}, 1, TUTTI_I32}, VOCABULARY},
                               {"input", {{T}, 1, TUTTI_I32}, VOCABULARY}};
    const int64_t special = PAD;
    settings(1);
    test_settings_float(&g, "probability", 1.0);
    test_settings_ints(&g, "special_tokens", &special, 1);
    bench_open(&b, "mask_tokens", &g);
    ck_assert_ok(infer(columns, 2), b.err);
    for (int t = 0; t < T; t++)
        tokens[t] = t % 2 ? PAD : t % VOCABULARY;
    const tutti_desc one = {{T}, 1, TUTTI_I32};
    tutti_tensor all[2] = {{target, one, TUTTI_DEVICE_CPU, 0},
                           {tokens, one, TUTTI_DEVICE_CPU, 0}};
    const tutti_sample sample = {sizeof sample, 2, 17, 0, 0, all};
    for (uint32_t k = 0; k < 2; k++) {
        tutti_tensor out = {k ? input : target, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
        ck_assert_int_eq(b.table->apply(b.subject.self, &sample, k, &all[k], &out, &b.err), 1);
    }
    for (int t = 0; t < T; t++) {
        ck_assert_int_eq(target[t], tokens[t] == PAD ? -100 : tokens[t]);
        if (tokens[t] == PAD)
            ck_assert_int_eq(input[t], PAD);
    }
    subject_close(&b.subject);
}
END_TEST

START_TEST(what_cannot_be_masked_is_refused)
{
    tutti_column columns[2] = {{"input", {{T}, 1, TUTTI_I32}, VOCABULARY},
                               {"label", {{T}, 1, TUTTI_I32}, VOCABULARY}};
    settings(1);
    bench_open(&b, "mask_tokens", &g);
    ck_assert_int_eq(infer(columns, 2), TUTTI_E_NOTFOUND);
    ck_assert_error(b.err, TUTTI_E_NOTFOUND,
                    "mask_tokens: the data has no column \"target\", want \"input\" and "
                    "\"target\"");
    strcpy(columns[1].name, "target");
    columns[0].desc.dtype = TUTTI_F32;
    ck_assert_int_eq(infer(columns, 2), TUTTI_E_ARG);
    ck_assert_error(b.err, TUTTI_E_ARG,
                    "mask_tokens: the input is F32 (64), want tokens (T) of I32 or I64");
    columns[0].desc.dtype = TUTTI_I32;
    columns[0].classes = columns[1].classes = 0;
    ck_assert_int_eq(infer(columns, 2), TUTTI_E_ARG);
    ck_assert_error(b.err, TUTTI_E_ARG,
                    "mask_tokens: the data does not say how many tokens there are");
    columns[0].classes = MASK;
    ck_assert_int_eq(infer(columns, 2), TUTTI_E_RANGE);
    ck_assert_error(b.err, TUTTI_E_RANGE,
                    "mask_tokens: mask_token is 7, the data has 7 tokens");
    subject_close(&b.subject);
    test_settings_float(&g, "random_share", 0.3);
    ck_assert_open_refused(PLUGIN_PATH, TUTTI_KIND_TRANSFORM, "mask_tokens", &g, TUTTI_E_ARG,
                           "mask_tokens: mask_share 0.8 and random_share 0.3 are more than 1");
}
END_TEST

START_TEST(a_host_that_shows_one_column_alone_is_refused)
{
    int32_t tokens[T] = {0}, input[T];
    const tutti_desc one = {{T}, 1, TUTTI_I32};
    const tutti_tensor in = {tokens, one, TUTTI_DEVICE_CPU, 0};
    tutti_tensor out = {input, {{0}, 0, 0}, TUTTI_DEVICE_CPU, 0};
    const tutti_sample sample = {.struct_size = 32};
    open_with(1, TUTTI_I32);
    ck_assert_int_eq(b.table->apply(b.subject.self, &sample, 1, &in, &out, &b.err),
                     TUTTI_E_UNSUPPORTED);
    ck_assert_error(b.err, TUTTI_E_UNSUPPORTED,
                    "mask_tokens: this host does not show a transform the whole sample");
    subject_close(&b.subject);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mask_tokens");
    TCase *c = tcase_create("all");
    tcase_add_loop_test(c, tokens_are_hidden_changed_or_kept_in_their_shares, 0, 2);
    tcase_add_test(c, draws_are_keyed_by_epoch_and_sample);
    tcase_add_test(c, wide_tokens_stay_wide);
    tcase_add_test(c, special_tokens_are_never_drawn);
    tcase_add_test(c, what_cannot_be_masked_is_refused);
    tcase_add_test(c, a_host_that_shows_one_column_alone_is_refused);
    suite_add_tcase(suite, c);
    return tutti_run(suite);
}
