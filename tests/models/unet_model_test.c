/* unet_model_test.c - unet as the host builds it, on maps of classes: sizes, f32 plans against f64, and against torch's
 * recorded logits, loss and gradients on the same weights. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_plans.h"

#include "base/json.h"
#include "graph/surgery/surgery.h"

#include <stdlib.h>

enum { B = 2, H = 10, W = 9, CHANNELS = 3, CLASSES = 3, PIXELS = B * H * W };
enum { FILE_LIMIT = 1 << 20, IGNORED = -100 };

static const tutti_column columns[2] = {
    {"input", {{H, W, CHANNELS}, 3, TUTTI_F32}, 0},
    {"target", {{H, W}, 2, TUTTI_I32}, CLASSES},
};
static const tutti_desc images = {{B, H, W, CHANNELS}, 4, TUTTI_F32},
                        maps = {{B, H, W}, 3, TUTTI_I32},
                        logits = {{B, H, W, CLASSES}, 4, TUTTI_F32};
static float pixels[PIXELS * CHANNELS];
static int32_t classes[PIXELS];

/* Element k is (37 k + 11 seed) mod 101 / 101 - 1/2, plus `shift`. */
static void fill(float *x, int64_t n, int64_t seed, float shift)
{
    for (int64_t k = 0; k < n; k++)
        x[k] = (float)((double)((k * 37 + seed * 11) % 101) / 101.0 - 0.5) + shift;
}

/* Weights by the bytes of their paths, as unet.py has them; scales and variances are around 1. */
static void fill_weights(const made *m)
{
    for (uint32_t k = 0; k < net_weight_count(m->net); k++) {
        const tutti_weight *w = net_weight(m->net, k);
        const size_t length = strlen(w->path);
        int64_t seed = 0;
        for (const char *c = w->path; *c; c++)
            seed += *c;
        const int one = strstr(w->path, "running_var") != NULL ||
                        (w->data.desc.rank == 1 && strcmp(w->path + length - 6, "weight") == 0);
        fill(w->data.data, tutti_numel(&w->data.desc), seed, one ? 1.0f : 0.0f);
    }
}

/* One batch; a seventh of the pixels do not count. */
static trial batch(void)
{
    fill(pixels, PIXELS * CHANNELS, 1, 0.0f);
    for (int k = 0; k < PIXELS * CHANNELS; k++)
        pixels[k] *= 4.0f;
    for (int k = 0; k < PIXELS; k++)
        classes[k] = k % 7 == 3 ? IGNORED : k * 5 % 11 % CLASSES;
    /* each of some 20 layers passes on a rounding of about 1e-6 */
    const trial t = {.inputs = {{pixels, images, TUTTI_DEVICE_CPU, 0}},
                     .target = {classes, maps, TUTTI_DEVICE_CPU, 0},
                     .ninputs = 1,
                     .least = 1e-3,
                     .outputs = 1e-4,
                     .gradient = 2e-3};
    return t;
}

static void build_unet(made *m, const char *upsampling)
{
    char json[128];
    (void)snprintf(json, sizeof json,
                   "{\"name\":\"unet\",\"width\":4,\"depth\":2,\"upsampling\":\"%s\"}",
                   upsampling);
    build(m, json, columns, 2);
}

/* ---- f32 against f64 ---- */

START_TEST(a_plan_computes_what_the_definition_says)
{
    made m;
    const trial t = batch();
    build_unet(&m, _i ? "bilinear" : "transposed");
    stir(&m, 0.02);
    compare(&m, TUTTI_MODE_EVAL, &t, &logits);
    compare(&m, TUTTI_MODE_TRAIN, &t, &logits);
    unmake(&m);
}
END_TEST

/* ---- against torch ---- */

static void check(const char *what, const float *got, const json_node *want, double tolerance)
{
    double *numbers = calloc(json_count(want) + 1, sizeof *numbers);
    for (size_t k = 0; k < json_count(want); k++)
        numbers[k] = json_real(json_at(want, k));
    ck_close_all(what, got, numbers, (int64_t)json_count(want), 1e-3, tolerance);
    free(numbers);
}

static void check_gradients(const made *m, const json_node *want)
{
    size_t found = 0;
    for (uint32_t k = 0; k < net_weight_count(m->net); k++) {
        const tutti_weight *w = net_weight(m->net, k);
        const json_node *numbers = json_get(want, w->path);
        if (!numbers)
            continue;
        ck_assert_int_eq(tutti_numel(&w->data.desc), (int64_t)json_count(numbers));
        check(w->path, w->grad, numbers, 2e-3);
        found++;
    }
    ck_assert_uint_eq(found, json_count(want));
}

static void check_case(const json_node *c)
{
    made m;
    const trial t = batch();
    const tutti_step step = {.struct_size = sizeof step, .seed = 5};
    build_unet(&m, json_string(json_get(c, "upsampling")));
    ck_assert_int_eq(count_trainable(&m), json_int(json_get(c, "weights")));
    fill_weights(&m);
    plan *p = planned(&m, PLAN_EVAL, &t);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    ck_assert_int_eq((int64_t)json_count(json_get(c, "eval")), tutti_numel(&logits));
    check("the logits", plan_output(p, 0).data, json_get(c, "eval"), 1e-5);
    p = planned(&m, PLAN_TRAIN, &t);
    for (int segment = 0; segment < 3; segment++)
        ck_assert_ok(plan_run(p, segment, &step, 1.0f, &err), err);
    check("the loss", plan_loss(p).data, json_get(c, "loss"), 1e-4);
    check_gradients(&m, json_get(c, "gradients"));
    unmake(&m);
}

START_TEST(logits_and_gradients_are_those_of_torch)
{
    json_doc *doc;
    memset(&err, 0, sizeof err);
    ck_assert_ok(json_read(UNET_FILE, FILE_LIMIT, &doc, &err), err);
    const json_node *cases = json_get(json_root(doc), "cases");
    ck_assert_uint_eq(json_count(cases), 2);
    for (size_t k = 0; k < json_count(cases); k++)
        check_case(json_at(cases, k));
    json_free(doc);
}
END_TEST

/* ---- images that are enlarged ---- */

enum { SMALL = 2 * 3 * 4 * 2 };

static made bench;
static tutti_module layer;
static const json_node *settings;

static tutti_status build_layer(void *self, tutti_module root, const tutti_column *c,
                                uint32_t n, tutti_error *e)
{
    const tutti_module_v1 *s = net_modules(bench.net);
    const tutti_attr attr[3] = {
        tutti_attr_i("scale_factor", json_int(json_get(settings, "scale_factor"))),
        tutti_attr_text("mode", json_string(json_get(settings, "mode"))),
        tutti_attr_i("align_corners", json_bool(json_get(settings, "align_corners")))};
    (void)self, (void)c, (void)n, (void)e;
    ck_assert_ok(s->create(s->ctx, "upsample2d", attr, 3, &layer, &err), err);
    ck_assert_ok(s->add(s->ctx, root, "up", layer, &err), err);
    return TUTTI_OK;
}

static tutti_status trace_layer(void *self, tutti_graph *g, tutti_module root,
                                const tutti_value *in, uint32_t nin, tutti_value *out,
                                uint32_t nout)
{
    (void)self, (void)root;
    return g->call(g, layer, in, nin, out, nout);
}

static void check_enlarged(const json_node *c)
{
    static const char *const inputs[] = {"input", NULL}, *const targets[] = {NULL};
    static const tutti_model_v1 table = {.struct_size = sizeof table,
                                         .noutputs = 1,
                                         .inputs = inputs,
                                         .targets = targets,
                                         .build = build_layer,
                                         .trace = trace_layer};
    const tutti_step step = {.struct_size = sizeof step};
    const plan_request request = {
        .kind = PLAN_EVAL, .ninputs = 1, .inputs = {{{2, 3, 4, 2}, 4, TUTTI_F32}}};
    plan *p;
    settings = json_get(c, "layer");
    make(&bench, "{\"name\":\"no_op_model\"}", columns, 2);
    const model_impl model = {&table, NULL, NULL, "enlarged", NULL};
    ck_assert_ok(net_build_model(bench.net, &model, columns, 2, &err), err);
    ck_assert_ok(net_commit(bench.net, &err), err);
    ck_assert_ok(net_plan(bench.net, &request, &p, &err), err);
    fill(plan_input(p, 0).data, SMALL, 5, 0.0f);
    ck_assert_ok(plan_run(p, SEGMENT_FORWARD, &step, 1.0f, &err), err);
    const tutti_tensor y = plan_output(p, 0);
    ck_assert_int_eq(tutti_numel(&y.desc), (int64_t)json_count(json_get(c, "want")));
    check("upsample2d", y.data, json_get(c, "want"), 1e-6);
    unmake(&bench);
}

START_TEST(enlarged_images_are_those_of_torch)
{
    json_doc *doc;
    memset(&err, 0, sizeof err);
    ck_assert_ok(json_read(UNET_FILE, FILE_LIMIT, &doc, &err), err);
    const json_node *cases = json_get(json_root(doc), "upsample2d");
    ck_assert_uint_eq(json_count(cases), 5);
    for (size_t k = 0; k < json_count(cases); k++)
        check_enlarged(json_at(cases, k));
    json_free(doc);
}
END_TEST

/* As the widely used implementation of PyTorch counts them. */
START_TEST(a_model_has_as_many_weights_as_it_should)
{
    static const tutti_column two[2] = {{"input", {{64, 64, 3}, 3, TUTTI_F32}, 0},
                                        {"target", {{64, 64}, 2, TUTTI_I32}, 2}};
    made m;
    make(&m, _i ? "{\"name\":\"unet\",\"upsampling\":\"bilinear\"}" : "{\"name\":\"unet\"}",
         two, 2);
    ck_assert_msg(m.model != NULL, "%s", err.text);
    ck_assert_ok(net_build(m.net, m.model, two, 2, &err), err);
    ck_assert_int_eq(count_declared(&m), _i ? 17263042 : 31037698);
    unmake(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unet_model");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_plan_computes_what_the_definition_says, 0, 2);
    tcase_add_test(t, logits_and_gradients_are_those_of_torch);
    tcase_add_test(t, enlarged_images_are_those_of_torch);
    tcase_add_loop_test(t, a_model_has_as_many_weights_as_it_should, 0, 2);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
