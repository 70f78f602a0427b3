/* gpt2_model_test.c - gpt2 as the host builds it: size, f32 plans against f64, published files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_plans.h"
#include "published.h"
#include "train/pretrained/pretrained.h"

#include <stdio.h>

enum { B = 2, T = 7, VOCABULARY = 23 };

static tutti_column columns[2];

/* Builds for sequences of `length` tokens out of `vocabulary`. */
static void build_for(made *m, const char *json, int64_t length, int64_t vocabulary)
{
    columns[0] = (tutti_column){"input", {{length}, 1, TUTTI_I32}, 0};
    columns[1] = (tutti_column){"target", {{length}, 1, TUTTI_I32}, vocabulary};
    build(m, json, columns, 2);
}

/* GPT-2 small: 124,439,808 weights.  A tiny one: V C + T C + (12 C^2 + 13 C) a block + 2 C. */
START_TEST(a_model_has_as_many_weights_as_it_should)
{
    made m;
    build_for(&m, "{\"name\":\"gpt2\",\"n_layer\":3,\"n_head\":2,\"n_embd\":8}", 16, 65);
    ck_assert_int_eq(count_trainable(&m), 65 * 8 + 16 * 8 + 3 * (12 * 64 + 13 * 8) + 16);
    unmake(&m);
}
END_TEST

/* ---- f32 against f64 ---- */

/* A batch of random tokens; some targets do not count. */
static trial batch(int32_t *input, int32_t *target)
{
    const tutti_desc tokens = {{B, T}, 2, TUTTI_I32};
    tutti_stream r = tutti_stream_at(3, TUTTI_RNG_PLUGIN, 0, 0);
    for (int k = 0; k < B * T; k++) {
        input[k] = (int32_t)(tutti_stream_uniform(&r) * VOCABULARY);
        target[k] = k % 5 == 1 ? -100 : (int32_t)(tutti_stream_uniform(&r) * VOCABULARY);
    }
    return (trial){.inputs = {{input, tokens, TUTTI_DEVICE_CPU, 0}},
                   .target = {target, tokens, TUTTI_DEVICE_CPU, 0},
                   .ninputs = 1,
                   .least = 1e-3,
                   .outputs = 1e-5,
                   .gradient = 1e-4};
}

static const char *const kinds[] = {
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12}",
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,\"block_size\":16}",
    "{\"name\":\"gpt2\",\"n_layer\":1,\"n_head\":4,\"n_embd\":16,\"alibi\":true}",
    "{\"name\":\"gpt2\",\"n_layer\":1,\"n_head\":2,\"n_embd\":8,\"dropout\":0.2}",
};

/* Weights are moved by up to a half, so that attention is far from even. */
START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    int32_t input[B * T], target[B * T];
    const tutti_desc logits = {{B, T, VOCABULARY}, 3, TUTTI_F32};
    const trial t = batch(input, target);
    build_for(&m, kinds[_i / 2], T, VOCABULARY);
    stir(&m, 0.5);
    compare(&m, _i % 2 ? TUTTI_MODE_TRAIN : TUTTI_MODE_EVAL, &t, &logits);
    unmake(&m);
}
END_TEST

START_TEST(a_loss_a_sample_is_the_mean_over_its_own_tokens)
{
    made m;
    int32_t input[B * T], target[B * T];
    const trial t = batch(input, target);
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    double sum = 0.0, count = 0.0;
    build_for(&m, kinds[0], T, VOCABULARY);
    stir(&m, 0.5);
    plan *p = planned(&m, PLAN_LOSSES, &t);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &step, 1.0f, &err), err);
    ck_assert_int_eq(plan_loss(p).desc.rank, 1);
    for (int b = 0; b < B; b++) {
        double counted = 0.0;
        for (int k = 0; k < T; k++)
            counted += target[b * T + k] != -100;
        sum += counted * (double)((const float *)plan_loss(p).data)[b];
        count += counted;
    }
    p = planned(&m, PLAN_EVAL, &t);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &step, 1.0f, &err), err);
    ck_assert_close(*(const float *)plan_loss(p).data, sum / count, 1e-5);
    unmake(&m);
}
END_TEST

/* ---- a file in the layout of the published ones ---- */

enum { C = 12, HEADS = 3, LAYERS = 2, WIDE = 4 * C, LONGEST = 16 };

static void publish_all(published *f)
{
    memset(f, 0, sizeof *f);
    publish(f, VOCABULARY, C, 0, "wte.weight");
    publish(f, LONGEST, C, 0, "wpe.weight");
    for (int l = 0; l < LAYERS; l++) {
        publish(f, 0, C, 1, "h.%d.ln_1.weight", l);
        publish(f, 0, C, 0, "h.%d.ln_1.bias", l);
        publish(f, LONGEST, LONGEST, 0, "h.%d.attn.bias", l); /* the mask, which is no weight */
        publish(f, C, 3 * C, 0, "h.%d.attn.c_attn.weight", l);
        publish(f, 0, 3 * C, 0, "h.%d.attn.c_attn.bias", l);
        publish(f, C, C, 0, "h.%d.attn.c_proj.weight", l);
        publish(f, 0, C, 0, "h.%d.attn.c_proj.bias", l);
        publish(f, 0, C, 1, "h.%d.ln_2.weight", l);
        publish(f, 0, C, 0, "h.%d.ln_2.bias", l);
        publish(f, C, WIDE, 0, "h.%d.mlp.c_fc.weight", l);
        publish(f, 0, WIDE, 0, "h.%d.mlp.c_fc.bias", l);
        publish(f, WIDE, C, 0, "h.%d.mlp.c_proj.weight", l);
        publish(f, 0, C, 0, "h.%d.mlp.c_proj.bias", l);
    }
    publish(f, 0, C, 1, "ln_f.weight");
    publish(f, 0, C, 0, "ln_f.bias");
}

/* ---- GPT-2 once more, a sequence at a time, in f64 ---- */

static const float *tensor(const published *f, int layer, const char *name)
{
    return layer < 0 ? published_find(f, "%s", name)
                     : published_find(f, "h.%d.%s", layer, name);
}

/* y (out) = bias + x (in) w (in, out) */
static void multiply(const double *x, const float *w, const float *bias, int in, int out,
                     double *y)
{
    for (int o = 0; o < out; o++) {
        y[o] = (double)bias[o];
        for (int i = 0; i < in; i++)
            y[o] += x[i] * (double)w[i * out + o];
    }
}

static void attend(const published *f, int l, double x[T][C])
{
    double qkv[T][3 * C];
    for (int t = 0; t < T; t++) {
        double norm[C], mixed[C] = {0}, y[C];
        normalise(x[t], tensor(f, l, "ln_1.weight"), tensor(f, l, "ln_1.bias"), C, 1e-5, norm);
        multiply(norm, tensor(f, l, "attn.c_attn.weight"), tensor(f, l, "attn.c_attn.bias"), C,
                 3 * C, qkv[t]);
        for (int h = 0; h < HEADS; h++) {
            const int d = C / HEADS;
            double e[T], sum = 0;
            for (int j = 0; j <= t; j++) {
                double dot = 0;
                for (int c = 0; c < d; c++)
                    dot += qkv[t][h * d + c] * qkv[j][C + h * d + c];
                sum += e[j] = exp(dot / sqrt(d));
            }
            for (int j = 0; j <= t; j++)
                for (int c = 0; c < d; c++)
                    mixed[h * d + c] += e[j] / sum * qkv[j][2 * C + h * d + c];
        }
        multiply(mixed, tensor(f, l, "attn.c_proj.weight"), tensor(f, l, "attn.c_proj.bias"), C,
                 C, y);
        for (int c = 0; c < C; c++)
            x[t][c] += y[c];
    }
}

static void think(const published *f, int l, double x[C])
{
    double norm[C], wide[WIDE], y[C];
    normalise(x, tensor(f, l, "ln_2.weight"), tensor(f, l, "ln_2.bias"), C, 1e-5, norm);
    multiply(norm, tensor(f, l, "mlp.c_fc.weight"), tensor(f, l, "mlp.c_fc.bias"), C, WIDE,
             wide);
    for (int c = 0; c < WIDE; c++)
        wide[c] *=
            0.5 *
            (1 + tanh(sqrt(2 / 3.14159265358979) * (wide[c] + 0.044715 * pow(wide[c], 3))));
    multiply(wide, tensor(f, l, "mlp.c_proj.weight"), tensor(f, l, "mlp.c_proj.bias"), WIDE, C,
             y);
    for (int c = 0; c < C; c++)
        x[c] += y[c];
}

static void own_logits(const published *f, const int32_t *tokens, double *logits)
{
    const float *wte = tensor(f, -1, "wte.weight"), *wpe = tensor(f, -1, "wpe.weight");
    double x[T][C];
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++)
            x[t][c] = (double)wte[tokens[t] * C + c] + (double)wpe[t * C + c];
    for (int l = 0; l < LAYERS; l++) {
        attend(f, l, x);
        for (int t = 0; t < T; t++)
            think(f, l, x[t]);
    }
    for (int t = 0; t < T; t++) {
        double norm[C];
        normalise(x[t], tensor(f, -1, "ln_f.weight"), tensor(f, -1, "ln_f.bias"), C, 1e-5,
                  norm);
        for (int v = 0; v < VOCABULARY; v++) {
            logits[t * VOCABULARY + v] = 0;
            for (int c = 0; c < C; c++)
                logits[t * VOCABULARY + v] += norm[c] * (double)wte[v * C + c];
        }
    }
}

static void published_open(published *f, const char *prefix)
{
    publish_all(f);
    published_write(f, prefix);
}

static const char published_model[] =
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,\"block_size\":16}";

START_TEST(a_published_file_gives_the_same_logits_as_another_implementation)
{
    made m;
    published f;
    uint64_t unused = 0;
    double want[B * T * VOCABULARY];
    int32_t input[B * T], target[B * T];
    published_open(&f, _i ? "transformer." : "");
    build_for(&m, published_model, T, VOCABULARY);
    ck_assert_ok(pretrained_load(m.net, f.path, &unused, &err), err);
    ck_assert_uint_eq(unused, LAYERS); /* the masks */
    const trial t = batch(input, target);
    for (int b = 0; b < B; b++)
        own_logits(&f, input + b * T, want + b * T * VOCABULARY);
    const tutti_step step = {.struct_size = sizeof step};
    plan *p = planned(&m, PLAN_EVAL, &t);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_close_all("logits", plan_output(p, 0).data, want, B * T * VOCABULARY, 1e-3, 1e-5);
    unmake(&m);
    published_close(&f);
}
END_TEST

START_TEST(a_file_of_another_model_is_refused)
{
    made m;
    published f;
    uint64_t unused = 0;
    char sentence[256];
    published_open(&f, "");
    build_for(&m,
              "{\"name\":\"gpt2\",\"n_layer\":3,\"n_head\":3,\"n_embd\":12,\"block_size\":16}",
              T, VOCABULARY);
    ck_assert_int_eq(pretrained_load(m.net, f.path, &unused, &err), TUTTI_E_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, ": has no h.2."));
    unmake(&m);
    build_for(&m,
              "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,\"block_size\":15}",
              T, VOCABULARY);
    ck_assert_int_eq(pretrained_load(m.net, f.path, &unused, &err), TUTTI_E_SHAPE);
    (void)snprintf(sentence, sizeof sentence,
                   "%s: wpe.weight is F32 (16, 12), the model's is F32 (15, 12)", f.path);
    ck_assert_error(err, TUTTI_E_SHAPE, sentence);
    unmake(&m);
    published_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpt2_model");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_model_has_as_many_weights_as_it_should);
    tcase_add_loop_test(t, a_plan_computes_what_the_definition_says, 0,
                        2 * (int)(sizeof kinds / sizeof *kinds));
    tcase_add_test(t, a_loss_a_sample_is_the_mean_over_its_own_tokens);
    tcase_add_loop_test(t, a_published_file_gives_the_same_logits_as_another_implementation, 0,
                        2);
    tcase_add_test(t, a_file_of_another_model_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
