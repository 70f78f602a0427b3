/* models_test.c - each model as the host builds it: sizes, shapes, f32 plans against f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/interp.h"
#include "graph/net_internal.h"
#include "op_table.h"
#include "tutti/rng.h"
#include "tutti_check.h"

enum { B = 3, CLASSES = 10 };

/* One model in a net of its own. */
typedef struct made {
    registry *plugins;
    net *net;
    instance *model;
    const tutti_model_v1 *table;
    tutti_column columns[2];
} made;

static tutti_error err;

static const void *services(void *ctx, instance *i, const char *id)
{
    (void)i;
    return strcmp(id, TUTTI_MODULE_V1) == 0 ? net_modules(((made *)ctx)->net) : NULL;
}

/* Opens the object that `json` describes, as a run file does. */
static instance *open_object(made *m, const char *kind, const char *json)
{
    static const char *const skip[] = {"name", "id", NULL};
    const object *o;
    json_doc *doc;
    instance *i;
    faults *f = faults_create();
    ck_assert_ok(json_parse("test", json, strlen(json), &doc, &err), err);
    const char *name = json_string(json_get(json_root(doc), "name"));
    ck_assert_ok(registry_find(m->plugins, kind, name, &o, &err), err);
    tutti_params *params = params_from_json(o, json_root(doc), skip, ".", f);
    ck_assert_msg(params != NULL, "%s", faults_count(f) ? faults_text(f, 0) : "no memory");
    const tutti_status s = instance_open(o, name, params, services, m, &i, &err);
    if (s)
        params_free(params);
    json_free(doc);
    faults_destroy(f);
    return s ? NULL : i;
}

static void describe(made *m, int32_t dtype, int64_t height, int64_t width, int64_t channels)
{
    memset(m->columns, 0, sizeof m->columns);
    strcpy(m->columns[0].name, "input");
    m->columns[0].desc = (tutti_desc){{height, width, channels}, 3, dtype};
    strcpy(m->columns[1].name, "target");
    m->columns[1].desc = (tutti_desc){{0}, 0, TUTTI_I32};
    m->columns[1].classes = CLASSES;
}

static void make(made *m, const char *json, int32_t dtype, int64_t side, int64_t channels)
{
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
                                 .threads = 1};
    ck_assert_ok(net_create(&options, &m->net, &err), err);
    describe(m, dtype, side, side, channels);
    m->model = open_object(m, TUTTI_KIND_MODEL, json);
    if (m->model)
        m->table = instance_query(m->model, TUTTI_MODEL_V1);
}

static void build(made *m, const char *json, int64_t side, int64_t channels)
{
    make(m, json, TUTTI_F32, side, channels);
    ck_assert_msg(m->model != NULL, "%s", err.text);
    ck_assert_ok(net_build(m->net, m->model, m->columns, 2, &err), err);
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
        if (net_weight(m->net, k)->flags & TUTTI_WEIGHT_TRAINABLE)
            n += tutti_numel(&net_weight(m->net, k)->data.desc);
    return n;
}

/* ---- sizes ---- */

typedef struct size_case {
    const char *json;
    int64_t side;
    int64_t channels;
    int64_t want;
} size_case;

/* mlp: 784 h + h, h h + h, h 10 + 10.  cnn: 9 cin cout + 2 cout a block, 64 10 + 10.  resnet_cifar: as
 * other implementations of He et al. 2015 count them (0.27M, 0.46M, 0.66M, 0.85M).  resnet: as torchvision
 * publishes them, as it does ViT-B/16. */
static const size_case sizes[] = {
    {"{\"name\":\"mlp\"}", 28, 1, 784 * 128 + 128 + 128 * 128 + 128 + 1290},
    {"{\"name\":\"mlp\",\"hidden\":[]}", 28, 1, 7850},
    {"{\"name\":\"cnn\"}", 28, 1, 144 + 32 + 4608 + 64 + 18432 + 128 + 650},
    {"{\"name\":\"resnet_cifar\"}", 32, 3, 269722},
    {"{\"name\":\"resnet_cifar\",\"depth\":32}", 32, 3, 464154},
    {"{\"name\":\"resnet_cifar\",\"depth\":44}", 32, 3, 658586},
    {"{\"name\":\"resnet_cifar\",\"depth\":56}", 32, 3, 853018},
    {"{\"name\":\"resnet_cifar\",\"shortcut\":\"conv\"}", 32, 3, 272474},
    {"{\"name\":\"lenet\"}", 28, 1, 61706},
    {"{\"name\":\"lenet\",\"padding\":0}", 32, 3, 62006},
    {"{\"name\":\"mnist_classifier\"}", 28, 1, 21610},
    {"{\"name\":\"resnet\",\"depth\":18,\"num_classes\":1000}", 224, 3, 11689512},
    {"{\"name\":\"resnet\",\"depth\":34,\"num_classes\":1000}", 224, 3, 21797672},
    {"{\"name\":\"resnet\",\"depth\":50,\"num_classes\":1000}", 224, 3, 25557032},
    {"{\"name\":\"resnet\",\"depth\":101,\"num_classes\":1000}", 224, 3, 44549160},
    {"{\"name\":\"vit\",\"num_classes\":1000}", 224, 3, 5717416},
    {"{\"name\":\"vit\",\"num_heads\":12,\"hidden_dim\":768,\"num_classes\":1000}", 224, 3,
     86567656},
};

/* Counts what the tree declares; nothing is filled in. */
START_TEST(a_model_has_as_many_weights_as_it_should)
{
    made m;
    int64_t n = 0;
    make(&m, sizes[_i].json, TUTTI_F32, sizes[_i].side, sizes[_i].channels);
    ck_assert_msg(m.model != NULL, "%s", err.text);
    ck_assert_ok(net_build(m.net, m.model, m.columns, 2, &err), err);
    for (uint32_t k = 0; k < m.net->nweights; k++)
        if (m.net->weights[k]->flags & TUTTI_WEIGHT_TRAINABLE)
            n += tutti_numel(&m.net->weights[k]->desc);
    ck_assert_int_eq(n, sizes[_i].want);
    unmake(&m);
}
END_TEST

/* ---- f32 against f64 ---- */

/* Whether the numbers agree to `tolerance` times the largest of `want`, or 1. */
static void ck_close_all(const char *what, const float *got, const double *want, int64_t n,
                         double tolerance)
{
    double scale = 1.0, worst = 0.0;
    for (int64_t k = 0; k < n; k++)
        scale = fabs(want[k]) > scale ? fabs(want[k]) : scale;
    for (int64_t k = 0; k < n; k++) {
        ck_assert_msg(isfinite(got[k]), "%s: element %lld is %g", what, (long long)k,
                      (double)got[k]);
        worst = fmax(worst, fabs((double)got[k] - want[k]));
    }
    ck_assert_msg(worst <= tolerance * scale, "%s is off by %g, largest %g", what, worst,
                  scale);
}

static void load(interp *it, const graph *g, const net *n)
{
    for (tutti_value v = 1; v < graph_nvalues(g); v++) {
        const graph_value *it_is = graph_value_at(g, v);
        if (it_is->kind != VALUE_WEIGHT)
            continue;
        const weight *w = n->weights[it_is->index];
        const tutti_tensor t = {w->data, w->desc, TUTTI_DEVICE_CPU, 0};
        interp_load(it, v, &t);
    }
}

/* Runs the model both ways in `mode` on one batch: outputs and loss, and in training the gradients of
 * all weights. */
static void compare(made *m, int32_t mode, int soft)
{
    const tutti_desc *d = &m->columns[0].desc;
    const int64_t n = tutti_numel(d) * B;
    plan_request request = {.kind = mode == TUTTI_MODE_TRAIN ? PLAN_TRAIN : PLAN_EVAL,
                            .ninputs = 1,
                            .ntargets = 1,
                            .inputs = {{{B, d->dim[0], d->dim[1], d->dim[2]}, 4, TUTTI_F32}},
                            .targets = {{{B}, 1, TUTTI_I32}}};
    if (soft)
        request.targets[0] = (tutti_desc){{B, CLASSES}, 2, TUTTI_F32};
    float *x = aligned_alloc(64, ((size_t)n * sizeof *x + 63) / 64 * 64);
    float probabilities[B * CLASSES] = {0};
    int32_t labels[B] = {7, 0, 3};
    tutti_stream r = tutti_stream_at(3, TUTTI_RNG_PLUGIN, 0, 0);
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)(tutti_stream_uniform(&r) * 2.0 - 1.0);
    for (int k = 0; k < B * CLASSES; k++)
        probabilities[k] = 0.02f + (labels[k / CLASSES] == k % CLASSES ? 0.8f : 0.0f);

    /* f64, from the weights of before the plan runs */
    graph *g = net_graph(m->net, mode);
    tutti_graph *b = graph_builder(g);
    const tutti_value in = graph_input(g, &request.inputs[0]);
    const tutti_value target = graph_input(g, &request.targets[0]);
    tutti_value out = 0;
    (void)m->table->trace(instance_self(m->model), b, 1, &in, 1, &out, 1);
    const tutti_value loss =
        m->table->loss(instance_self(m->model), b, &out, 1, &target, 1, TUTTI_REDUCTION_MEAN);
    ck_assert_ok(graph_error(g, &err), err);
    tutti_value wrt[512], dw[512];
    uint32_t nwrt = 0;
    if (mode == TUTTI_MODE_TRAIN) {
        const float one = 1.0f;
        const tutti_tensor unit = {
            (void *)(uintptr_t)&one, {{0}, 0, TUTTI_F32}, TUTTI_DEVICE_CPU, 0};
        const tutti_value dloss = b->constant(b, &unit);
        for (tutti_value v = 1; v < graph_nvalues(g) && nwrt < 512; v++)
            if (graph_value_at(g, v)->kind == VALUE_WEIGHT && graph_value_at(g, v)->trainable)
                wrt[nwrt++] = v;
        ck_assert_int_eq(graph_gradient(g, &loss, &dloss, 1, wrt, nwrt, dw), TUTTI_OK);
    }
    interp *it;
    ck_assert_ok(interp_create(g, &it, &err), err);
    const tutti_tensor xt = {x, request.inputs[0], TUTTI_DEVICE_CPU, 0};
    const tutti_tensor yt = {soft ? (void *)probabilities : (void *)labels, request.targets[0],
                             TUTTI_DEVICE_CPU, 0};
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    load(it, g, m->net);
    interp_load(it, in, &xt);
    interp_load(it, target, &yt);
    ck_assert_ok(interp_run(it, 0, graph_nnodes(g), &step, &err), err);

    /* f32 */
    plan *p;
    ck_assert_ok(net_plan(m->net, &request, &p, &err), err);
    memcpy(plan_input(p, 0).data, x, (size_t)n * sizeof *x);
    memcpy(plan_target(p, 0).data, yt.data, tutti_nbytes(&yt.desc));
    for (int segment = 0; segment < (mode == TUTTI_MODE_TRAIN ? 3 : 2); segment++)
        ck_assert_ok(plan_run(p, segment, &step, 1.0f, &err), err);
    const tutti_tensor got = plan_output(p, 0), l = plan_loss(p);
    const tutti_desc want = {{B, CLASSES}, 2, TUTTI_F32};
    ck_assert(tutti_same_shape(&got.desc, &want));
    ck_assert_int_eq(l.desc.rank, 0);
    /* Each layer's rounding, about 1e-6 of what it adds up, is passed on by the next, up to 56 of them. */
    ck_close_all("outputs", got.data, interp_value(it, out), B * CLASSES, 2e-4);
    ck_close_all("loss", l.data, interp_value(it, loss), 1, 2e-4);
    for (uint32_t k = 0; k < nwrt; k++) {
        const weight *w = m->net->weights[graph_value_at(g, wrt[k])->index];
        ck_assert_uint_ne(dw[k], 0);
        ck_close_all(w->path, w->grad, interp_value(it, dw[k]), tutti_numel(&w->desc), 1e-3);
    }
    interp_destroy(it);
    graph_destroy(g);
    free(x);
}

typedef struct run_case {
    const char *json;
    int64_t side;
    int64_t channels;
} run_case;

static const run_case runs[] = {
    {"{\"name\":\"mlp\",\"hidden\":[32,24],\"activation\":\"tanh\"}", 8, 1},
    {"{\"name\":\"cnn\"}", 28, 1},
    {"{\"name\":\"cnn\",\"channels\":[8,12],\"activation\":\"silu\"}", 9, 3},
    {"{\"name\":\"resnet_cifar\",\"depth\":8}", 16, 3},
    {"{\"name\":\"resnet_cifar\",\"depth\":8,\"shortcut\":\"conv\",\"width\":6}", 10, 3},
    {"{\"name\":\"resnet_cifar\",\"depth\":20,\"width\":8}", 16, 3},
    {"{\"name\":\"lenet\"}", 28, 1},
    {"{\"name\":\"lenet\",\"activation\":\"relu\",\"pool\":\"max\",\"padding\":1}", 20, 3},
    {"{\"name\":\"mnist_classifier\"}", 16, 1},
    {"{\"name\":\"resnet\",\"depth\":18,\"width\":8}", 64, 3},
    {"{\"name\":\"resnet\",\"depth\":50,\"width\":4,\"stem\":\"cifar\"}", 16, 3},
    {"{\"name\":\"vit\",\"patch_size\":4,\"num_layers\":2,\"hidden_dim\":24}", 12, 3},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* Moves every weight a little, so that none starts at zero and hides what comes before it. */
static void stir(made *m)
{
    tutti_stream r = tutti_stream_at(11, TUTTI_RNG_PLUGIN, 0, 0);
    for (uint32_t k = 0; k < net_weight_count(m->net); k++) {
        const tutti_weight *w = net_weight(m->net, k);
        float *x = w->data.data;
        for (int64_t i = 0; w->flags & TUTTI_WEIGHT_TRAINABLE && i < tutti_numel(&w->data.desc);
             i++)
            x[i] += (float)(0.04 * tutti_stream_uniform(&r) - 0.02);
    }
}

START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    const run_case *c = &runs[_i % RUNS];
    build(&m, c->json, c->side, c->channels);
    stir(&m);
    compare(&m, TUTTI_MODE_EVAL, _i / RUNS);
    compare(&m, TUTTI_MODE_TRAIN, _i / RUNS);
    unmake(&m);
}
END_TEST

/* ---- surgery ---- */

static void blur(made *m, const char *json)
{
    instance *i = open_object(m, TUTTI_KIND_ALGORITHM, json);
    ck_assert_msg(i != NULL, "%s", err.text);
    const tutti_timestamp time = {.struct_size = sizeof time};
    const tutti_event init = {sizeof init, TUTTI_EVENT_INIT, "init", 0, &time, &time};
    int64_t exit_code = TUTTI_EXIT_NONE;
    ck_assert_int_eq(instance_calls(i)->match(instance_self(i), &init), 1);
    ck_assert_ok(instance_calls(i)->apply(instance_self(i), &init, &exit_code, &err), err);
    instance_free(i);
    ck_assert_ok(net_commit(m->net, &err), err);
}

static uint32_t count_kind(const made *m, const char *kind)
{
    const tutti_module_v1 *s = net_modules(m->net);
    uint32_t n = 0;
    for (tutti_module k = s->next(s->ctx, s->root(s->ctx)); k; k = s->next(s->ctx, k))
        n += strcmp(s->kind(s->ctx, k), kind) == 0;
    return n;
}

static const tutti_weight *find_weight(const made *m, const char *path)
{
    for (uint32_t k = 0; k < net_weight_count(m->net); k++)
        if (strcmp(net_weight(m->net, k)->path, path) == 0)
            return net_weight(m->net, k);
    ck_abort_msg("there is no weight %s", path);
    return NULL;
}

START_TEST(blurpool_replaces_what_skips_pixels_and_nothing_else)
{
    made m;
    const char *path = "stage2.block0.conv1.weight";
    build(&m, "{\"name\":\"resnet_cifar\",\"depth\":20,\"width\":16}", 16, 3);
    const tutti_weight *w = find_weight(&m, path);
    const uint64_t bytes = tutti_nbytes(&w->data.desc);
    void *before = malloc(bytes);
    memcpy(before, w->data.data, bytes);
    const uint32_t count = net_weight_count(m.net), convs = count_kind(&m, "conv2d");
    const uint64_t version = net_version(m.net);
    blur(&m, _i ? "{\"name\":\"blurpool\"}" : "{\"name\":\"blurpool\",\"blur_first\":false}");
    ck_assert_uint_gt(net_version(m.net), version);
    ck_assert_uint_eq(count_kind(&m, "blur_conv2d"), 2); /* where stages 2 and 3 begin */
    ck_assert_uint_eq(count_kind(&m, "conv2d"), convs - 2);
    ck_assert_uint_eq(net_weight_count(m.net), count);
    ck_assert_int_eq(count_trainable(&m), 269722);
    ck_assert_mem_eq(find_weight(&m, path)->data.data, before, bytes);
    compare(&m, TUTTI_MODE_EVAL, 0);
    compare(&m, TUTTI_MODE_TRAIN, 0);
    free(before);
    unmake(&m);
}
END_TEST

START_TEST(blurpool_replaces_max_pooling)
{
    made m;
    build(&m, "{\"name\":\"cnn\",\"channels\":[8,12]}", 8, 3);
    blur(&m, "{\"name\":\"blurpool\"}");
    ck_assert_uint_eq(count_kind(&m, "blur_max_pool2d"), 1);
    ck_assert_uint_eq(count_kind(&m, "max_pool2d"), 0);
    compare(&m, TUTTI_MODE_EVAL, 0);
    compare(&m, TUTTI_MODE_TRAIN, 0);
    unmake(&m);
}
END_TEST

/* ---- refusals ---- */

static const char *const names[] = {"mlp", "cnn", "resnet_cifar"};

START_TEST(bytes_are_refused_with_the_way_out)
{
    made m;
    char json[64], want[160];
    (void)snprintf(json, sizeof json, "{\"name\":\"%s\"}", names[_i]);
    (void)snprintf(want, sizeof want,
                   "%s: the input is U8 (32, 32, 3), want F32; add the transform normalize",
                   names[_i]);
    make(&m, json, TUTTI_U8, 32, 3);
    ck_assert_int_eq(net_build(m.net, m.model, m.columns, 2, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, want);
    unmake(&m);
}
END_TEST

START_TEST(data_that_do_not_say_their_classes_are_refused)
{
    made m;
    make(&m, "{\"name\":\"mlp\"}", TUTTI_F32, 8, 1);
    m.columns[1].classes = 0;
    ck_assert_int_eq(net_build(m.net, m.model, m.columns, 2, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "mlp: the data does not say how many classes there are; set num_classes");
    unmake(&m);
}
END_TEST

START_TEST(a_depth_that_does_not_divide_into_blocks_is_refused)
{
    made m;
    make(&m, "{\"name\":\"resnet_cifar\",\"depth\":21}", TUTTI_F32, 32, 3);
    ck_assert_ptr_null(m.model);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "model resnet_cifar cannot be opened: resnet_cifar: depth is 21, want 6 n "
                    "+ 2, such as 20, 32, 44 or 56");
    unmake(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("models");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 100);
    tcase_add_loop_test(t, a_model_has_as_many_weights_as_it_should, 0,
                        (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(t, a_plan_computes_what_the_definition_says, 0, 2 * RUNS);
    tcase_add_loop_test(t, blurpool_replaces_what_skips_pixels_and_nothing_else, 0, 2);
    tcase_add_test(t, blurpool_replaces_max_pooling);
    tcase_add_loop_test(t, bytes_are_refused_with_the_way_out, 0, 3);
    tcase_add_test(t, data_that_do_not_say_their_classes_are_refused);
    tcase_add_test(t, a_depth_that_does_not_divide_into_blocks_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
