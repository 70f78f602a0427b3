/* planning_test.c - every graph of three models is planned by the real cuDNN, for an absent H100, attention for an A100 too. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_cudnn.h"
#include "gpus.h"
#include "sdpa/sdpa_cudnn.h"
#include "tutti_check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern const int nvidia_headers_are_here;

static void *library;
static cdnn lib;
static cdnn_graph device_graph = {.lib = &lib};
static void *device;

static tutti_status symbol(void *ctx, const char *name_of_library, const char *name,
                           void **ret_symbol, tutti_error *err)
{
    (void)ctx, (void)name_of_library;
    *ret_symbol = dlsym(library, name);
    return *ret_symbol ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOTFOUND, "cuDNN has no %s", name);
}

/* False where cuDNN is not installed.  The driver has to be there before cuDNN looks for one. */
static bool open_library(void)
{
    tutti_error err = TUTTI_ERROR_INIT;
    if (!dlopen(LIBCUDA, RTLD_NOW | RTLD_GLOBAL))
        return false;
    library = dlopen(LIBCUDNN, RTLD_NOW);
    return library && cdnn_load(NULL, symbol, &lib, &err) == TUTTI_OK;
}

static void describe_device(const char *json)
{
    cdnn_graph *g = &device_graph;
    device = cdnn_make(g, CDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cdnn_set(g, device, CDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CDNN_TYPE_CHAR,
             (int64_t)strlen(json) + 1, json);
    (void)cdnn_finish(g, device);
    ck_assert_uint_eq(g->failed, 0);
}

/* ---- convolutions ---- */

/* B images of H x H x C, O filters of K x K, stride and padding. */
typedef struct layer {
    const char *model;
    int64_t b, h, c, o, k, stride, padding;
} layer;

static const layer layers[] = {
    {"ResNet-20", 512, 32, 3, 16, 3, 1, 1},      {"ResNet-20", 512, 32, 16, 16, 3, 1, 1},
    {"ResNet-20", 512, 32, 16, 32, 3, 2, 1},     {"ResNet-20", 512, 32, 16, 32, 1, 2, 0},
    {"ResNet-20", 512, 16, 32, 32, 3, 1, 1},     {"ResNet-20", 512, 16, 32, 64, 3, 2, 1},
    {"ResNet-20", 512, 16, 32, 64, 1, 2, 0},     {"ResNet-20", 512, 8, 64, 64, 3, 1, 1},
    {"ResNet-50", 256, 224, 3, 64, 7, 2, 3},     {"ResNet-50", 256, 56, 64, 64, 1, 1, 0},
    {"ResNet-50", 256, 56, 64, 64, 3, 1, 1},     {"ResNet-50", 256, 56, 64, 256, 1, 1, 0},
    {"ResNet-50", 256, 56, 256, 64, 1, 1, 0},    {"ResNet-50", 256, 56, 256, 128, 1, 1, 0},
    {"ResNet-50", 256, 56, 256, 512, 1, 2, 0},   {"ResNet-50", 256, 56, 128, 128, 3, 2, 1},
    {"ResNet-50", 256, 28, 128, 512, 1, 1, 0},   {"ResNet-50", 256, 28, 512, 128, 1, 1, 0},
    {"ResNet-50", 256, 28, 128, 128, 3, 1, 1},   {"ResNet-50", 256, 28, 512, 256, 1, 1, 0},
    {"ResNet-50", 256, 28, 512, 1024, 1, 2, 0},  {"ResNet-50", 256, 28, 256, 256, 3, 2, 1},
    {"ResNet-50", 256, 14, 256, 1024, 1, 1, 0},  {"ResNet-50", 256, 14, 1024, 256, 1, 1, 0},
    {"ResNet-50", 256, 14, 256, 256, 3, 1, 1},   {"ResNet-50", 256, 14, 1024, 512, 1, 1, 0},
    {"ResNet-50", 256, 14, 1024, 2048, 1, 2, 0}, {"ResNet-50", 256, 14, 512, 512, 3, 2, 1},
    {"ResNet-50", 256, 7, 512, 2048, 1, 1, 0},   {"ResNet-50", 256, 7, 2048, 512, 1, 1, 0},
    {"ResNet-50", 256, 7, 512, 512, 3, 1, 1},
};

static const int32_t dtypes[] = {TUTTI_BF16, TUTTI_F16, TUTTI_F32};

/* As a choice that was kept is taken up. */
static void same_by_its_name(const conv2d_cudnn *c, const cdnn_plan *p)
{
    const conv2d_cudnn_by by = {.device = device, .name = cdnn_plan_name(p)};
    tutti_error err = TUTTI_ERROR_INIT;
    cdnn_plan *again = NULL;
    ck_assert_int_ne(*by.name, 0);
    ck_assert_msg(conv2d_cudnn_plan(c, &lib, &by, &again, &err) == TUTTI_OK, "%s: %s", by.name,
                  err.text);
    ck_assert_str_eq(cdnn_plan_name(again), by.name);
    ck_assert_uint_eq(cdnn_plan_workspace(again), cdnn_plan_workspace(p));
    cdnn_plan_destroy(again);
}

static conv2d_cudnn convolution_of(const layer *l, int32_t kind, int32_t dtype)
{
    const int64_t oh = (l->h + 2 * l->padding - l->k) / l->stride + 1;
    return (conv2d_cudnn){.g = {.b = l->b,
                                .h = l->h,
                                .w = l->h,
                                .c = l->c,
                                .oh = oh,
                                .ow = oh,
                                .o = l->o,
                                .kh = l->k,
                                .kw = l->k,
                                .g = 1,
                                .sh = l->stride,
                                .sw = l->stride,
                                .ph = l->padding,
                                .pw = l->padding,
                                .dh = 1,
                                .dw = 1},
                          .kind = kind,
                          .dtype = dtype};
}

static void gets_a_plan(const layer *l, const conv2d_cudnn *c, bool named)
{
    static const char *const kinds[] = {"forward", "gradient of x", "gradient of w"};
    const conv2d_cudnn_by by = {.device = device};
    tutti_error err = TUTTI_ERROR_INIT;
    cdnn_plan *p = NULL;
    ck_assert_msg(conv2d_cudnn_plan(c, &lib, &by, &p, &err) == TUTTI_OK,
                  "%s, %lld x %lld filters of %lld, %s, %s%s: %s", l->model, (long long)l->o,
                  (long long)l->k, (long long)l->c, kinds[c->kind], tutti_dtype_name(c->dtype),
                  c->bias    ? ", bias"
                  : c->added ? ", added"
                             : "",
                  err.text);
    ck_assert_uint_le(cdnn_plan_workspace(p), (uint64_t)256 << 20);
    if (named)
        same_by_its_name(c, p);
    cdnn_plan_destroy(p);
}

START_TEST(every_convolution_of_the_residual_networks_gets_a_plan)
{
    const layer *l = &layers[_i];
    describe_device(h100);
    for (int32_t kind = CONV2D_FORWARD; kind <= CONV2D_GRAD_WEIGHT; kind++) {
        for (int t = 0; t < 3; t++) {
            const conv2d_cudnn c = convolution_of(l, kind, dtypes[t]);
            gets_a_plan(l, &c, t == _i % 3);
        }
    }
    for (int t = 0; t < 3; t++) {
        conv2d_cudnn c = convolution_of(l, CONV2D_FORWARD, dtypes[t]);
        c.bias = 1;
        gets_a_plan(l, &c, false);
    }
    /* Of microbatches; sums in 16 bits are added behind the library. */
    conv2d_cudnn c = convolution_of(l, CONV2D_GRAD_WEIGHT, TUTTI_F32);
    c.added = 1;
    gets_a_plan(l, &c, false);
    cdnn_drop(&device_graph);
}
END_TEST

/* ---- attention ---- */

enum { PADDING = 1, ALIBI };

/* GPT-2's on each GPU, as BERT's with padding (a number a key and sample), with ALiBi (a number a query, key
 * and head); the gradient with an order of its own, and in any. */
static const struct attention {
    const char *gpu, *name;
    int64_t batch, t;
    int32_t dtype, causal, bias, grad, any_order;
    float drop;
} attentions[] = {
    {h100, "H100", 64, 1024, TUTTI_BF16, 1, 0, 0, 0, 0.0f},
    {h100, "H100", 64, 1024, TUTTI_BF16, 1, 0, 1, 0, 0.0f},
    {h100, "H100", 64, 1024, TUTTI_BF16, 1, 0, 1, 1, 0.0f},
    {h100, "H100", 64, 1024, TUTTI_BF16, 1, 0, 0, 0, 0.1f},
    {h100, "H100", 64, 1024, TUTTI_BF16, 1, 0, 1, 0, 0.1f},
    {h100, "H100", 64, 1024, TUTTI_F16, 1, 0, 0, 0, 0.0f},
    {h100, "H100", 64, 1024, TUTTI_F16, 1, 0, 1, 0, 0.0f},
    {h100, "H100", 32, 512, TUTTI_BF16, 0, PADDING, 0, 0, 0.1f},
    {h100, "H100", 32, 512, TUTTI_BF16, 0, PADDING, 1, 0, 0.1f},
    {h100, "H100", 32, 512, TUTTI_F16, 1, ALIBI, 0, 0, 0.0f},
    {h100, "H100", 32, 512, TUTTI_F16, 1, ALIBI, 1, 0, 0.1f},
    {a100, "A100", 64, 1024, TUTTI_BF16, 1, 0, 0, 0, 0.1f},
    {a100, "A100", 64, 1024, TUTTI_BF16, 1, 0, 1, 0, 0.1f},
};

static void plan_attention(const struct attention *a)
{
    const int64_t h = 12, t = a->t, d = 64;
    const sdpa_stride packed = {3 * h * d * t, d, 3 * h * d}, result = {h * d * t, d, h * d};
    const sdpa_stride biases[] = {{0, 0, 0}, {t, 0, 0}, {0, t * t, t}};
    sdpa_cudnn c = {.s = {.batch = a->batch,
                          .heads = h,
                          .tq = t,
                          .tk = t,
                          .d = d,
                          .causal = a->causal,
                          .scale = 0.125,
                          .q = packed,
                          .k = packed,
                          .v = packed,
                          .y = result,
                          .bias = biases[a->bias],
                          .bias_key = a->bias != 0,
                          .drop = a->drop},
                    .dtype = a->dtype,
                    .grad = a->grad,
                    .any_order = a->any_order,
                    .bias = a->bias ? TUTTI_F32 : TUTTI_DTYPE_NONE,
                    .workspace = sdpa_cudnn_workspace(0)};
    tutti_error err = TUTTI_ERROR_INIT;
    cdnn_plan *p = NULL;
    c.part = sdpa_cudnn_part(&c);
    ck_assert_msg(sdpa_cudnn_plan(&c, &lib, device, &p, &err) == TUTTI_OK,
                  "%s, %s, bias %d, gradient %d, dropout %g: %s", a->name,
                  tutti_dtype_name(a->dtype), (int)a->bias, (int)a->grad, (double)a->drop,
                  err.text);
    cdnn_plan_destroy(p);
}

/* In one process: most of a plan's time is the first one's. */
START_TEST(attention_gets_a_plan_forward_and_back)
{
    for (size_t k = 0; k < sizeof attentions / sizeof *attentions; k++) {
        describe_device(attentions[k].gpu);
        plan_attention(&attentions[k]);
        cdnn_drop(&device_graph);
    }
}
END_TEST

START_TEST(nvidias_headers_agree_with_ours)
{
    /* Otherwise this program would not have been built. */
    if (!nvidia_headers_are_here)
        tutti_skip("NVIDIA's headers are not installed: our declarations are not compared");
}
END_TEST

START_TEST(no_graph_is_planned)
{
    tutti_skip("cuDNN is not installed: no graph is planned");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("planning");
    TCase *t = tcase_create("cudnn");
    tcase_add_test(t, nvidias_headers_agree_with_ours);
    if (open_library()) {
        tcase_add_loop_test(t, every_convolution_of_the_residual_networks_gets_a_plan, 0,
                            (int)(sizeof layers / sizeof *layers));
        tcase_add_test(t, attention_gets_a_plan_forward_and_back);
    } else
        tcase_add_test(t, no_graph_is_planned);
    tcase_set_timeout(t, 300);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
