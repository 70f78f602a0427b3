/* gpt2_model_test.c - gpt2 as the host builds it: size, f32 plans against f64, published files. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/interp.h"
#include "graph/net_internal.h"
#include "op_table.h"
#include "train/pretrained.h"
#include "tutti/rng.h"
#include "tutti_check.h"

#include <math.h>
#include <unistd.h>

enum { B = 2, T = 7, VOCABULARY = 23 };

/* One model in a net of its own. */
typedef struct made {
    registry *plugins;
    net *net;
    instance *model;
    const tutti_model_v1 *table;
} made;

static tutti_error err;

static const void *services(void *ctx, instance *i, const char *id)
{
    (void)i;
    return strcmp(id, TUTTI_MODULE_V1) == 0 ? net_modules(((made *)ctx)->net) : NULL;
}

static instance *open_model(made *m, const char *json)
{
    static const char *const skip[] = {"name", NULL};
    const object *o;
    json_doc *doc;
    instance *i;
    faults *f = faults_create();
    ck_assert_ok(json_parse("test", json, strlen(json), &doc, &err), err);
    ck_assert_ok(registry_find(m->plugins, TUTTI_KIND_MODEL, "gpt2", &o, &err), err);
    tutti_params *params = params_from_json(o, json_root(doc), skip, ".", f);
    ck_assert_msg(params != NULL, "%s", faults_count(f) ? faults_text(f, 0) : "no memory");
    ck_assert_ok(instance_open(o, "gpt2", params, services, m, &i, &err), err);
    json_free(doc);
    faults_destroy(f);
    return i;
}

static void build(made *m, const char *json, int64_t length, int64_t vocabulary)
{
    const tutti_column columns[2] = {{"input", {{length}, 1, TUTTI_I32}, 0},
                                     {"target", {{length}, 1, TUTTI_I32}, vocabulary}};
    char path[512];
    memset(m, 0, sizeof *m);
    memset(&err, 0, sizeof err);
    (void)snprintf(path, sizeof path, "%s/lib/tutti/plugins", getenv("TUTTI_BUILD"));
    ck_assert_int_eq(setenv("TUTTI_PLUGIN_PATH", path, 1), 0);
    const registry_options where = {.trust = TRUST_NONE};
    ck_assert_ok(registry_create(&where, &m->plugins, &err), err);
    const net_options options = {.ops = tutti_op_table,
                                 .layers = m->plugins,
                                 .services = services,
                                 .services_ctx = m,
                                 .seed = 5,
                                 .threads = 2};
    ck_assert_ok(net_create(&options, &m->net, &err), err);
    m->model = open_model(m, json);
    m->table = instance_query(m->model, TUTTI_MODEL_V1);
    ck_assert_ok(net_build(m->net, m->model, columns, 2, &err), err);
    ck_assert_ok(net_commit(m->net, &err), err);
}

static void unmake(made *m)
{
    net_destroy(m->net);
    instance_free(m->model);
    registry_destroy(m->plugins);
}

static int64_t count_trainable(const made *m)
{
    int64_t n = 0;
    for (uint32_t k = 0; k < net_weight_count(m->net); k++)
        n += tutti_numel(&net_weight(m->net, k)->data.desc);
    return n;
}

/* GPT-2 small: 124,439,808 weights.  A tiny one: V C + T C + (12 C^2 + 13 C) a block + 2 C. */
START_TEST(a_model_has_as_many_weights_as_it_should)
{
    made m;
    build(&m, "{\"name\":\"gpt2\",\"n_layer\":3,\"n_head\":2,\"n_embd\":8}", 16, 65);
    ck_assert_int_eq(count_trainable(&m), 65 * 8 + 16 * 8 + 3 * (12 * 64 + 13 * 8) + 16);
    unmake(&m);
}
END_TEST

/* ---- f32 against f64 ---- */

static void ck_close_all(const char *what, const float *got, const double *want, int64_t n,
                         double tolerance)
{
    double scale = 1e-3, worst = 0.0;
    for (int64_t k = 0; k < n; k++)
        scale = fmax(scale, fabs(want[k]));
    for (int64_t k = 0; k < n; k++) {
        ck_assert_msg(isfinite(got[k]), "%s: element %lld is %g", what, (long long)k,
                      (double)got[k]);
        worst = fmax(worst, fabs((double)got[k] - want[k]));
    }
    ck_assert_msg(worst <= tolerance * scale, "%s is off by %g, largest %g", what, worst,
                  scale);
}

/* Normal numbers of standard deviation 0.3, so that attention is far from even. */
static void stir(made *m)
{
    tutti_stream r = tutti_stream_at(11, TUTTI_RNG_PLUGIN, 0, 0);
    for (uint32_t k = 0; k < net_weight_count(m->net); k++) {
        const tutti_tensor *t = &net_weight(m->net, k)->data;
        for (int64_t i = 0; i < tutti_numel(&t->desc); i++)
            ((float *)t->data)[i] += (float)(tutti_stream_uniform(&r) - 0.5);
    }
}

static void draw_tokens(int32_t *input, int32_t *target)
{
    tutti_stream r = tutti_stream_at(3, TUTTI_RNG_PLUGIN, 0, 0);
    for (int k = 0; k < B * T; k++) {
        input[k] = (int32_t)(tutti_stream_uniform(&r) * VOCABULARY);
        target[k] = k % 5 == 1 ? -100 : (int32_t)(tutti_stream_uniform(&r) * VOCABULARY);
    }
}

static void load(interp *it, const graph *g, const net *n)
{
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        if (graph_value_at(g, v)->kind != VALUE_WEIGHT)
            continue;
        const weight *w = n->weights[graph_value_at(g, v)->index];
        const tutti_tensor t = {w->data, w->desc, TUTTI_DEVICE_CPU, 0};
        interp_load(it, v, &t);
    }
}

static const char *const kinds[] = {
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12}",
    "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,\"block_size\":16}",
    "{\"name\":\"gpt2\",\"n_layer\":1,\"n_head\":4,\"n_embd\":16,\"alibi\":true}",
    "{\"name\":\"gpt2\",\"n_layer\":1,\"n_head\":2,\"n_embd\":8,\"dropout\":0.2}",
};

/* Outputs, loss (with some targets ignored), and in training the gradients of all weights; the f64
 * side from the definitions of the operations and their gradient rules. */
START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    const int train = _i % 2;
    int32_t input[B * T], target[B * T];
    build(&m, kinds[_i / 2], T, VOCABULARY);
    stir(&m);
    draw_tokens(input, target);
    const plan_request request = {.kind = train ? PLAN_TRAIN : PLAN_EVAL,
                                  .ninputs = 1,
                                  .ntargets = 1,
                                  .inputs = {{{B, T}, 2, TUTTI_I32}},
                                  .targets = {{{B, T}, 2, TUTTI_I32}}};
    graph *g = net_graph(m.net, train ? TUTTI_MODE_TRAIN : TUTTI_MODE_EVAL);
    tutti_graph *b = graph_builder(g);
    const tutti_value in = graph_input(g, &request.inputs[0]);
    const tutti_value want = graph_input(g, &request.targets[0]);
    tutti_value out = 0, wrt[64], dw[64];
    (void)m.table->trace(instance_self(m.model), b, 1, &in, 1, &out, 1);
    const tutti_value loss =
        m.table->loss(instance_self(m.model), b, &out, 1, &want, 1, TUTTI_REDUCTION_MEAN);
    ck_assert_ok(graph_error(g, &err), err);
    uint32_t nwrt = 0;
    if (train) {
        float one = 1.0f;
        const tutti_tensor unit = {&one, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
        const tutti_value dloss = b->constant(b, &unit);
        for (tutti_value v = 1; v < graph_nvalues(g) && nwrt < 64; v++)
            if (graph_value_at(g, v)->kind == VALUE_WEIGHT)
                wrt[nwrt++] = v;
        ck_assert_int_eq(graph_gradient(g, &loss, &dloss, 1, wrt, nwrt, dw), TUTTI_OK);
    }
    interp *it;
    ck_assert_ok(interp_create(g, &it, &err), err);
    const tutti_tensor xt = {input, request.inputs[0], TUTTI_DEVICE_CPU, 0};
    const tutti_tensor yt = {target, request.targets[0], TUTTI_DEVICE_CPU, 0};
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    load(it, g, m.net);
    interp_load(it, in, &xt);
    interp_load(it, want, &yt);
    ck_assert_ok(interp_run(it, 0, graph_nnodes(g), &step, &err), err);

    plan *p;
    ck_assert_ok(net_plan(m.net, &request, &p, &err), err);
    memcpy(plan_input(p, 0).data, input, sizeof input);
    memcpy(plan_target(p, 0).data, target, sizeof target);
    for (int segment = 0; segment < (train ? 3 : 2); segment++)
        ck_assert_ok(plan_run(p, segment, &step, 1.0f, &err), err);
    const tutti_desc logits = {{B, T, VOCABULARY}, 3, TUTTI_F32};
    const tutti_tensor got = plan_output(p, 0), l = plan_loss(p);
    ck_assert(tutti_same_shape(&got.desc, &logits));
    ck_assert_int_eq(l.desc.rank, 0);
    ck_close_all("logits", got.data, interp_value(it, out), tutti_numel(&logits), 1e-5);
    ck_close_all("loss", l.data, interp_value(it, loss), 1, 1e-5);
    for (uint32_t k = 0; k < nwrt; k++) {
        const weight *w = m.net->weights[graph_value_at(g, wrt[k])->index];
        ck_assert_uint_ne(dw[k], 0);
        ck_close_all(w->path, w->grad, interp_value(it, dw[k]), tutti_numel(&w->desc), 1e-4);
    }
    interp_destroy(it);
    graph_destroy(g);
    unmake(&m);
}
END_TEST

START_TEST(a_loss_a_sample_is_the_mean_over_its_own_tokens)
{
    made m;
    int32_t input[B * T], target[B * T];
    build(&m, kinds[0], T, VOCABULARY);
    stir(&m);
    draw_tokens(input, target);
    plan_request request = {.kind = PLAN_LOSSES,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {{{B, T}, 2, TUTTI_I32}},
                            .targets = {{{B, T}, 2, TUTTI_I32}}};
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    plan *p;
    double sum = 0.0, count = 0.0;
    ck_assert_ok(net_plan(m.net, &request, &p, &err), err);
    memcpy(plan_input(p, 0).data, input, sizeof input);
    memcpy(plan_target(p, 0).data, target, sizeof target);
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
    request.kind = PLAN_EVAL;
    ck_assert_ok(net_plan(m.net, &request, &p, &err), err);
    memcpy(plan_input(p, 0).data, input, sizeof input);
    memcpy(plan_target(p, 0).data, target, sizeof target);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &step, 1.0f, &err), err);
    ck_assert_close(*(const float *)plan_loss(p).data, sum / count, 1e-5);
    unmake(&m);
}
END_TEST

/* ---- a file in the layout of the published ones ---- */

enum { C = 12, HEADS = 3, LAYERS = 2, WIDE = 4 * C, LONGEST = 16, TENSORS = 64 };

/* The file's tensors, f32, as they lie. */
typedef struct published {
    char names[TENSORS][48];
    int64_t shape[TENSORS][4];
    int32_t rank[TENSORS];
    float *data[TENSORS];
    int count;
} published;

static int64_t published_size(const published *f, int k)
{
    int64_t n = 1;
    for (int r = 0; r < f->rank[k]; r++)
        n *= f->shape[k][r];
    return n;
}

/* Adds h.<layer>.<name>, or <name> for layer -1, of random numbers about `centre`. */
static void publish(published *f, int layer, const char *name, int64_t rows, int64_t cols,
                    double centre)
{
    const int k = f->count++;
    tutti_stream r = tutti_stream_at(31, TUTTI_RNG_PLUGIN, (uint64_t)k, 0);
    ck_assert_int_lt(k, TENSORS);
    if (layer < 0)
        (void)snprintf(f->names[k], sizeof f->names[k], "%s", name);
    else
        (void)snprintf(f->names[k], sizeof f->names[k], "h.%d.%s", layer, name);
    f->rank[k] = rows ? 2 : 1;
    f->shape[k][0] = rows ? rows : cols;
    f->shape[k][1] = cols;
    f->data[k] = malloc((size_t)published_size(f, k) * sizeof(float));
    for (int64_t i = 0; i < published_size(f, k); i++)
        f->data[k][i] = (float)(centre + tutti_stream_uniform(&r) - 0.5);
}

static void publish_all(published *f)
{
    memset(f, 0, sizeof *f);
    publish(f, -1, "wte.weight", VOCABULARY, C, 0);
    publish(f, -1, "wpe.weight", LONGEST, C, 0);
    for (int l = 0; l < LAYERS; l++) {
        publish(f, l, "ln_1.weight", 0, C, 1);
        publish(f, l, "ln_1.bias", 0, C, 0);
        publish(f, l, "attn.bias", LONGEST, LONGEST, 0); /* the mask, which is no weight */
        publish(f, l, "attn.c_attn.weight", C, 3 * C, 0);
        publish(f, l, "attn.c_attn.bias", 0, 3 * C, 0);
        publish(f, l, "attn.c_proj.weight", C, C, 0);
        publish(f, l, "attn.c_proj.bias", 0, C, 0);
        publish(f, l, "ln_2.weight", 0, C, 1);
        publish(f, l, "ln_2.bias", 0, C, 0);
        publish(f, l, "mlp.c_fc.weight", C, WIDE, 0);
        publish(f, l, "mlp.c_fc.bias", 0, WIDE, 0);
        publish(f, l, "mlp.c_proj.weight", WIDE, C, 0);
        publish(f, l, "mlp.c_proj.bias", 0, C, 0);
    }
    publish(f, -1, "ln_f.weight", 0, C, 1);
    publish(f, -1, "ln_f.bias", 0, C, 0);
}

/* Names in the header run backwards, each with `prefix`. */
static void published_write(const published *f, const char *path, const char *prefix)
{
    char header[16384];
    int64_t end = 0;
    size_t used =
        (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int k = 0; k < f->count; k++)
        end += published_size(f, k) * 4;
    for (int k = f->count; k-- > 0;) {
        const int64_t first = end - published_size(f, k) * 4;
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 ",\"%s%s\":{\"dtype\":\"F32\",\"shape\":[%lld", prefix,
                                 f->names[k], (long long)f->shape[k][0]);
        if (f->rank[k] == 2)
            used += (size_t)snprintf(header + used, sizeof header - used, ",%lld",
                                     (long long)f->shape[k][1]);
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "],\"data_offsets\":[%lld,%lld]}", (long long)first,
                                 (long long)end);
        end = first;
    }
    used += (size_t)snprintf(header + used, sizeof header - used, "}");
    while (used % 8)
        header[used++] = ' ';
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    for (int k = 0; k < 8; k++)
        ck_assert_int_ne(fputc((int)(used >> 8 * k & 255), file), EOF);
    ck_assert_uint_eq(fwrite(header, 1, used, file), used);
    for (int k = 0; k < f->count; k++)
        ck_assert_uint_eq(fwrite(f->data[k], 4, (size_t)published_size(f, k), file),
                          (size_t)published_size(f, k));
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- GPT-2 once more, a sequence at a time, in f64 ---- */

static const float *tensor(const published *f, int layer, const char *name)
{
    char full[64];
    if (layer < 0)
        (void)snprintf(full, sizeof full, "%s", name);
    else
        (void)snprintf(full, sizeof full, "h.%d.%s", layer, name);
    for (int k = 0; k < f->count; k++)
        if (strcmp(f->names[k], full) == 0)
            return f->data[k];
    ck_abort_msg("no tensor %s", full);
    return NULL;
}

static void normalise(const double *x, const float *w, const float *bias, double *y)
{
    double mean = 0, var = 0;
    for (int c = 0; c < C; c++)
        mean += x[c] / C;
    for (int c = 0; c < C; c++)
        var += (x[c] - mean) * (x[c] - mean) / C;
    for (int c = 0; c < C; c++)
        y[c] = (x[c] - mean) / sqrt(var + 1e-5) * (double)w[c] + (double)bias[c];
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
        normalise(x[t], tensor(f, l, "ln_1.weight"), tensor(f, l, "ln_1.bias"), norm);
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
    normalise(x, tensor(f, l, "ln_2.weight"), tensor(f, l, "ln_2.bias"), norm);
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
        normalise(x[t], tensor(f, -1, "ln_f.weight"), tensor(f, -1, "ln_f.bias"), norm);
        for (int v = 0; v < VOCABULARY; v++) {
            logits[t * VOCABULARY + v] = 0;
            for (int c = 0; c < C; c++)
                logits[t * VOCABULARY + v] += norm[c] * (double)wte[v * C + c];
        }
    }
}

static char file_path[64];

static void published_open(published *f, const char *prefix)
{
    strcpy(file_path, "/tmp/tutti_gpt2_XXXXXX");
    const int fd = mkstemp(file_path);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    publish_all(f);
    published_write(f, file_path, prefix);
}

static void published_close(published *f)
{
    for (int k = 0; k < f->count; k++)
        free(f->data[k]);
    ck_assert_int_eq(unlink(file_path), 0);
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
    build(&m, published_model, T, VOCABULARY);
    ck_assert_ok(pretrained_load(m.net, file_path, &unused, &err), err);
    ck_assert_uint_eq(unused, LAYERS); /* the masks */
    draw_tokens(input, target);
    for (int b = 0; b < B; b++)
        own_logits(&f, input + b * T, want + b * T * VOCABULARY);
    const plan_request request = {
        .kind = PLAN_EVAL, .ninputs = 1, .inputs = {{{B, T}, 2, TUTTI_I32}}};
    const tutti_step step = {.struct_size = sizeof step};
    plan *p;
    ck_assert_ok(net_plan(m.net, &request, &p, &err), err);
    memcpy(plan_input(p, 0).data, input, sizeof input);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_close_all("logits", plan_output(p, 0).data, want, B * T * VOCABULARY, 1e-5);
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
    build(&m, "{\"name\":\"gpt2\",\"n_layer\":3,\"n_head\":3,\"n_embd\":12,\"block_size\":16}",
          T, VOCABULARY);
    ck_assert_int_eq(pretrained_load(m.net, file_path, &unused, &err), TUTTI_E_NOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.text, ": has no h.2."));
    unmake(&m);
    build(&m, "{\"name\":\"gpt2\",\"n_layer\":2,\"n_head\":3,\"n_embd\":12,\"block_size\":15}",
          T, VOCABULARY);
    ck_assert_int_eq(pretrained_load(m.net, file_path, &unused, &err), TUTTI_E_SHAPE);
    (void)snprintf(sentence, sizeof sentence,
                   "%s: wpe.weight is F32 (16, 12), the model's is F32 (15, 12)", file_path);
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
