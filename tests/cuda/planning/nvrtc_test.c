/* nvrtc_test.c - the real NVRTC compiles expressions of plugins, for GPUs that are not there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/nvrtc.h"
#include "expression_ops.h"
#include "pointwise_fusion/pointwise_compile.h"
#include "tutti_check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *library;
static void *made;
static void (*drop)(void *object);

static tutti_status symbol(void *ctx, const char *name_of_library, const char *name,
                           void **ret_symbol, tutti_error *err)
{
    (void)ctx;
    ck_assert_str_eq(name_of_library, "nvrtc");
    *ret_symbol = dlsym(library, name);
    return *ret_symbol ? TUTTI_OK : tutti_fail(err, TUTTI_E_NOTFOUND, "NVRTC has no %s", name);
}

static tutti_status object(void *ctx, const void *key,
                           tutti_status (*make)(const tutti_cuda_v1 *cuda, void **ret_object,
                                                tutti_error *err),
                           void (*destroy)(void *object), void **ret_object, tutti_error *err)
{
    (void)key;
    drop = destroy;
    const tutti_status s = made ? TUTTI_OK : make(ctx, &made, err);
    *ret_object = made;
    return s;
}

static void describe(tutti_cuda_v1 *cuda, int32_t capability)
{
    *cuda = (tutti_cuda_v1){.struct_size = sizeof *cuda,
                            .capability = capability,
                            .ctx = cuda,
                            .symbol = symbol,
                            .object = object};
}

static void forget(void)
{
    if (made)
        drop(made);
    made = NULL;
}

static const tutti_op *const ops[] = {&blend_op, &squeeze_op, &tilt_op};
static const int32_t capabilities[] = {80, 90, 100, 120};

START_TEST(expressions_become_device_code)
{
    tutti_cuda_v1 cuda;
    tutti_error err = TUTTI_ERROR_INIT;
    const tutti_cuda_image *image = NULL, *again = NULL;
    tutti_op_choice choice = {.struct_size = sizeof choice};
    describe(&cuda, capabilities[_i]);
    const tutti_op_call call = {.struct_size = sizeof call, .cuda = &cuda, .choice = &choice};
    for (int k = 0; k < 3; k++)
        ck_assert_ok(pointwise_can_compile(&cuda, ops[k], &err), err);
    ck_assert_ok(pointwise_compile(&call, ops, 3, &image, &err), err);
    ck_assert_str_eq(image->name, "pointwise_fusion with blend, squeeze, tilt");
    ck_assert_str_eq(choice.library + strlen(choice.library) - 2, ".0");
    ck_assert_mem_eq(image->data, "\177ELF", 4);
    ck_assert_ptr_nonnull(memmem(image->data, image->bytes, ".text.pointwise_fusion_cuda", 27));
    ck_assert_ok(pointwise_compile(&call, ops, 3, &again, &err), err);
    ck_assert_ptr_eq(image, again);
    ck_assert_ok(pointwise_compile(&call, ops + 2, 1, &again, &err), err);
    ck_assert_ptr_ne(image, again);
    forget();
}
END_TEST

START_TEST(a_wrong_expression_is_told_with_its_line)
{
    tutti_cuda_v1 cuda;
    tutti_error err = TUTTI_ERROR_INIT;
    tutti_op_traits traits = tilt_traits;
    tutti_op wrong = tilt_op;
    const tutti_op *const one = &wrong;
    const tutti_cuda_image *image = NULL;
    traits.pointwise_cuda = "__device__ float tilt_f32(float x, float y)\n{\n    return z;\n}";
    wrong.traits = &traits;
    describe(&cuda, 90);
    const tutti_op_call call = {.struct_size = sizeof call, .cuda = &cuda};
    ck_assert_int_eq(pointwise_compile(&call, &one, 1, &image, &err), TUTTI_E_ARG);
    ck_assert_msg(strstr(err.text, "tilt(3): error: identifier \"z\" is undefined"), "%s",
                  err.text);
    forget();
}
END_TEST

START_TEST(a_gpu_that_it_does_not_know_is_told)
{
    tutti_cuda_v1 cuda;
    tutti_error err = TUTTI_ERROR_INIT;
    describe(&cuda, 999);
    ck_assert_int_eq(pointwise_can_compile(&cuda, &tilt_op, &err), TUTTI_E_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, "does not compile for compute capability 99.9"), "%s",
                  err.text);
}
END_TEST

int main(void)
{
    library = *LIBNVRTC ? dlopen(LIBNVRTC, RTLD_NOW) : NULL;
    if (!library) {
        (void)printf("skipped: NVRTC is not installed\n");
        return 77;
    }
    Suite *suite = suite_create("NVRTC");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, expressions_become_device_code, 0,
                        sizeof capabilities / sizeof *capabilities);
    tcase_add_test(all, a_wrong_expression_is_told_with_its_line);
    tcase_add_test(all, a_gpu_that_it_does_not_know_is_told);
    suite_add_tcase(suite, all);
    return tutti_run(suite);
}
