/* bert_model_test.c - bert as the host builds it: size, f32 plans against f64, published files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_plans.h"
#include "published.h"
#include "train/pretrained/pretrained.h"

#include <stdio.h>

enum { B = 2, T = 7, VOCABULARY = 23, LABELS = 3 };

/* Which columns there are beside tokens and targets. */
enum { PLAIN, MASKED, TYPED_AND_MASKED };

static tutti_column columns[4];

/* Builds for sequences of `length`; `labels` is 0 for a target a token. */
static void build_for(made *m, const char *json, int64_t length, int64_t labels, int more)
{
    const tutti_desc tokens = {{length}, 1, TUTTI_I32}, mask = {{length}, 1, TUTTI_U8};
    columns[0] = (tutti_column){"input", tokens, VOCABULARY};
    columns[1] = (tutti_column){"target", tokens, VOCABULARY};
    if (labels)
        columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, labels};
    columns[2] = (tutti_column){"attention_mask", mask, 0};
    columns[3] = (tutti_column){"token_type_ids", tokens, 0};
    build(m, json, columns, 2 + (uint32_t)more);
}

typedef struct size_case {
    const char *json;
    int64_t labels;
    int64_t want;
} size_case;

/* As the published ones are counted: bert-base-uncased 109,514,298 with its head for tokens; without
 * pooler and head 108,891,648, and 590,592 for the pooler and 768 N + N for the classifier. */
static const size_case sizes[] = {
    {"{\"name\":\"bert\",\"vocab_size\":30522,\"max_position_embeddings\":512}", 0, 109514298},
    {"{\"name\":\"bert\",\"vocab_size\":30522,\"max_position_embeddings\":512,"
     "\"head\":\"classification\"}",
     2, 108891648 + 590592 + 2 * 769},
};

START_TEST(a_model_has_as_many_weights_as_it_should)
{
    made m;
    const tutti_column target = {"target", {{0}, 0, TUTTI_I32}, sizes[_i].labels};
    columns[0] = (tutti_column){"input", {{128}, 1, TUTTI_I32}, 0};
    columns[1] = sizes[_i].labels ? target : columns[0];
    strcpy(columns[1].name, "target");
    make(&m, sizes[_i].json, columns, 2);
    ck_assert_msg(m.model != NULL, "%s", err.text);
    ck_assert_ok(net_build(m.net, m.model, columns, 2, &err), err);
    ck_assert_int_eq(count_declared(&m), sizes[_i].want);
    unmake(&m);
}
END_TEST

/* ---- f32 against f64 ---- */

/* Memory of a batch. */
typedef struct numbers {
    int32_t input[B * T], target[B * T], types[B * T];
    uint8_t mask[B * T];
} numbers;

/* Random tokens, two thirds of which nothing is asked for; the second sequence is padded from 5 on. */
static trial batch(numbers *n, int labels, int more)
{
    const tutti_desc tokens = {{B, T}, 2, TUTTI_I32}, bytes = {{B, T}, 2, TUTTI_U8};
    const tutti_desc label = {{B}, 1, TUTTI_I32};
    tutti_stream r = tutti_stream_at(3, TUTTI_RNG_PLUGIN, 0, 0);
    for (int k = 0; k < B * T; k++) {
        n->input[k] = (int32_t)tutti_stream_below(&r, VOCABULARY);
        n->target[k] = (int32_t)tutti_stream_below(&r, labels ? LABELS : VOCABULARY);
        if (!labels && k % 3)
            n->target[k] = -100;
        n->types[k] = k % T > 3;
        n->mask[k] = k < T || k % T < 5;
    }
    trial t = {.inputs = {{n->input, tokens, TUTTI_DEVICE_CPU, 0}},
               .target = {n->target, labels ? label : tokens, TUTTI_DEVICE_CPU, 0},
               .ninputs = 1,
               .least = 1e-3,
               .outputs = 1e-5,
               .gradient = 1e-4};
    if (more == TYPED_AND_MASKED)
        t.inputs[t.ninputs++] = (tutti_tensor){n->types, tokens, TUTTI_DEVICE_CPU, 0};
    if (more)
        t.inputs[t.ninputs++] = (tutti_tensor){n->mask, bytes, TUTTI_DEVICE_CPU, 0};
    return t;
}

static const char *const kinds[] = {
    "{\"name\":\"bert\",\"num_hidden_layers\":2,\"num_attention_heads\":3,\"hidden_size\":12,"
    "\"dropout\":0}",
    "{\"name\":\"bert\",\"num_hidden_layers\":1,\"num_attention_heads\":2,\"hidden_size\":8,"
    "\"intermediate_size\":20,\"max_position_embeddings\":16,\"dropout\":0.2}",
    "{\"name\":\"bert\",\"num_hidden_layers\":2,\"num_attention_heads\":3,\"hidden_size\":12,"
    "\"dropout\":0,\"head\":\"classification\"}",
    "{\"name\":\"bert\",\"num_hidden_layers\":1,\"num_attention_heads\":4,\"hidden_size\":8,"
    "\"type_vocab_size\":1,\"dropout\":0.1,\"head\":\"classification\"}",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Each kind in both modes; types of tokens where there are two, with and without a mask. */
START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    numbers n;
    const int kind = _i % KINDS, mode = _i / KINDS % 2, labels = kind > 1 ? LABELS : 0;
    const int more = _i / KINDS < 2 ? PLAIN : kind < 3 ? TYPED_AND_MASKED : MASKED;
    const tutti_desc tokens = {{B, T, VOCABULARY}, 3, TUTTI_F32};
    const tutti_desc classes = {{B, LABELS}, 2, TUTTI_F32};
    const trial t = batch(&n, labels, more);
    build_for(&m, kinds[kind], T, labels, more);
    stir(&m, 0.5);
    compare(&m, mode ? TUTTI_MODE_TRAIN : TUTTI_MODE_EVAL, &t, labels ? &classes : &tokens);
    unmake(&m);
}
END_TEST

/* ---- files in the layout of the published ones ---- */

enum { C = 12, HEADS = 3, LAYERS = 2, WIDE = 20, LONGEST = 16 };

static const char *const published_models[] = {
    "{\"name\":\"bert\",\"num_hidden_layers\":2,\"num_attention_heads\":3,\"hidden_size\":12,"
    "\"intermediate_size\":20,\"max_position_embeddings\":16}",
    "{\"name\":\"bert\",\"num_hidden_layers\":2,\"num_attention_heads\":3,\"hidden_size\":12,"
    "\"intermediate_size\":20,\"max_position_embeddings\":16,\"head\":\"classification\"}",
};

static void publish_linear(published *f, int64_t in, int64_t out, const char *name)
{
    publish(f, out, in, 0, "%s.weight", name);
    publish(f, 0, out, 0, "%s.bias", name);
}

/* Files of before 2019's rename have gamma and beta. */
static void publish_norm(published *f, int old, const char *name)
{
    publish(f, 0, C, 1, "%s.LayerNorm.%s", name, old ? "gamma" : "weight");
    publish(f, 0, C, 0, "%s.LayerNorm.%s", name, old ? "beta" : "bias");
}

static void publish_layer(published *f, int layer, int old)
{
    static const struct {
        const char *name;
        int64_t in, out;
    } products[] = {{"attention.self.query", C, C},  {"attention.self.key", C, C},
                    {"attention.self.value", C, C},  {"attention.output.dense", C, C},
                    {"intermediate.dense", C, WIDE}, {"output.dense", WIDE, C}};
    char name[64];
    for (size_t k = 0; k < sizeof products / sizeof *products; k++) {
        (void)snprintf(name, sizeof name, "bert.encoder.layer.%d.%s", layer, products[k].name);
        publish_linear(f, products[k].in, products[k].out, name);
    }
    (void)snprintf(name, sizeof name, "bert.encoder.layer.%d.attention.output", layer);
    publish_norm(f, old, name);
    (void)snprintf(name, sizeof name, "bert.encoder.layer.%d.output", layer);
    publish_norm(f, old, name);
}

/* BertForMaskedLM's tensors, or BertForSequenceClassification's. */
static void publish_all(published *f, int labels, int old)
{
    memset(f, 0, sizeof *f);
    publish(f, VOCABULARY, C, 0, "bert.embeddings.word_embeddings.weight");
    publish(f, LONGEST, C, 0, "bert.embeddings.position_embeddings.weight");
    publish(f, 2, C, 0, "bert.embeddings.token_type_embeddings.weight");
    publish_norm(f, old, "bert.embeddings");
    for (int l = 0; l < LAYERS; l++)
        publish_layer(f, l, old);
    if (labels) {
        publish_linear(f, C, C, "bert.pooler.dense");
        publish_linear(f, C, LABELS, "classifier");
        return;
    }
    publish(f, 0, VOCABULARY, 0, "cls.predictions.bias");
    publish(f, 0, VOCABULARY, 0, "cls.predictions.decoder.bias"); /* tied in PyTorch: unused */
    publish_linear(f, C, C, "cls.predictions.transform.dense");
    publish_norm(f, old, "cls.predictions.transform");
}

/* ---- BERT once more, a sequence at a time, in f64 ---- */

/* y (out) = w (out, in) x + bias */
static void multiply(const published *f, const char *name, const double *x, int in, int out,
                     double *y)
{
    const float *w = published_find(f, "%s.weight", name);
    const float *bias = published_find(f, "%s.bias", name);
    for (int o = 0; o < out; o++) {
        y[o] = (double)bias[o];
        for (int i = 0; i < in; i++)
            y[o] += x[i] * (double)w[o * in + i];
    }
}

static void norm(const published *f, const char *name, double *x)
{
    const int old = strstr(f->names[3], "gamma") != NULL;
    normalise(x, published_find(f, "%s.LayerNorm.%s", name, old ? "gamma" : "weight"),
              published_find(f, "%s.LayerNorm.%s", name, old ? "beta" : "bias"), C, 1e-12, x);
}

static double gelu(double x)
{
    return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
}

static void attend(const published *f, const char *layer, const uint8_t *mask, double x[T][C])
{
    double q[T][C], k[T][C], v[T][C];
    char name[96];
    for (int part = 0; part < 3; part++)
        for (int t = 0; t < T; t++) {
            (void)snprintf(name, sizeof name, "%s.attention.self.%s", layer,
                           part == 0   ? "query"
                           : part == 1 ? "key"
                                       : "value");
            multiply(f, name, x[t], C, C, part == 0 ? q[t] : part == 1 ? k[t] : v[t]);
        }
    for (int t = 0; t < T; t++) {
        double mixed[C] = {0}, y[C];
        for (int h = 0; h < HEADS; h++) {
            const int d = C / HEADS;
            double e[T], sum = 0;
            for (int j = 0; j < T; j++) {
                double dot = 0;
                for (int c = 0; c < d; c++)
                    dot += q[t][h * d + c] * k[j][h * d + c];
                sum += e[j] = mask[j] ? exp(dot / sqrt(d)) : 0;
            }
            for (int j = 0; j < T; j++)
                for (int c = 0; c < d; c++)
                    mixed[h * d + c] += e[j] / sum * v[j][h * d + c];
        }
        (void)snprintf(name, sizeof name, "%s.attention.output.dense", layer);
        multiply(f, name, mixed, C, C, y);
        for (int c = 0; c < C; c++)
            x[t][c] += y[c];
        (void)snprintf(name, sizeof name, "%s.attention.output", layer);
        norm(f, name, x[t]);
    }
}

static void think(const published *f, const char *layer, double x[C])
{
    double wide[WIDE], y[C];
    char name[96];
    (void)snprintf(name, sizeof name, "%s.intermediate.dense", layer);
    multiply(f, name, x, C, WIDE, wide);
    for (int c = 0; c < WIDE; c++)
        wide[c] = gelu(wide[c]);
    (void)snprintf(name, sizeof name, "%s.output.dense", layer);
    multiply(f, name, wide, WIDE, C, y);
    for (int c = 0; c < C; c++)
        x[c] += y[c];
    (void)snprintf(name, sizeof name, "%s.output", layer);
    norm(f, name, x);
}

static void encode(const published *f, const numbers *n, int b, double x[T][C])
{
    const float *words = published_find(f, "bert.embeddings.word_embeddings.weight");
    const float *places = published_find(f, "bert.embeddings.position_embeddings.weight");
    const float *types = published_find(f, "bert.embeddings.token_type_embeddings.weight");
    char layer[48];
    for (int t = 0; t < T; t++) {
        for (int c = 0; c < C; c++)
            x[t][c] = (double)words[n->input[b * T + t] * C + c] + (double)places[t * C + c] +
                      (double)types[n->types[b * T + t] * C + c];
        norm(f, "bert.embeddings", x[t]);
    }
    for (int l = 0; l < LAYERS; l++) {
        (void)snprintf(layer, sizeof layer, "bert.encoder.layer.%d", l);
        attend(f, layer, n->mask + b * T, x);
        for (int t = 0; t < T; t++)
            think(f, layer, x[t]);
    }
}

static void own_tokens(const published *f, const numbers *n, double *logits)
{
    const float *words = published_find(f, "bert.embeddings.word_embeddings.weight");
    const float *bias = published_find(f, "cls.predictions.bias");
    for (int b = 0; b < B; b++) {
        double x[T][C], y[C];
        encode(f, n, b, x);
        for (int t = 0; t < T; t++) {
            multiply(f, "cls.predictions.transform.dense", x[t], C, C, y);
            for (int c = 0; c < C; c++)
                y[c] = gelu(y[c]);
            norm(f, "cls.predictions.transform", y);
            for (int v = 0; v < VOCABULARY; v++) {
                double *to = &logits[(b * T + t) * VOCABULARY + v];
                *to = (double)bias[v];
                for (int c = 0; c < C; c++)
                    *to += y[c] * (double)words[v * C + c];
            }
        }
    }
}

static void own_classes(const published *f, const numbers *n, double *logits)
{
    for (int b = 0; b < B; b++) {
        double x[T][C], y[C];
        encode(f, n, b, x);
        multiply(f, "bert.pooler.dense", x[0], C, C, y);
        for (int c = 0; c < C; c++)
            y[c] = tanh(y[c]);
        multiply(f, "classifier", y, C, LABELS, logits + b * LABELS);
    }
}

/* Both heads, with today's names and with the first ones. */
START_TEST(a_published_file_gives_the_same_logits_as_another_implementation)
{
    made m;
    numbers n;
    published f;
    uint64_t unused = 7;
    double want[B * T * VOCABULARY];
    const int labels = _i % 2 ? LABELS : 0;
    const trial t = batch(&n, labels, TYPED_AND_MASKED);
    const tutti_step step = {.struct_size = sizeof step};
    publish_all(&f, labels, _i / 2);
    published_write(&f, "");
    build_for(&m, published_models[_i % 2], T, labels, TYPED_AND_MASKED);
    ck_assert_ok(pretrained_load(m.net, f.path, &unused, &err), err);
    ck_assert_uint_eq(unused, labels ? 0 : 1);
    if (labels)
        own_classes(&f, &n, want);
    else
        own_tokens(&f, &n, want);
    plan *p = planned(&m, PLAN_EVAL, &t);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    const tutti_tensor got = plan_output(p, 0);
    ck_close_all("logits", got.data, want, tutti_numel(&got.desc), 1e-3, 1e-5);
    unmake(&m);
    published_close(&f);
}
END_TEST

START_TEST(a_file_without_the_head_is_refused)
{
    made m;
    published f;
    uint64_t unused = 0;
    publish_all(&f, 0, 0);
    published_write(&f, "");
    build_for(&m, published_models[1], T, LABELS, PLAIN);
    ck_assert_int_eq(pretrained_load(m.net, f.path, &unused, &err), TUTTI_E_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, ", which the model needs"));
    unmake(&m);
    published_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bert_model");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_model_has_as_many_weights_as_it_should, 0, 2);
    tcase_add_loop_test(t, a_plan_computes_what_the_definition_says, 0, 4 * KINDS);
    tcase_add_loop_test(t, a_published_file_gives_the_same_logits_as_another_implementation, 0,
                        4);
    tcase_add_test(t, a_file_without_the_head_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
