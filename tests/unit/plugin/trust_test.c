/* trust_test.c - owners, modes, links, sizes, duplicates, pins: whatever depends on the file system. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "registry_check.h"

#include <stdio.h>

/* A copy of the good fixture in <temporary>/<name>. */
static void copy_good(const char *name)
{
    shell("umask 022 && mkdir -p '%s/%s' && cp '%s'/good/good/* '%s/%s/'", temporary, name,
          FIXTURES, temporary, name);
}

static void ck_fault(const char *name, const char *sentence)
{
    registry *r = registry_over(temporary);
    ck_assert_str_eq(shorten(plugin_in(r, name).fault), sentence);
    registry_destroy(r);
    drop_temporary();
}

START_TEST(a_folder_that_everyone_may_write_is_not_trusted)
{
    make_temporary();
    copy_good("a");
    shell("chmod 0777 '%s/a'", temporary);
    ck_fault("a",
             "#/a: the folder is writable by everyone (mode 0777), want only by its owner");
}
END_TEST

START_TEST(a_library_that_its_group_may_write_is_not_trusted)
{
    if (geteuid() != 0) {
        tutti_skip("only root can give files to a group of others");
        return;
    }
    make_temporary();
    copy_good("a");
    shell("chgrp 12345 '%s/a/good.so' && chmod 0775 '%s/a/good.so'", temporary, temporary);
    ck_fault(
        "a",
        "#/a/good.so: the file is writable by its group (mode 0775), want only by its owner");
}
END_TEST

/* One plugin that can be used beside one that cannot: each has its own remark. */
START_TEST(what_is_not_trusted_is_said_of_it_alone_where_others_are)
{
    make_temporary();
    copy_good("a");
    copy_good("b");
    shell(
        "chmod 0777 '%s/b'; sed -i 's/org.fixture.good/org.fixture.other/' '%s/b/plugin.json'",
        temporary, temporary);
    registry *r = registry_over(temporary);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    ck_assert_str_eq(reported,
                     "2 plugin #/b is not used: #/b: the folder is writable by everyone "
                     "(mode 0777), want only by its owner\n");
    ck_assert(!registry_trusts_nothing(r));
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_search_folder_that_everyone_may_write_gives_nothing)
{
    make_temporary();
    copy_good("a");
    shell("chmod 0777 '%s'", temporary);
    registry *r = registry_over(temporary);
    ck_assert_uint_eq(registry_plugin_count(r), 0);
    char want[512];
    (void)snprintf(
        want, sizeof want,
        "3 no plugin is trusted, the first for this: no plugins are taken from #: #: "
        "the folder is writable by everyone (mode 0777), want only by its owner; make "
        "root or user %u the only one who may write there (chown -R, chmod -R go-w)\n",
        (unsigned)geteuid());
    ck_assert_str_eq(reported, want);
    ck_assert(registry_trusts_nothing(r));
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_sticky_folder_is_trusted)
{
    make_temporary();
    copy_good("a");
    shell("chmod 1777 '%s'", temporary);
    registry *r = registry_over(temporary);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(another_users_file_is_not_trusted)
{
    if (geteuid() != 0) {
        tutti_skip("only root can give files away");
        return;
    }
    make_temporary();
    copy_good("a");
    shell("chown 12345 '%s/a/plugin.json'", temporary);
    ck_fault("a", "#/a/plugin.json: the file belongs to user 12345, want root or user 0");
}
END_TEST

START_TEST(without_trust_modes_are_not_looked_at)
{
    make_temporary();
    copy_good("a");
    shell("chmod 0777 '%s/a'", temporary);
    const char *const folders[] = {temporary, NULL};
    registry *r = registry_over_with(folders, TRUST_NONE, NULL);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_loop_of_links_ends)
{
    make_temporary();
    shell("ln -s b '%s/a' && ln -s a '%s/b'", temporary, temporary);
    registry *r = registry_over(temporary);
    const char *fault = shorten(plugin_in(r, "a").fault);
    ck_assert_str_eq(fault, "#/a: more than 16 symbolic links on the way, perhaps a loop");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_link_to_a_plugin_folder_is_followed_once)
{
    make_temporary();
    copy_good("a");
    shell("ln -s a '%s/b'", temporary);
    registry *r = registry_over(temporary);
    ck_assert_uint_eq(registry_plugin_count(r), 1);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    ck_assert_str_eq(reported, "");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_link_in_place_of_the_library_is_not_followed)
{
    make_temporary();
    copy_good("a");
    shell("cd '%s/a' && mv good.so real.so && ln -s real.so good.so", temporary);
    ck_fault("a", "#/a/good.so: a symbolic link, want a regular file");
}
END_TEST

START_TEST(a_manifest_over_a_mebibyte_is_refused)
{
    make_temporary();
    copy_good("a");
    shell("head -c 1048577 /dev/zero | tr '\\0' ' ' >'%s/a/plugin.json'", temporary);
    ck_fault("a", "#/a/plugin.json: larger than the limit of 1048576 bytes");
}
END_TEST

START_TEST(another_machines_library_is_refused)
{
    make_temporary();
    copy_good("a");
    /* e_machine, the 16-bit word at byte 18: RISC-V */
    shell("printf '\\363\\000' | dd of='%s/a/good.so' bs=1 seek=18 conv=notrunc 2>/dev/null",
          temporary);
#if defined(__x86_64__)
    ck_fault("a", "#/a/good.so: built for riscv, this machine is x86-64");
#else
    ck_fault("a", "#/a/good.so: built for riscv, this machine is aarch64");
#endif
}
END_TEST

START_TEST(a_library_that_is_text_is_refused)
{
    make_temporary();
    copy_good("a");
    shell("seq 100 >'%s/a/good.so'", temporary);
    ck_fault("a", "#/a/good.so: not an ELF file, want a shared object");
}
END_TEST

START_TEST(a_torn_library_is_refused)
{
    make_temporary();
    copy_good("a");
    shell("truncate -s 2000 '%s/a/good.so'", temporary);
    ck_fault("a", "#/a/good.so: its ELF headers point outside of the file");
}
END_TEST

START_TEST(a_library_with_another_hash_than_the_manifests_is_refused)
{
    make_temporary();
    copy_good("a");
    shell("sed -i 's/\"path\": \"good.so\"/\"path\": \"good.so\", \"sha256\": \"%064d\"/' "
          "'%s/a/plugin.json'; printf x >'%s/a/good.so'",
          0, temporary, temporary);
    /* sha256sum of "x" */
    ck_fault(
        "a",
        "#/a/good.so: has SHA-256 "
        "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881, its manifest says "
        "0000000000000000000000000000000000000000000000000000000000000000");
}
END_TEST

START_TEST(a_library_that_changes_before_it_is_loaded_is_refused)
{
    tutti_error err = TUTTI_ERROR_INIT;
    instance *i = NULL;
    make_temporary();
    copy_good("a");
    registry *r = registry_over(temporary);
    shell("touch '%s/a/good.so'", temporary);
    ck_assert_int_eq(
        instance_open(find(r, "callback", "strict"), "it", NULL, NULL, NULL, &i, &err),
        TUTTI_E_TRUST);
    ck_assert_str_eq(shorten(err.text),
                     "#/a/good.so: the file has changed since it was judged");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(pinned_trust_takes_what_the_lock_file_has)
{
    char lock[PATH_MAX + 8];
    make_temporary();
    copy_good("a");
    (void)snprintf(lock, sizeof lock, "%s/lock", temporary);
    const char *const folders[] = {temporary, NULL};
    shell("sha256sum '%s'/a/plugin.json '%s'/a/good.so >'%s'", temporary, temporary, lock);
    registry *r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_ptr_null(plugin_in(r, "a").fault);
    registry_destroy(r);

    shell("sha256sum '%s'/a/plugin.json >'%s'", temporary, lock);
    r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_str_eq(shorten(plugin_in(r, "a").fault), "#/a/good.so: not pinned in #/lock");
    registry_destroy(r);

    shell("sha256sum '%s'/a/plugin.json >'%s'; printf '%064d  %s/a/good.so\\n' >>'%s'; "
          "printf x >'%s/a/good.so'",
          temporary, lock, 0, temporary, lock, temporary);
    r = registry_over_with(folders, TRUST_PINNED, lock);
    ck_assert_str_eq(
        shorten(plugin_in(r, "a").fault),
        "#/a/good.so: has SHA-256 "
        "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881, but #/lock pins "
        "0000000000000000000000000000000000000000000000000000000000000000");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(a_lock_file_that_others_may_write_is_not_used)
{
    char lock[PATH_MAX + 8];
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = NULL;
    make_temporary();
    (void)snprintf(lock, sizeof lock, "%s/lock", temporary);
    shell("touch '%s' && chmod 0666 '%s'", lock, lock);
    const registry_options options = {.trust = TRUST_PINNED, .lock_file = lock};
    ck_assert_int_eq(registry_create(&options, &r, &err), TUTTI_E_TRUST);
    ck_assert_str_eq(shorten(err.text),
                     "the lock file #/lock is not used: #/lock: the file is writable by "
                     "everyone (mode 0666), want only by its owner");
    err = (tutti_error)TUTTI_ERROR_INIT;
    shell("chmod 0644 '%s' && chmod 0777 '%s'", lock, temporary);
    ck_assert_int_eq(registry_create(&options, &r, &err), TUTTI_E_TRUST);
    ck_assert_str_eq(shorten(err.text),
                     "the lock file #/lock is not used: #: the folder is writable by everyone "
                     "(mode 0777), want only by its owner");
    err = (tutti_error)TUTTI_ERROR_INIT;
    shell("chmod 0755 '%s' && echo nonsense >>'%s'", temporary, lock);
    ck_assert_int_eq(registry_create(&options, &r, &err), TUTTI_E_FORMAT);
    ck_assert_str_eq(shorten(err.text), "#/lock:1: want 64 hexadecimal digits, two spaces and "
                                        "an absolute path");
    drop_temporary();
}
END_TEST

START_TEST(pinned_trust_needs_a_lock_file)
{
    const registry_options options = {.trust = TRUST_PINNED};
    tutti_error err = TUTTI_ERROR_INIT;
    registry *r = NULL;
    ck_assert_int_eq(registry_create(&options, &r, &err), TUTTI_E_ARG);
    ck_assert_error(err, TUTTI_E_ARG, "pinned trust needs a lock file");
    ck_assert_ptr_null(r);
}
END_TEST

START_TEST(one_id_twice_in_a_folder_turns_both_off)
{
    make_temporary();
    copy_good("a");
    copy_good("b");
    registry *r = registry_over(temporary);
    ck_assert_str_eq(shorten(plugin_in(r, "a").fault),
                     "#/a/plugin.json: plugin org.fixture.good is twice in one folder, also in "
                     "#/b/plugin.json");
    ck_assert_str_eq(shorten(plugin_in(r, "b").fault),
                     "#/b/plugin.json: plugin org.fixture.good is twice in one folder, also in "
                     "#/a/plugin.json");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

START_TEST(of_one_id_in_two_folders_the_first_is_used)
{
    char folders[2][PATH_MAX + 8];
    tutti_error err = TUTTI_ERROR_INIT;
    const object *o = NULL;
    make_temporary();
    copy_good("one/first");
    copy_good("two/second");
    shell("sed -i 's/1.2.0/1.1.0/' '%s/two/second/plugin.json'", temporary);
    for (int k = 0; k < 2; k++)
        (void)snprintf(folders[k], sizeof folders[k], "%s/%s", temporary, k ? "two" : "one");
    const char *const paths[] = {folders[0], folders[1], NULL};
    registry *r = registry_over_with(paths, TRUST_OWNER, NULL);
    ck_assert_ptr_null(plugin_in(r, "first").fault);
    ck_assert_str_eq(
        shorten(plugin_in(r, "second").fault),
        "#/two/second/plugin.json: plugin org.fixture.good 1.1.0 is hidden by version "
        "1.2.0, which comes first, in #/one/first/plugin.json");
    ck_assert_str_eq(object_describe(find(r, "callback", "good"))->plugin_version, "1.2.0");

    o = find(r, "callback", "org.fixture.good@1.1.0:good");
    ck_assert_str_eq(object_describe(o)->plugin_version, "1.1.0");
    instance *i = NULL;
    ck_assert_int_eq(instance_open(o, "it", NULL, NULL, NULL, &i, &err), TUTTI_E_FORMAT);
    ck_assert_str_eq(shorten(err.text), "#/two/second/good.so: its version is \"1.2.0\", its "
                                        "manifest says \"1.1.0\"");
    registry_destroy(r);
    drop_temporary();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trust");
    TCase *t = tcase_create("trust");
    tcase_add_test(t, a_folder_that_everyone_may_write_is_not_trusted);
    tcase_add_test(t, a_library_that_its_group_may_write_is_not_trusted);
    tcase_add_test(t, what_is_not_trusted_is_said_of_it_alone_where_others_are);
    tcase_add_test(t, a_search_folder_that_everyone_may_write_gives_nothing);
    tcase_add_test(t, a_sticky_folder_is_trusted);
    tcase_add_test(t, another_users_file_is_not_trusted);
    tcase_add_test(t, without_trust_modes_are_not_looked_at);
    tcase_add_test(t, a_loop_of_links_ends);
    tcase_add_test(t, a_link_to_a_plugin_folder_is_followed_once);
    tcase_add_test(t, a_link_in_place_of_the_library_is_not_followed);
    tcase_add_test(t, a_manifest_over_a_mebibyte_is_refused);
    tcase_add_test(t, another_machines_library_is_refused);
    tcase_add_test(t, a_library_that_is_text_is_refused);
    tcase_add_test(t, a_torn_library_is_refused);
    tcase_add_test(t, a_library_with_another_hash_than_the_manifests_is_refused);
    tcase_add_test(t, a_library_that_changes_before_it_is_loaded_is_refused);
    tcase_add_test(t, pinned_trust_takes_what_the_lock_file_has);
    tcase_add_test(t, a_lock_file_that_others_may_write_is_not_used);
    tcase_add_test(t, pinned_trust_needs_a_lock_file);
    tcase_add_test(t, one_id_twice_in_a_folder_turns_both_off);
    tcase_add_test(t, of_one_id_in_two_folders_the_first_is_used);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
