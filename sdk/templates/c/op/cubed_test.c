/* cubed_test.c - the operation, met through its entry function; its kernel against its definition. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_check.h"
#include "tutti/op.h"

START_TEST(the_kernel_computes_the_definition)
{
    float x[] = {1, -2, 0.5f, 0}, y[4];
    const double exact[] = {1, -2, 0.5, 0};
    double want[4];
    const tutti_desc in = {{4}, 1, TUTTI_F32}, bad = {{4}, 1, TUTTI_U8};
    tutti_desc out;
    const void *const from[] = {x};
    void *const to[] = {y};
    const double *const from_exact[] = {exact};
    double *const to_exact[] = {want};
    tutti_error err = TUTTI_ERROR_INIT;
    subject s;
    ck_assert_ok(subject_open(&s, PLUGIN_PATH, TUTTI_KIND_OP, "cubed", NULL, NULL, &err), err);
    const tutti_op *op = (const tutti_op *)subject_query(&s, TUTTI_OP_V1);
    tutti_op_call call = {
        .struct_size = sizeof call, .nin = 1, .nout = 1, .threads = 1, .in = &in, .out = &out};
    ck_assert_ok(op->infer(&call, &out, &err), err);
    ck_assert(tutti_same_shape(&in, &out));
    ck_assert_int_eq(op->cpu->run(NULL, &call, from, to, NULL), TUTTI_OK);
    ck_assert_int_eq(op->reference(&call, from_exact, to_exact), TUTTI_OK);
    for (int k = 0; k < 4; k++)
        ck_assert((double)y[k] == want[k]);
    call.in = &bad;
    ck_assert_int_eq(op->infer(&call, &out, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "cubed: x is U8 (4), want F32");
    subject_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cubed");
    TCase *t = tcase_create("cubed");
    tcase_add_test(t, the_kernel_computes_the_definition);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
