/* code_file_test.c - which file of device code a GPU gets, and what is said where there is none. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/code_file.h"
#include "tutti_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODYS "00000000000000000000000000000000"

static const code_id two[] = {{80, NOBODYS}, {90, NOBODYS}, {0, NULL}};
static const code_id none[] = {{0, NOBODYS}, {0, NULL}};

static void ck_refused(const code_id *ids, int capability, tutti_status status,
                       const char *text)
{
    code_file *f = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_int_eq(code_file_open(ids, capability, &f, &err), status);
    ck_assert_ptr_null(f);
    ck_assert_str_eq(err.text, text);
}

START_TEST(a_build_without_device_code_says_how_to_have_it)
{
    ck_refused(none, 90, TUTTI_E_UNSUPPORTED,
               "operations were built without device code, which wants -DTUTTI_CUDA=ON");
    ck_refused(none + 1, 90, TUTTI_E_UNSUPPORTED,
               "operations were built without device code, which wants -DTUTTI_CUDA=ON");
    ck_refused(
        two, 75, TUTTI_E_UNSUPPORTED,
        "operations have no device code for compute capability 7.5, this build has it for "
        "8.0, 9.0");
}
END_TEST

START_TEST(a_file_that_is_nowhere_is_named_with_the_folders_and_the_component)
{
    char path[160], want[sizeof(((tutti_error *)NULL)->text)];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    const int above = (int)(strrchr(path, '/') - path);
    (void)unsetenv("TUTTI_CUDA_CODE");
    (void)snprintf(
        want, sizeof want,
        "there is no sm_90.code, the device code of operations, in %.*s/lib/tutti/cuda, "
        "%s/lib/tutti/cuda, /usr/local/lib/tutti/cuda or /usr/lib/tutti/cuda: install "
        "the component cuda of this build (package tutti-cuda)",
        above, path, path);
    ck_refused(two, 90, TUTTI_E_NOTFOUND, want);
}
END_TEST

/* The architecture whose file is opened for a device: the sentence names it. */
static void ck_takes(int capability, const char *name)
{
    char folder[] = "/tmp/tutti_code_XXXXXX", want[256];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(setenv("TUTTI_CUDA_CODE", folder, 1), 0);
    (void)snprintf(want, sizeof want, "TUTTI_CUDA_CODE: %s/%s: No such file or directory",
                   folder, name);
    ck_refused(two, capability, TUTTI_E_NOTFOUND, want);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(a_device_gets_the_newest_code_that_is_not_newer_than_it)
{
    ck_takes(80, "sm_80.code");
    ck_takes(86, "sm_80.code");
    ck_takes(89, "sm_80.code");
    ck_takes(90, "sm_90.code");
    ck_takes(120, "sm_90.code"); /* its PTX is compiled by the driver */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("code_file");
    TCase *tc = tcase_create("code_file");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_build_without_device_code_says_how_to_have_it);
    tcase_add_test(tc, a_file_that_is_nowhere_is_named_with_the_folders_and_the_component);
    tcase_add_test(tc, a_device_gets_the_newest_code_that_is_not_newer_than_it);
    return tutti_run(suite);
}
