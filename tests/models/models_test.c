/* models_test.c - each model as the host builds it: sizes, shapes, f32 plans against f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surgery/surgery.h"
#include "made.h"
#include "made_plans.h"

#include <stdio.h>

enum { B = 3, CLASSES = 10 };

static tutti_column columns[2];

static void describe(int32_t dtype, int64_t side, int64_t channels)
{
    columns[0] = (tutti_column){"input", {{side, side, channels}, 3, dtype}, 0};
    columns[1] = (tutti_column){"target", {{0}, 0, TUTTI_I32}, CLASSES};
}

static void build_for(made *m, const char *json, int64_t side, int64_t channels)
{
    describe(TUTTI_F32, side, channels);
    build(m, json, columns, 2);
}

/* ---- sizes ---- */

typedef struct size_case {
    const char *json;
    int64_t side;
    int64_t channels;
    int64_t want;
} size_case;

/* mlp: 784 h + h, h h + h, h 10 + 10.  cnn: 9 cin cout + 2 cout a block, 64 10 + 10.  resnet_cifar: as
 * other implementations of He et al. 2015 count them (0.27M, 0.46M, 0.66M, 0.85M).  airbench: 1.97M in its paper.  resnet: as torchvision
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
    {"{\"name\":\"airbench\"}", 32, 3, 1972792},
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
    {"{\"name\":\"convnext\",\"num_classes\":1000}", 224, 3, 28589128},
    {"{\"name\":\"convnext\",\"num_classes\":1000,\"depths\":[3,3,27,3],"
     "\"hidden_sizes\":[128,256,512,1024]}",
     224, 3, 88591464},
};

/* Counts what the tree declares; nothing is filled in. */
START_TEST(a_model_has_as_many_weights_as_it_should)
{
    made m;
    describe(TUTTI_F32, sizes[_i].side, sizes[_i].channels);
    make(&m, sizes[_i].json, columns, 2);
    ck_assert_msg(m.model != NULL, "%s", err.text);
    ck_assert_ok(net_build(m.net, m.model, columns, 2, &err), err);
    ck_assert_int_eq(count_declared(&m), sizes[_i].want);
    unmake(&m);
}
END_TEST

/* ---- f32 against f64 ---- */

/* Runs the model both ways in `mode` on one batch with labels, or with probabilities. */
static void compare_on(made *m, int32_t mode, int soft)
{
    const tutti_desc *d = &columns[0].desc, want = {{B, CLASSES}, 2, TUTTI_F32};
    const tutti_desc images = {{B, d->dim[0], d->dim[1], d->dim[2]}, 4, TUTTI_F32};
    const tutti_desc label = {{B}, 1, TUTTI_I32};
    const int64_t n = tutti_numel(&images);
    float *x = malloc((size_t)n * sizeof *x);
    float probabilities[B * CLASSES] = {0};
    int32_t labels[B] = {7, 0, 3};
    tutti_stream r = tutti_stream_at(3, TUTTI_RNG_PLUGIN, 0, 0);
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)(tutti_stream_uniform(&r) * 2.0 - 1.0);
    for (int k = 0; k < B * CLASSES; k++)
        probabilities[k] = 0.02f + (labels[k / CLASSES] == k % CLASSES ? 0.8f : 0.0f);
    /* Each layer's rounding, about 1e-6 of what it adds up, is passed on by the next, up to 56 of them. */
    const trial t = {.inputs = {{x, images, TUTTI_DEVICE_CPU, 0}},
                     .target = {soft ? (void *)probabilities : (void *)labels,
                                soft ? want : label, TUTTI_DEVICE_CPU, 0},
                     .ninputs = 1,
                     .least = 1.0,
                     .outputs = 2e-4,
                     .gradient = 1e-3};
    compare(m, mode, &t, &want);
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
    {"{\"name\":\"cnn\",\"channels\":[8,12],\"norm_groups\":4}", 8, 1},
    {"{\"name\":\"cnn\",\"channels\":[8,12],\"activation\":\"silu\"}", 9, 3},
    {"{\"name\":\"resnet_cifar\",\"depth\":8}", 16, 3},
    {"{\"name\":\"resnet_cifar\",\"depth\":8,\"shortcut\":\"conv\",\"width\":6}", 10, 3},
    {"{\"name\":\"resnet_cifar\",\"depth\":20,\"width\":8}", 16, 3},
    {"{\"name\":\"airbench\",\"widths\":[12,24,28],\"views\":\"mirror_shift\"}", 32, 3},
    {"{\"name\":\"lenet\"}", 28, 1},
    {"{\"name\":\"lenet\",\"activation\":\"relu\",\"pool\":\"max\",\"padding\":1}", 20, 3},
    {"{\"name\":\"mnist_classifier\"}", 16, 1},
    {"{\"name\":\"resnet\",\"depth\":18,\"width\":8}", 64, 3},
    {"{\"name\":\"resnet\",\"depth\":50,\"width\":4,\"stem\":\"cifar\"}", 16, 3},
    {"{\"name\":\"vit\",\"patch_size\":4,\"num_layers\":2,\"hidden_dim\":24}", 12, 3},
    {"{\"name\":\"convnext\",\"patch_size\":1,\"depths\":[1,1,2,1],"
     "\"hidden_sizes\":[8,8,12,16],\"layer_scale_init_value\":0.5}",
     9, 3},
};
enum { RUNS = sizeof runs / sizeof *runs };

START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    const run_case *c = &runs[_i % RUNS];
    build_for(&m, c->json, c->side, c->channels);
    stir(&m, 0.02);
    compare_on(&m, TUTTI_MODE_EVAL, _i / RUNS);
    compare_on(&m, TUTTI_MODE_TRAIN, _i / RUNS);
    unmake(&m);
}
END_TEST

/* ---- targets that do not count ---- */

static double loss_of(made *m, int kind, const void *target, tutti_desc desc, float *ret_each)
{
    const tutti_step step = {sizeof step, 0, 5, 0, 0};
    const tutti_desc images = {{B, 8, 8, 1}, 4, TUTTI_F32};
    const plan_request r = {
        .kind = kind, .ninputs = 1, .ntargets = 1, .inputs = {images}, .targets = {desc}};
    plan *p;
    ck_assert_ok(net_plan(m->net, &r, &p, &err), err);
    for (int k = 0; k < B * 64; k++)
        ((float *)plan_input(p, 0).data)[k] = (float)(k % 13) / 13.0f;
    memcpy(plan_target(p, 0).data, target, tutti_nbytes(&desc));
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_assert_ok(plan_run(p, SEGMENT_LOSS, &step, 1.0f, &err), err);
    const float *loss = plan_loss(p).data;
    for (int k = 0; k < B && ret_each; k++)
        ret_each[k] = loss[k];
    return (double)loss[0];
}

/* As PyTorch: the mean is over the others, whether classes or probabilities. */
START_TEST(class_minus_100_counts_in_no_loss)
{
    made m;
    const tutti_desc hard = {{B}, 1, TUTTI_I32}, soft = {{B, CLASSES}, 2, TUTTI_F32};
    const int32_t all[B] = {7, 1, 3}, some[B] = {7, -100, 3}, none[B] = {-100, -100, -100};
    float rows[B * CLASSES] = {0}, each[B];
    build_for(&m, "{\"name\":\"mlp\",\"hidden\":[8]}", 8, 1);
    (void)loss_of(&m, PLAN_LOSSES, all, hard, each);
    const double want = ((double)each[0] + (double)each[2]) / 2.0;
    ck_assert_close(loss_of(&m, PLAN_EVAL, some, hard, NULL), want, 1e-6);
    (void)loss_of(&m, PLAN_LOSSES, some, hard, each);
    ck_assert_close(each[1], 0.0, 0.0);
    rows[7] = rows[2 * CLASSES + 3] = 1.0f;
    ck_assert_close(loss_of(&m, PLAN_EVAL, rows, soft, NULL), want, 1e-6);
    ck_assert_close(loss_of(&m, PLAN_EVAL, none, hard, NULL), 0.0, 0.0);
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
    const char *path = "stage2.block0.conv1.weight", *now = "stage2.block0.conv1.conv.weight";
    build_for(&m, "{\"name\":\"resnet_cifar\",\"depth\":20,\"width\":16}", 16, 3);
    const tutti_weight *w = find_weight(&m, path);
    const uint64_t bytes = tutti_nbytes(&w->data.desc);
    void *before = malloc(bytes);
    memcpy(before, w->data.data, bytes);
    const uint32_t count = net_weight_count(m.net), convs = count_kind(&m, "conv2d");
    const uint64_t version = net_version(m.net);
    blur(&m, _i ? "{\"name\":\"blurpool\"}" : "{\"name\":\"blurpool\",\"blur_first\":false}");
    ck_assert_uint_gt(net_version(m.net), version);
    ck_assert_uint_eq(count_kind(&m, "blur_conv2d"), 2); /* where stages 2 and 3 begin */
    ck_assert_uint_eq(count_kind(&m, "conv2d"), convs);
    ck_assert_uint_eq(net_weight_count(m.net), count);
    ck_assert_int_eq(count_trainable(&m), 269722);
    ck_assert_mem_eq(find_weight(&m, now)->data.data, before, bytes);
    compare_on(&m, TUTTI_MODE_EVAL, 0);
    compare_on(&m, TUTTI_MODE_TRAIN, 0);
    free(before);
    unmake(&m);
}
END_TEST

START_TEST(blurpool_replaces_max_pooling)
{
    made m;
    build_for(&m, "{\"name\":\"cnn\",\"channels\":[8,12]}", 8, 3);
    blur(&m, "{\"name\":\"blurpool\"}");
    ck_assert_uint_eq(count_kind(&m, "blur_max_pool2d"), 1);
    ck_assert_uint_eq(count_kind(&m, "max_pool2d"), 1); /* within */
    compare_on(&m, TUTTI_MODE_EVAL, 0);
    compare_on(&m, TUTTI_MODE_TRAIN, 0);
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
    describe(TUTTI_U8, 32, 3);
    make(&m, json, columns, 2);
    ck_assert_int_eq(net_build(m.net, m.model, columns, 2, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, want);
    unmake(&m);
}
END_TEST

START_TEST(data_that_do_not_say_their_classes_are_refused)
{
    made m;
    describe(TUTTI_F32, 8, 1);
    columns[1].classes = 0;
    make(&m, "{\"name\":\"mlp\"}", columns, 2);
    ck_assert_int_eq(net_build(m.net, m.model, columns, 2, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "mlp: the data does not say how many classes there are; set num_classes");
    unmake(&m);
}
END_TEST

START_TEST(a_depth_that_does_not_divide_into_blocks_is_refused)
{
    made m;
    describe(TUTTI_F32, 32, 3);
    make(&m, "{\"name\":\"resnet_cifar\",\"depth\":21}", columns, 2);
    ck_assert_ptr_null(m.model);
    ck_assert_error(err, TUTTI_E_RANGE,
                    "model resnet_cifar cannot be opened: depth is 21, want 6 n "
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
    tcase_add_test(t, class_minus_100_counts_in_no_loss);
    tcase_add_loop_test(t, blurpool_replaces_what_skips_pixels_and_nothing_else, 0, 2);
    tcase_add_test(t, blurpool_replaces_max_pooling);
    tcase_add_loop_test(t, bytes_are_refused_with_the_way_out, 0, 3);
    tcase_add_test(t, data_that_do_not_say_their_classes_are_refused);
    tcase_add_test(t, a_depth_that_does_not_divide_into_blocks_is_refused);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
