/* owner_test.c - private groups, and what the program's own modes say of the folders beside it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/owner.h"
#include "tutti_check.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

/* A part of somebody's, with a mode. */
static struct stat part(uid_t user, gid_t group, mode_t mode)
{
    return (struct stat){.st_uid = user, .st_gid = group, .st_mode = mode};
}

static const char *judged(const struct stat *s, const char *path, const program_owners *beside)
{
    static tutti_error err;
    err = (tutti_error)TUTTI_ERROR_INIT;
    return owner_judge(path, s, S_ISDIR(s->st_mode) ? "folder" : "file", beside, &err)
               ? err.text
               : "";
}

/* The program of another user, whom a group may stand in for. */
static program_owners program(mode_t mode)
{
    return (program_owners){.folder = "/opt/tutti/bin",
                            .owner = {4001, 4001},
                            .group = {4002, 4002},
                            .group_writes = {mode & S_IWGRP, mode & S_IWGRP},
                            .everyone_writes = mode & S_IWOTH};
}

START_TEST(root_is_its_group_where_nobody_else_is_in_it)
{
    int accounts = 0; /* on Debian root alone; elsewhere some more */
    const struct passwd *account;
    setpwent();
    while ((account = getpwent()))
        accounts += account->pw_gid == 0;
    endpwent();
    const struct stat s = part(0, 0, S_IFREG | 0664);
    ck_assert_int_eq(owner_is_group(0, 0), accounts == 1 && !getgrgid(0)->gr_mem[0]);
    ck_assert_int_eq(*judged(&s, "/elsewhere/a.so", NULL) == '\0', owner_is_group(0, 0));
}
END_TEST

START_TEST(a_group_with_another_name_is_not_private)
{
    const struct group *users = getgrnam("users");
    ck_assert_ptr_nonnull(users);
    ck_assert(!owner_is_group(0, users->gr_gid));
    ck_assert(!owner_is_group(4001, 4001)); /* no such account */
}
END_TEST

START_TEST(a_group_with_a_second_member_is_not_private)
{
    struct group *g;
    setgrent();
    while ((g = getgrent())) {
        const struct passwd *named = getpwnam(g->gr_name);
        if (!named || !g->gr_mem[0] || strcmp(g->gr_mem[0], g->gr_name) == 0)
            continue;
        ck_assert_msg(!owner_is_group(named->pw_uid, g->gr_gid), "%s", g->gr_name);
    }
    endgrent();
}
END_TEST

START_TEST(elsewhere_other_owners_and_writers_are_refused)
{
    struct stat s = part(4001, 0, S_IFREG | 0644);
    char want[200];
    (void)snprintf(want, sizeof want,
                   "/x/a.so: the file belongs to user 4001, want root or user %u",
                   (unsigned)geteuid());
    ck_assert_str_eq(judged(&s, "/x/a.so", NULL), want);
    s = part(0, 4002, S_IFDIR | 0775);
    ck_assert_str_eq(
        judged(&s, "/x", NULL),
        "/x: the folder is writable by its group (mode 0775), want only by its owner");
    s = part(0, 0, S_IFDIR | 0777);
    ck_assert_str_eq(
        judged(&s, "/x", NULL),
        "/x: the folder is writable by everyone (mode 0777), want only by its owner");
}
END_TEST

START_TEST(beside_the_program_its_owner_is_trusted)
{
    const program_owners p = program(0755);
    struct stat s = part(4001, 0, S_IFREG | 0644);
    ck_assert_str_eq(judged(&s, "/opt/tutti/lib/a.so", &p), "");
    s = part(4003, 0, S_IFREG | 0644);
    ck_assert_ptr_nonnull(
        strstr(judged(&s, "/opt/tutti/lib/a.so", &p), "belongs to user 4003"));
}
END_TEST

START_TEST(beside_the_program_its_group_may_write_where_it_may_write_the_program)
{
    const program_owners open = program(0775), closed = program(0755);
    const struct stat s = part(4001, 4002, S_IFREG | 0664),
                      other = part(4001, 4009, S_IFREG | 0664);
    ck_assert_str_eq(judged(&s, "/opt/tutti/lib/a.so", &open), "");
    ck_assert_ptr_nonnull(strstr(judged(&s, "/opt/tutti/lib/a.so", &closed), "by its group"));
    ck_assert_ptr_nonnull(strstr(judged(&other, "/opt/tutti/lib/a.so", &open), "by its group"));
}
END_TEST

START_TEST(beside_the_program_everyone_may_write_where_everyone_may_write_the_program)
{
    const program_owners open = program(0777), closed = program(0775);
    const struct stat s = part(0, 0, S_IFREG | 0666);
    ck_assert_str_eq(judged(&s, "/opt/tutti/lib/a.so", &open), "");
    ck_assert_ptr_nonnull(strstr(judged(&s, "/opt/tutti/lib/a.so", &closed), "by everyone"));
}
END_TEST

START_TEST(folders_that_hold_the_program_are_not_judged_for_what_is_beside_it)
{
    const program_owners p = program(0755);
    const struct stat s = part(4009, 4009, S_IFDIR | 0777);
    ck_assert_str_eq(judged(&s, "/opt", &p), "");
    ck_assert_str_eq(judged(&s, "/opt/tutti/bin", &p), "");
    ck_assert_str_ne(judged(&s, "/opt/tutti/lib", &p), "");
    ck_assert_str_ne(judged(&s, "/opt/tut", &p), ""); /* no part of its path */
    ck_assert_str_ne(judged(&s, "/opt", NULL), "");
}
END_TEST

START_TEST(the_programs_own_modes_are_read)
{
    char folder[] = "/tmp/tutti_owner.XXXXXX", exe[64];
    program_owners p;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(exe, sizeof exe, "%s/tutti", folder);
    FILE *file = fopen(exe, "w");
    ck_assert_ptr_nonnull(file);
    (void)fclose(file);
    ck_assert_int_eq(chmod(exe, 0775), 0);
    ck_assert_int_eq(chmod(folder, 01777), 0);
    program_owners_of(exe, &p);
    ck_assert_str_eq(p.folder, folder);
    ck_assert_uint_eq(p.owner[0], geteuid());
    ck_assert(p.group_writes[0]);
    ck_assert(!p.group_writes[1] && !p.everyone_writes); /* sticky */
    ck_assert_int_eq(chmod(folder, 0777), 0);
    program_owners_of(exe, &p);
    ck_assert(p.everyone_writes);
    (void)unlink(exe);
    (void)rmdir(folder);
    program_owners_of(exe, &p); /* gone */
    ck_assert_str_eq(p.folder, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owner");
    TCase *t = tcase_create("owner");
    tcase_add_test(t, root_is_its_group_where_nobody_else_is_in_it);
    tcase_add_test(t, a_group_with_another_name_is_not_private);
    tcase_add_test(t, a_group_with_a_second_member_is_not_private);
    tcase_add_test(t, elsewhere_other_owners_and_writers_are_refused);
    tcase_add_test(t, beside_the_program_its_owner_is_trusted);
    tcase_add_test(t, beside_the_program_its_group_may_write_where_it_may_write_the_program);
    tcase_add_test(t,
                   beside_the_program_everyone_may_write_where_everyone_may_write_the_program);
    tcase_add_test(t, folders_that_hold_the_program_are_not_judged_for_what_is_beside_it);
    tcase_add_test(t, the_programs_own_modes_are_read);
    suite_add_tcase(suite, t);
    return tutti_run(suite);
}
