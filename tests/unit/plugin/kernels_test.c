/* kernels_test.c - calling the kernels that a manifest declares, through tutti.kernel/1. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"
#include "tutti/kernel.h"

static const uint32_t needed[2] = {8, 0};

static const void *serve(void *ctx, instance *i, const char *interface_id)
{
    return strcmp(interface_id, "org.fixture.needed/1") == 0 ? needed : NULL;
}

/* The fixture's self is its host. */
static const tutti_kernel_v1 *kernels_of(const instance *i)
{
    const tutti_host *host = instance_self(i);
    const tutti_kernel_v1 *k = host->query(host->ctx, TUTTI_KERNEL_V1);
    ck_assert_ptr_nonnull(k);
    return k;
}

static instance *open_kernels(registry *r)
{
    instance *i = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    const object *o = find(r, "callback", "kernels");
    tutti_params *p = params_from_json(o, NULL, NULL, "/", f);
    ck_assert_ok(instance_open(o, "k", p, serve, NULL, &i, &err), err);
    faults_destroy(f);
    return i;
}

START_TEST(a_kernel_gets_its_buffers_and_numbers)
{
    float y[3] = {1, 2, 3}, x[3] = {10, 20, 30}, a = 0.5f;
    uint64_t n = 3;
    float *py = y, *px = x;
    void *args[] = {&py, &px, &a, &n};
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t number;
    registry *r = registry_over(FIXTURES "/kernels");
    instance *i = open_kernels(r);
    const tutti_kernel_v1 *k = kernels_of(i);
    ck_assert_ok(k->find(k->ctx, "axpy", &number, &err), err);
    ck_assert_ok(k->launch(k->ctx, number, args, 4, &err), err);
    ck_assert_float_eq(y[0], 6);
    ck_assert_float_eq(y[2], 18);
    ck_assert_int_eq(k->launch(k->ctx, number, args, 3, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG,
                    "org.fixture.kernels: kernel axpy takes 4 arguments, not 3");
    instance_free(i);
    registry_destroy(r);
}
END_TEST

START_TEST(arguments_of_every_type_arrive)
{
    double sum = 0, j = 0.25, *psum = &sum;
    int8_t a = -1;
    int16_t b = -20;
    int32_t c = -300;
    int64_t d = -4000;
    uint8_t e = 200;
    uint16_t f = 60000;
    uint32_t g = 4000000000u;
    uint64_t h = 5000000000u;
    float i32 = 0.5f;
    void *args[] = {&psum, &a, &b, &c, &d, &e, &f, &g, &h, &i32, &j};
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t number;
    registry *r = registry_over(FIXTURES "/kernels");
    instance *i = open_kernels(r);
    const tutti_kernel_v1 *k = kernels_of(i);
    ck_assert_ok(k->find(k->ctx, "mixed", &number, &err), err);
    ck_assert_ok(k->launch(k->ctx, number, args, 11, &err), err);
    ck_assert_double_eq(sum, -1 - 20 - 300 - 4000 + 200 + 60000 + 4e9 + 5e9 + 0.75);
    instance_free(i);
    registry_destroy(r);
}
END_TEST

START_TEST(a_kernel_that_is_not_declared_is_not_found)
{
    tutti_error err = TUTTI_ERROR_INIT;
    uint32_t number;
    registry *r = registry_over(FIXTURES "/kernels");
    instance *i = open_kernels(r);
    const tutti_kernel_v1 *k = kernels_of(i);
    ck_assert_int_eq(k->find(k->ctx, "none", &number, &err), TUTTI_E_NOTFOUND);
    ck_assert_str_eq(shorten(err.text),
                     "@/kernels/kernels/plugin.json: declares no kernel called \"none\"");
    instance_free(i);
    registry_destroy(r);
}
END_TEST

START_TEST(a_required_interface_must_be_offered)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    registry *r = registry_over(FIXTURES "/kernels");
    ck_assert_int_eq(
        instance_open(find(r, "callback", "kernels"), "k", NULL, NULL, NULL, &i, &err),
        TUTTI_E_UNSUPPORTED);
    ck_assert_str_eq(shorten(err.text), "@/kernels/kernels/plugin.json: requires "
                                        "org.fixture.needed/1, which this host does not offer "
                                        "here");
    registry_destroy(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernels");
    TCase *t = tcase_create("kernels");
    tcase_add_test(t, a_kernel_gets_its_buffers_and_numbers);
    tcase_add_test(t, arguments_of_every_type_arrive);
    tcase_add_test(t, a_kernel_that_is_not_declared_is_not_found);
    tcase_add_test(t, a_required_interface_must_be_offered);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
