/* needs_test.c - libraries that a plugin brings along: found, judged, pinned, loaded as they were judged. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* A copy of the fixture in <temporary>/<name>, with other/ beside it. */
static void copy_needy(const char *name)
{
    shell("umask 022 && cp -r '%s'/needy/needy '%s/%s' && chmod -R go-w '%s/%s'", FIXTURES,
          temporary, name, temporary, name);
}

static tutti_status open_needy(registry *r, const char *name, tutti_error *err)
{
    instance *i = NULL;
    const tutti_status s =
        instance_open(find(r, "callback", name), "it", NULL, NULL, NULL, &i, err);
    instance_free(i);
    return s;
}

static void ck_opens(registry *r)
{
    tutti_error err = TUTTI_ERROR_INIT;
    ck_assert_ok(open_needy(r, "needy", &err), err);
}

static void ck_fault(const char *name, const char *sentence)
{
    registry *r = registry_over(temporary);
    ck_assert_str_eq(shorten(plugin_in(r, name).fault), sentence);
    registry_destroy(r);
    drop_temporary();
}

START_TEST(what_a_plugin_brings_along_is_found_and_loaded)
{
    make_temporary();
    copy_needy("a");
    registry *r = registry_over(temporary);
    ck_assert_str_eq(shorten(registry_file(r, 0, 0)), "#/a/plugin.json");
    ck_assert_str_eq(shorten(registry_file(r, 0, 1)), "#/a/needy.so");
    ck_assert_str_eq(shorten(registry_file(r, 0, 2)), "#/a/lib/libinner.so");
    ck_assert_str_eq(shorten(registry_file(r, 0, 3)), "#/a/lib/libhelper.so");
    ck_assert_ptr_null(registry_file(r, 0, 4));
    ck_opens(r);
    registry_destroy(r);
    r = registry_over(temporary); /* once more in this process */
    ck_opens(r);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_folder_of_theirs_that_everyone_may_write_is_not_trusted)
{
    make_temporary();
    copy_needy("a");
    shell("chmod 0777 '%s/a/lib'", temporary);
    ck_fault("a", "#/a/needy.so: needs libhelper.so, which it looks for where it may not be: "
                  "#/a/lib: the folder is writable by everyone (mode 0777), want only by its "
                  "owner");
}
END_TEST

START_TEST(so_is_a_file_that_only_another_library_needs)
{
    make_temporary();
    copy_needy("a");
    shell("chmod 0666 '%s/a/lib/libinner.so'", temporary);
    ck_fault("a",
             "#/a/lib/libhelper.so: needs libinner.so, which it looks for where it may not "
             "be: #/a/lib/libinner.so: the file is writable by everyone (mode 0666), want "
             "only by its owner");
}
END_TEST

START_TEST(pinned_trust_wants_them_in_the_lock_file)
{
    char lock[PATH_MAX + 8];
    make_temporary();
    copy_needy("a");
    (void)snprintf(lock, sizeof lock, "%s/lock", temporary);
    const char *const folders[] = {temporary, NULL};
    shell("umask 022; cd '%s/a' && sha256sum \"$PWD\"/plugin.json \"$PWD\"/needy.so "
          "\"$PWD\"/lib/libhelper.so >'%s'",
          temporary, lock);
    registry *r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_str_eq(shorten(plugin_in(r, "a").fault),
                     "#/a/lib/libinner.so: not pinned in #/lock");
    registry_destroy(r);
    shell("cd '%s/a' && sha256sum \"$PWD\"/lib/libinner.so >>'%s'", temporary, lock);
    r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    ck_opens(r);
    registry_destroy(r);
    /* Exchanged: the same name, other code. */
    shell("cp '%s'/needy/other/libinner.so '%s/a/lib/libinner.so'", FIXTURES, temporary);
    r = registry_over_with(folders, TRUST_PINNED, lock);
    const char *fault = shorten(plugin_in(r, "a").fault);
    ck_assert_msg(strncmp(fault, "#/a/lib/libinner.so: has SHA-256 ", 33) == 0, "%s", fault);
    ck_assert_ptr_nonnull(strstr(fault, ", but #/lock pins "));
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(one_that_is_exchanged_after_the_search_is_refused_too)
{
    char lock[PATH_MAX + 8];
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    copy_needy("a");
    (void)snprintf(lock, sizeof lock, "%s/lock", temporary);
    const char *const folders[] = {temporary, NULL};
    shell("umask 022; cd '%s/a' && sha256sum \"$PWD\"/plugin.json \"$PWD\"/needy.so "
          "\"$PWD\"/lib/*.so >'%s'",
          temporary, lock);
    registry *r = registry_over_with(folders, TRUST_PINNED, lock);
    shell("cp '%s'/needy/other/libinner.so '%s/a/lib/libinner.so'", FIXTURES, temporary);
    ck_assert_int_eq(open_needy(r, "needy", &err), TUTTI_E_TRUST);
    ck_assert_ptr_nonnull(strstr(shorten(err.text), "#/a/lib/libinner.so: has SHA-256 "));
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_library_that_is_missing_is_told_when_it_is_loaded)
{
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    copy_needy("a");
    shell("rm '%s/a/lib/libinner.so'", temporary);
    registry *r = registry_over(temporary);
    ck_assert_int_eq(open_needy(r, "needy", &err), TUTTI_E_IO);
    ck_assert_str_eq(shorten(err.text),
                     "#/a/needy.so: needs libinner.so: libinner.so: cannot open shared object "
                     "file: No such file or directory");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

/* The system's loader would give the second plugin the first one's library, whatever is pinned for it. */
START_TEST(another_plugins_library_does_not_take_its_place)
{
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    copy_needy("a");
    copy_needy("b");
    shell("sed -i 's/org.fixture.needy/org.fixture.second/' '%s/b/plugin.json' && "
          "cp '%s'/needy/other/libinner.so '%s/b/lib/libinner.so'",
          temporary, FIXTURES, temporary);
    registry *r = registry_over(temporary);
    ck_assert_ok(open_needy(r, "org.fixture.needy:needy", &err), err);
    ck_assert_int_eq(open_needy(r, "org.fixture.second:needy", &err), TUTTI_E_TRUST);
    ck_assert_str_eq(shorten(err.text),
                     "#/b/needy.so: needs #/b/lib/libinner.so, but another plugin has loaded "
                     "#/a/lib/libinner.so by that name, which is another library");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

/* Pages of a mapped file show what is written into it later; those of sealed memory do not. */
START_TEST(a_library_that_is_written_over_while_it_is_used_changes_nothing)
{
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    copy_needy("a");
    registry *r = registry_over(temporary);
    ck_opens(r);
    shell("for f in '%s'/a/needy.so '%s'/a/lib/*.so; do dd if=/dev/zero of=\"$f\" conv=notrunc "
          "bs=4096 count=4 2>/dev/null; done",
          temporary, temporary);
    ck_assert_ok(open_needy(r, "needy", &err), err);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(debuggers_find_the_file)
{
    Dl_info info = {0};
    char path[PATH_MAX + 32];
    make_temporary();
    copy_needy("a");
    registry *r = registry_over(temporary);
    ck_opens(r);
    (void)snprintf(path, sizeof path, "%s/a/lib/libhelper.so", temporary);
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    ck_assert_ptr_nonnull(handle);
    ck_assert_int_ne(dladdr(dlsym(handle, "helper_answer"), &info), 0);
    ck_assert_str_eq(info.dli_fname, path);
    ck_assert_int_eq(dlclose(handle), 0);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

/* Whoever makes itself a daemon closes all files; their numbers come again, and mean others. */
START_TEST(descriptors_that_others_close_do_no_harm)
{
    tutti_error err = TUTTI_ERROR_INIT;
    make_temporary();
    copy_needy("a");
    shell("umask 022; cp -r '%s'/good/good '%s/b' && chmod -R go-w '%s/b'", FIXTURES, temporary,
          temporary);
    registry *r = registry_over(temporary);
    ck_opens(r);
    for (int fd = 3; fd < 64; fd++)
        (void)close(fd);
    ck_assert_ok(open_needy(r, "strict", &err), err);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(without_trust_the_systems_loader_looks_for_them)
{
    make_temporary();
    copy_needy("a");
    shell("chmod 0777 '%s/a/lib'", temporary);
    const char *const folders[] = {temporary, NULL};
    registry *r = registry_over_with(folders, TRUST_NONE, NULL);
    ck_opens(r);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("needs");
    TCase *t = tcase_create("needs");
    tcase_add_test(t, what_a_plugin_brings_along_is_found_and_loaded);
    tcase_add_test(t, a_folder_of_theirs_that_everyone_may_write_is_not_trusted);
    tcase_add_test(t, so_is_a_file_that_only_another_library_needs);
    tcase_add_test(t, pinned_trust_wants_them_in_the_lock_file);
    tcase_add_test(t, one_that_is_exchanged_after_the_search_is_refused_too);
    tcase_add_test(t, a_library_that_is_missing_is_told_when_it_is_loaded);
    tcase_add_test(t, another_plugins_library_does_not_take_its_place);
    tcase_add_test(t, a_library_that_is_written_over_while_it_is_used_changes_nothing);
    tcase_add_test(t, debuggers_find_the_file);
    tcase_add_test(t, descriptors_that_others_close_do_no_harm);
    tcase_add_test(t, without_trust_the_systems_loader_looks_for_them);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
