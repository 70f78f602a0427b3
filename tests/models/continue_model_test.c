/* continue_model_test.c - models that go on with sequences, piece by piece, against the whole sequence at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_plans.h"

enum { B = 2, T = 11, V = 23 };

static const char *const models[] = {
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12}",
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":2,\"n_embd\":64,\"block_size\":40}",
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":6,\"n_embd\":24,\"alibi\":true,\"dropout\":0."
    "1}",
    "{\"name\":\"llama\",\"num_hidden_layers\":2,\"num_attention_heads\":6,"
    "\"num_key_value_heads\":2,\"hidden_size\":24,\"intermediate_size\":20,"
    "\"qk_norm\":true}",
};
static const int64_t contexts[] = {T, 40, T, T};
enum { MODELS = sizeof models / sizeof *models };

static const tutti_column columns[2] = {{"input", {{T}, 1, TUTTI_I32}, 0},
                                        {"target", {{T}, 1, TUTTI_I32}, V}};
static const tutti_step step = {.struct_size = sizeof step};

static void draw(int32_t *tokens, uint64_t seed)
{
    tutti_stream r = tutti_stream_at(seed, TUTTI_RNG_PLUGIN, 0, 0);
    for (int k = 0; k < B * T; k++)
        tokens[k] = (int32_t)(tutti_stream_uniform(&r) * V);
}

/* The logits of whole sequences. */
static void whole(made *m, const int32_t *tokens, double *ret)
{
    const plan_request r = {
        .kind = PLAN_EVAL, .ninputs = 1, .inputs = {{{B, T}, 2, TUTTI_I32}}};
    plan *p;
    ck_assert_ok(net_plan(m->net, &r, &p, &err), err);
    memcpy(plan_input(p, 0).data, tokens, B * T * sizeof *tokens);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    for (int k = 0; k < B * T * V; k++)
        ret[k] = (double)((const float *)plan_output(p, 0).data)[k];
}

static plan_request request(int64_t n)
{
    return (plan_request){.kind = PLAN_CONTINUE,
                          .ninputs = 2,
                          .inputs = {{{B, n}, 2, TUTTI_I32}, {{n}, 1, TUTTI_I32}},
                          .context = T};
}

/* Runs tokens [at, at + n) of each sequence; their logits, (B, n, V). */
static const float *piece(made *m, const int32_t *tokens, int64_t at, int64_t n)
{
    const plan_request r = request(n);
    plan *p;
    ck_assert_ok(net_plan(m->net, &r, &p, &err), err);
    for (int64_t b = 0; b < B; b++)
        memcpy((int32_t *)plan_input(p, 0).data + b * n, tokens + b * T + at,
               (size_t)n * sizeof *tokens);
    for (int64_t k = 0; k < n; k++)
        ((int32_t *)plan_input(p, 1).data)[k] = (int32_t)(at + k);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    return plan_output(p, 0).data;
}

/* Every second round begins again in what the first has left. */
START_TEST(pieces_give_the_logits_of_the_whole)
{
    static const int64_t sizes[] = {4, 1, 1, 3, 1, 1};
    made m;
    int32_t tokens[B * T];
    static double want[B * T * V];
    build(&m, models[_i], columns, 2);
    stir(&m, 0.5);
    for (uint64_t round = 0; round < 2; round++) {
        draw(tokens, 3 + round);
        whole(&m, tokens, want);
        int64_t at = 0;
        for (int k = 0; k < 6; at += sizes[k++]) {
            const float *got = piece(&m, tokens, at, sizes[k]);
            for (int64_t b = 0; b < B; b++)
                ck_close_all("logits", got + b * sizes[k] * V, want + (b * T + at) * V,
                             sizes[k] * V, 1e-3, 1e-5);
        }
        ck_assert_int_eq(at, T);
    }
    ck_assert_uint_eq(net_count_plans(m.net).built, 4); /* whole, and pieces of 4, 3 and 1 */
    unmake(&m);
}
END_TEST

/* Tokens behind a text are written into the cache, and overwritten before anything sees them. */
START_TEST(what_lies_behind_the_position_means_nothing)
{
    made m;
    int32_t tokens[B * T], other[B * T];
    static double want[B * T * V];
    build(&m, models[_i], columns, 2);
    stir(&m, 0.5);
    draw(tokens, 8);
    whole(&m, tokens, want);
    memcpy(other, tokens, sizeof other);
    for (int b = 0; b < B; b++)
        for (int k = 3; k < 7; k++)
            other[b * T + k] = (other[b * T + k] + 1) % V;
    (void)piece(&m, other, 0, 7); /* the first three are the text's */
    for (int64_t at = 3; at < 7; at++)
        for (int64_t b = 0; b < B; b++)
            ck_close_all("logits", piece(&m, tokens, at, 1) + b * V, want + (b * T + at) * V, V,
                         1e-3, 1e-5);
    unmake(&m);
}
END_TEST

START_TEST(a_context_is_as_long_as_the_model_has_positions)
{
    made m;
    plan *p;
    build(&m, models[_i], columns, 2);
    plan_request r = request(1);
    ck_assert_ok(net_plan(m.net, &r, &p, &err), err);
    ck_assert_int_eq(plan_context(p), contexts[_i]);
    r.inputs[1].dim[0] = 2;
    ck_assert_int_eq(net_plan(m.net, &r, &p, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "a plan that goes on takes tokens (B, T), positions I32 (T), and how long "
                    "sequences may become");
    unmake(&m);
}
END_TEST

START_TEST(a_piece_beyond_the_positions_is_refused)
{
    made m;
    plan *p;
    build(&m, models[0], columns, 2);
    const plan_request r = request(T + 1);
    ck_assert_int_eq(net_plan(m.net, &r, &p, &err), TUTTI_E_RANGE);
    ck_assert_ptr_nonnull(strstr(err.text, "12 tokens"));
    memset(&err, 0, sizeof err);
    const plan_request one = request(1);
    ck_assert_ok(net_plan(m.net, &one, &p, &err), err);
    for (int b = 0; b < B; b++)
        ((int32_t *)plan_input(p, 0).data)[b] = 0;
    ((int32_t *)plan_input(p, 1).data)[0] = T;
    ck_assert_int_eq(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), TUTTI_E_RANGE);
    unmake(&m);
}
END_TEST

START_TEST(a_model_that_does_not_ask_for_positions_is_refused)
{
    made m;
    plan *p;
    build(&m,
          "{\"name\":\"bert\",\"num_hidden_layers\":1,\"num_attention_heads\":2,\"hidden_"
          "size\":8}",
          columns, 2);
    const plan_request r = request(1);
    ck_assert_int_eq(net_plan(m.net, &r, &p, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "cannot go on") != NULL, "%s", err.text);
    unmake(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("continue_model");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, pieces_give_the_logits_of_the_whole, 0, MODELS);
    tcase_add_loop_test(t, what_lies_behind_the_position_means_nothing, 0, MODELS);
    tcase_add_loop_test(t, a_context_is_as_long_as_the_model_has_positions, 0, MODELS);
    tcase_add_test(t, a_piece_beyond_the_positions_is_refused);
    tcase_add_test(t, a_model_that_does_not_ask_for_positions_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
