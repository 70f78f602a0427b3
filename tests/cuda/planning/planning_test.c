/* planning_test.c - every graph of three models is planned by the real cuDNN, for an absent H100. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "conv2d/conv2d_cudnn.h"
#include "h100.h"
#include "sdpa/sdpa_cudnn.h"
#include "tutti_check.h"

#include <dlfcn.h>

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

static void describe_device(void)
{
    cdnn_graph *g = &device_graph;
    device = cdnn_make(g, CDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    cdnn_set(g, device, CDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CDNN_TYPE_CHAR,
             (int64_t)sizeof h100, h100);
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

START_TEST(every_convolution_of_the_residual_networks_gets_a_plan)
{
    static const char *const kinds[] = {"forward", "gradient of x", "gradient of w"};
    const layer *l = &layers[_i];
    const int64_t oh = (l->h + 2 * l->padding - l->k) / l->stride + 1;
    describe_device();
    for (int32_t kind = 0; kind < 3; kind++) {
        for (int t = 0; t < 3; t++) {
            const conv2d_cudnn c = {.g = {.b = l->b,
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
                                    .dtype = dtypes[t]};
            tutti_error err = TUTTI_ERROR_INIT;
            cdnn_plan *p = NULL;
            ck_assert_msg(conv2d_cudnn_plan(&c, &lib, device, &p, &err) == TUTTI_OK,
                          "%s, %lld x %lld filters of %lld, %s, %s: %s", l->model,
                          (long long)l->o, (long long)l->k, (long long)l->c, kinds[kind],
                          tutti_dtype_name(dtypes[t]), err.text);
            ck_assert_uint_le(cdnn_plan_workspace(p), (uint64_t)256 << 20);
            cdnn_plan_destroy(p);
        }
    }
    cdnn_drop(&device_graph);
}
END_TEST

/* ---- attention ---- */

START_TEST(the_attention_of_gpt2_gets_a_plan_forward_and_back)
{
    const int64_t b = 64, h = 12, t = 1024, d = 64;
    const sdpa_stride packed = {3 * h * d * t, d, 3 * h * d}, result = {h * d * t, d, h * d};
    const sdpa_cudnn c = {.s = {.batch = b,
                                .heads = h,
                                .tq = t,
                                .tk = t,
                                .d = d,
                                .causal = 1,
                                .scale = 0.125,
                                .q = packed,
                                .k = packed,
                                .v = packed,
                                .y = result},
                          .dtype = dtypes[_i / 2],
                          .grad = _i % 2};
    tutti_error err = TUTTI_ERROR_INIT;
    cdnn_plan *p = NULL;
    describe_device();
    ck_assert_msg(sdpa_cudnn_plan(&c, &lib, device, &p, &err) == TUTTI_OK, "%s", err.text);
    cdnn_plan_destroy(p);
    cdnn_drop(&device_graph);
}
END_TEST

/* As BERT's padding (a number a key and sample) and as ALiBi (a number a query, key and head). */
START_TEST(attention_with_a_bias_gets_a_plan_forward_and_back)
{
    const int64_t b = 32, h = 12, t = 512, d = 64;
    const sdpa_stride packed = {3 * h * d * t, d, 3 * h * d}, result = {h * d * t, d, h * d};
    const sdpa_stride padding = {t, 0, 0}, alibi = {0, t * t, t};
    const bool far = _i % 2;
    const sdpa_cudnn c = {.s = {.batch = b,
                                .heads = h,
                                .tq = t,
                                .tk = t,
                                .d = d,
                                .causal = far,
                                .scale = 0.125,
                                .q = packed,
                                .k = packed,
                                .v = packed,
                                .y = result,
                                .bias = far ? alibi : padding,
                                .bias_key = 1},
                          .dtype = dtypes[_i % 2],
                          .grad = _i / 2,
                          .bias = TUTTI_F32};
    tutti_error err = TUTTI_ERROR_INIT;
    cdnn_plan *p = NULL;
    describe_device();
    ck_assert_msg(sdpa_cudnn_plan(&c, &lib, device, &p, &err) == TUTTI_OK, "%s", err.text);
    cdnn_plan_destroy(p);
    cdnn_drop(&device_graph);
}
END_TEST

START_TEST(nvidias_headers_agree_with_ours)
{
    /* Otherwise this program would not have been built. */
    if (!nvidia_headers_are_here)
        (void)puts("NVIDIA's headers are not installed: our declarations were not compared");
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
        tcase_add_loop_test(t, the_attention_of_gpt2_gets_a_plan_forward_and_back, 0, 4);
        tcase_add_loop_test(t, attention_with_a_bias_gets_a_plan_forward_and_back, 0, 4);
    } else
        (void)puts("cuDNN is not installed: no graph was planned");
    tcase_set_timeout(t, 300);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
