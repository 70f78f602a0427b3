/* cubin_test.c - device code is held to the arguments that its callers pass. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cubin_make.h"
#include "plugin/elf/cubin.h"
#include "tutti_check.h"

static const uint32_t wanted[] = {8, 4, 8};

static cubin_function scale(void)
{
    return (cubin_function){"scale_cuda", "kernel scale", wanted, 3, 0};
}

static tutti_status check(const made *m, cubin_function *f, tutti_error *err)
{
    return cubin_check_bytes("x.fatbin", m->bytes, m->size, f, 1, err);
}

START_TEST(the_right_arguments_are_found_in_every_cubin)
{
    tutti_error err = TUTTI_ERROR_INIT;
    cubin_function f = scale();
    const made one = make_cubin("scale_cuda", wanted, 3), both = make_fatbin(&one, &one);
    ck_assert_ok(check(&both, &f, &err), err);
    ck_assert_uint_eq(f.checked, 2);
    ck_assert_ok(check(&one, &f, &err), err);
    ck_assert_uint_eq(f.checked, 1);
}
END_TEST

START_TEST(a_function_without_arguments_has_none)
{
    tutti_error err = TUTTI_ERROR_INIT;
    cubin_function f = {"scale_cuda", "kernel scale", NULL, 0, 0};
    const made one = make_cubin("scale_cuda", NULL, 0);
    ck_assert_ok(check(&one, &f, &err), err);
    ck_assert_uint_eq(f.checked, 1);
}
END_TEST

static const struct wrong {
    const char *entry;
    uint32_t sizes[4], nargs;
    tutti_status status;
    const char *text;
} wrongs[] = {
    {"scale_cuda",
     {8, 4},
     2,
     TUTTI_E_ARG,
     "x.fatbin: scale_cuda for sm_90 takes 2 arguments, kernel scale has 3"},
    {"scale_cuda",
     {8, 4, 8, 4},
     4,
     TUTTI_E_ARG,
     "x.fatbin: scale_cuda for sm_90 takes 4 arguments, kernel scale has 3"},
    {"scale_cuda",
     {8, 4, 4},
     3,
     TUTTI_E_ARG,
     "x.fatbin: argument 2 of scale_cuda for sm_90 has 4 bytes, that of kernel scale has 8"},
    {"scale_cuda2",
     {8, 4, 8},
     3,
     TUTTI_E_NOTFOUND,
     "x.fatbin: has no function scale_cuda for sm_90, which kernel scale names"},
};

START_TEST(wrong_arguments_are_told)
{
    const struct wrong *w = &wrongs[_i];
    tutti_error err = TUTTI_ERROR_INIT;
    cubin_function f = scale();
    const made good = make_cubin("scale_cuda", wanted, 3),
               bad = make_cubin(w->entry, w->sizes, w->nargs), both = make_fatbin(&good, &bad);
    ck_assert_int_eq(check(&both, &f, &err), w->status);
    ck_assert_str_eq(err.text, w->text);
}
END_TEST

START_TEST(what_is_no_device_code_is_told)
{
    tutti_error err = TUTTI_ERROR_INIT;
    cubin_function f = scale();
    made m = {.bytes = "PTX", .size = 64};
    ck_assert_int_eq(check(&m, &f, &err), TUTTI_E_FORMAT);
    ck_assert_str_eq(err.text, "x.fatbin: neither a fatbin nor a cubin");
    m = make_cubin("scale_cuda", wanted, 3);
    m.bytes[18] = EM_X86_64;
    err = (tutti_error)TUTTI_ERROR_INIT;
    ck_assert_int_eq(check(&m, &f, &err), TUTTI_E_FORMAT);
    ck_assert_str_eq(err.text, "x.fatbin: no device code of CUDA's");
}
END_TEST

START_TEST(an_argument_of_which_nothing_is_said_is_told)
{
    tutti_error err = TUTTI_ERROR_INIT;
    cubin_function f = scale();
    made m = make_cubin("scale_cuda", wanted, 3);
    for (size_t k = 0; k + 4 < m.size; k++)
        if (m.bytes[k] == 4 && m.bytes[k + 1] == 0x17 && m.bytes[k + 8] == 1)
            m.bytes[k + 1] = 0x7f;
    ck_assert_int_eq(check(&m, &f, &err), TUTTI_E_FORMAT);
    ck_assert_str_eq(
        err.text,
        "x.fatbin: scale_cuda does not say of all of its arguments how long they are");
}
END_TEST

/* A file cut off anywhere, and one with any byte inverted: an answer, and no read outside. */
START_TEST(a_torn_file_is_told)
{
    const made one = make_cubin("scale_cuda", wanted, 3), whole = make_fatbin(&one, &one);
    cubin_function f = scale();
    for (size_t size = 0; size < whole.size; size++) {
        tutti_error err = TUTTI_ERROR_INIT;
        unsigned char *cut = malloc(size ? size : 1);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, whole.bytes, size);
        ck_assert_int_eq(cubin_check_bytes("x.fatbin", cut, size, &f, 1, &err), TUTTI_E_FORMAT);
        ck_assert_str_eq(err.text,
                         size < 16 ? "x.fatbin: neither a fatbin nor a cubin"
                                   : "x.fatbin: its device code points outside of the file");
        free(cut);
    }
    for (size_t k = 0; k < whole.size; k++) {
        tutti_error err = TUTTI_ERROR_INIT;
        made m = whole;
        m.bytes[k] ^= 0xff;
        const tutti_status s = check(&m, &f, &err);
        ck_assert(s == TUTTI_OK || err.text[0]);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cubin");
    TCase *t = tcase_create("arguments");
    tcase_add_test(t, the_right_arguments_are_found_in_every_cubin);
    tcase_add_test(t, a_function_without_arguments_has_none);
    tcase_add_loop_test(t, wrong_arguments_are_told, 0, (int)(sizeof wrongs / sizeof *wrongs));
    tcase_add_test(t, what_is_no_device_code_is_told);
    tcase_add_test(t, an_argument_of_which_nothing_is_said_is_told);
    tcase_add_test(t, a_torn_file_is_told);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
