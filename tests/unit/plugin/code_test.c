/* code_test.c - files of device code are trusted no more than the library beside them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cubin_make.h"
#include "registry_check.h"

#include <stdio.h>

static const uint32_t wanted[] = {8, 4, 8}, other[] = {8, 4, 4};

/* A copy of the fixture in <temporary>/a. */
static void copy_plugin(void)
{
    make_temporary();
    shell("umask 022 && mkdir '%s/a' && cp '%s'/device_code/device_code/* '%s/a/'", temporary,
          FIXTURES, temporary);
}

/* Its device code, whose function takes arguments of these sizes. */
static void write_code(const uint32_t *sizes)
{
    char path[PATH_MAX];
    const made one = make_cubin("scale_cuda", sizes, 3), m = make_fatbin(&one, &one);
    (void)snprintf(path, sizeof path, "%s/a/device_code.fatbin", temporary);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(m.bytes, 1, m.size, f), m.size);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(chmod(path, 0644), 0);
}

static void ck_fault(const char *sentence)
{
    registry *r = registry_over(temporary);
    const char *fault = plugin_in(r, "a").fault;
    if (sentence)
        ck_assert_str_eq(shorten(fault), sentence);
    else
        ck_assert_msg(!fault, "%s", fault);
    registry_destroy(r);
}

static instance *open_plugin(registry *r)
{
    instance *i = NULL;
    tutti_error err = TUTTI_ERROR_INIT;
    faults *f = faults_create();
    const object *o = find(r, "callback", "device_code");
    tutti_params *p = params_from_json(o, NULL, NULL, "/", f);
    ck_assert_ok(instance_open(o, "c", p, NULL, NULL, &i, &err), err);
    faults_destroy(f);
    return i;
}

START_TEST(a_plugin_without_its_device_code_is_usable)
{
    tutti_error err = TUTTI_ERROR_INIT;
    void *data = &err;
    uint64_t bytes = 1;
    copy_plugin();
    ck_fault(NULL);
    registry *r = registry_over(temporary);
    ck_assert_ptr_null(registry_code(r, 0, 0));
    instance *i = open_plugin(r);
    write_code(wanted); /* too late: nobody has judged it */
    ck_assert_ok(instance_read_code(i, 0, &data, &bytes, &err), err);
    ck_assert_ptr_null(data);
    ck_assert_uint_eq(bytes, 0);
    instance_free(i);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(device_code_is_read_as_it_was_judged)
{
    void *data = NULL;
    uint64_t bytes = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    copy_plugin();
    write_code(wanted);
    registry *r = registry_over(temporary);
    ck_assert_str_eq(shorten(registry_code(r, 0, 0)), "#/a/device_code.fatbin");
    ck_assert_ptr_null(registry_code(r, 0, 1));
    instance *i = open_plugin(r);
    ck_assert_ok(instance_read_code(i, 0, &data, &bytes, &err), err);
    const made one = make_cubin("scale_cuda", wanted, 3), m = make_fatbin(&one, &one);
    ck_assert_uint_eq(bytes, m.size);
    ck_assert_int_eq(memcmp(data, m.bytes, m.size), 0);
    free(data);
    write_code(other);
    ck_assert_int_eq(instance_read_code(i, 0, &data, &bytes, &err), TUTTI_E_TRUST);
    ck_assert_str_eq(shorten(err.text),
                     "#/a/device_code.fatbin: the file has changed since it was judged");
    ck_assert_ptr_null(data);
    instance_free(i);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(arguments_that_the_manifest_does_not_declare_are_told)
{
    copy_plugin();
    write_code(other);
    ck_fault("#/a/device_code.fatbin: argument 2 of scale_cuda for sm_80 has 4 bytes, that of "
             "kernel scale has 8");
    shell("sed -i 's/\"i64\"\\]\\],/\"i64\"], [\"b\", \"f32\"]],/' '%s/a/plugin.json'",
          temporary);
    ck_fault("#/a/device_code.fatbin: scale_cuda for sm_80 takes 3 arguments, kernel scale has "
             "4");
    drop_temporary();
}
END_TEST

START_TEST(a_link_in_its_place_is_not_followed)
{
    copy_plugin();
    write_code(wanted);
    shell("cd '%s/a' && mv device_code.fatbin other && ln -s other device_code.fatbin",
          temporary);
    ck_fault("#/a/device_code.fatbin: a symbolic link, want a regular file");
    drop_temporary();
}
END_TEST

START_TEST(device_code_that_everyone_may_write_is_not_trusted)
{
    copy_plugin();
    write_code(wanted);
    shell("chmod 0666 '%s/a/device_code.fatbin'", temporary);
    ck_fault("#/a/device_code.fatbin: the file is writable by everyone (mode 0666), want only "
             "by its owner");
    drop_temporary();
}
END_TEST

START_TEST(another_users_device_code_is_not_trusted)
{
    if (geteuid() != 0) {
        tutti_skip("only root can give files away");
        return;
    }
    copy_plugin();
    write_code(wanted);
    shell("chown 12345 '%s/a/device_code.fatbin'", temporary);
    ck_fault("#/a/device_code.fatbin: the file belongs to user 12345, want root or user 0");
    drop_temporary();
}
END_TEST

START_TEST(it_lies_beside_the_manifest)
{
    static const char *const files[] = {"../x.fatbin", "x/y.fatbin", ".x"};
    char text[160];
    copy_plugin();
    shell("sed -i 's|device_code.fatbin|%s|' '%s/a/plugin.json'", files[_i], temporary);
    (void)snprintf(
        text, sizeof text,
        "#/a/plugin.json:11: kernels[0].cuda.file: is \"%s\", want a file beside the "
        "manifest",
        files[_i]);
    ck_fault(text);
    drop_temporary();
}
END_TEST

START_TEST(the_manifest_may_pin_it)
{
    copy_plugin();
    write_code(wanted);
    shell("cd '%s/a' && hex=$(sha256sum device_code.fatbin | cut -c 1-64) && "
          "sed -i \"s/\\\"grid\\\"/\\\"sha256\\\": \\\"$hex\\\", \\\"grid\\\"/\" plugin.json",
          temporary);
    ck_fault(NULL);
    shell(
        "cd '%s/a' && sed -i 's/\"sha256\": \"[0-9a-f]*\"/\"sha256\": \"%064d\"/' plugin.json",
        temporary, 0);
    registry *r = registry_over(temporary);
    const char *fault = shorten(plugin_in(r, "a").fault);
    ck_assert_msg(strncmp(fault, "#/a/device_code.fatbin: has SHA-256 ", 36) == 0, "%s", fault);
    ck_assert_str_eq(fault + 36 + 64,
                     ", its manifest says "
                     "0000000000000000000000000000000000000000000000000000000000000000");
    registry_destroy(r);
    shell("cd '%s/a' && sed -i 's/\"sha256\": \"[0-9a-f]*\"/\"sha256\": \"F0\"/' plugin.json",
          temporary);
    ck_fault(
        "#/a/plugin.json:11: kernels[0].cuda.sha256: is \"F0\", want 64 lower-case hexadecimal "
        "digits");
    drop_temporary();
}
END_TEST

START_TEST(pinned_trust_wants_it_in_the_lock_file)
{
    char lock[PATH_MAX];
    copy_plugin();
    write_code(wanted);
    (void)snprintf(lock, sizeof lock, "%s/lock", temporary);
    const char *const folders[] = {temporary, NULL};
    shell("sha256sum '%s'/a/plugin.json '%s'/a/device_code.so >'%s'", temporary, temporary,
          lock);
    registry *r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_str_eq(shorten(plugin_in(r, "a").fault),
                     "#/a/device_code.fatbin: not pinned in #/lock");
    registry_destroy(r);
    shell("sha256sum '%s'/a/device_code.fatbin >>'%s'", temporary, lock);
    r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("code");
    TCase *t = tcase_create("trust");
    tcase_add_test(t, a_plugin_without_its_device_code_is_usable);
    tcase_add_test(t, device_code_is_read_as_it_was_judged);
    tcase_add_test(t, arguments_that_the_manifest_does_not_declare_are_told);
    tcase_add_test(t, a_link_in_its_place_is_not_followed);
    tcase_add_test(t, device_code_that_everyone_may_write_is_not_trusted);
    tcase_add_test(t, another_users_device_code_is_not_trusted);
    tcase_add_loop_test(t, it_lies_beside_the_manifest, 0, 3);
    tcase_add_test(t, the_manifest_may_pin_it);
    tcase_add_test(t, pinned_trust_wants_it_in_the_lock_file);
    suite_add_tcase(s, t);
    return tutti_run(s);
}
