/* owner.c - modes, owners, private groups, and what the program's own file says of its neighbours. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ACCOUNT_TEXT = 1 << 16 }; /* bytes of the names in an account or a group */

void program_owners_of(const char *exe, program_owners *ret)
{
    struct stat s[2];
    memset(ret, 0, sizeof *ret);
    const char *slash = strrchr(exe, '/');
    const int size = slash ? (int)(slash - exe) : 0;
    char folder[PATH_MAX];
    if (!slash || snprintf(folder, sizeof folder, "%.*s", size, exe) >= (int)sizeof folder)
        return;
    if (stat(exe, &s[0]) || stat(size ? folder : "/", &s[1]))
        return;
    memcpy(ret->folder, folder, sizeof folder);
    for (int k = 0; k < 2; k++) {
        const bool sticky = S_ISDIR(s[k].st_mode) && (s[k].st_mode & S_ISVTX);
        ret->owner[k] = s[k].st_uid;
        ret->group[k] = s[k].st_gid;
        ret->group_writes[k] = (s[k].st_mode & S_IWGRP) && !sticky;
        ret->everyone_writes |= (s[k].st_mode & S_IWOTH) && !sticky;
    }
}

/* Whether another account than `user` has `group` as its first one.  The file is asked, not the
 * directory services, which may have very many. */
static bool is_anothers(uid_t user, gid_t group, char *text)
{
    struct passwd account, *found;
    FILE *file = fopen("/etc/passwd", "re");
    bool another = !file && errno != ENOENT; /* who cannot look trusts nobody */
    while (file && !another && fgetpwent_r(file, &account, text, ACCOUNT_TEXT, &found) == 0)
        another = account.pw_gid == group && account.pw_uid != user;
    if (file)
        (void)fclose(file);
    return another;
}

static bool ask_for_group(uid_t user, gid_t group)
{
    struct passwd account, *owner = NULL;
    struct group entry, *named = NULL;
    char *text = malloc(3 * (size_t)ACCOUNT_TEXT);
    bool own = text && getpwuid_r(user, &account, text, ACCOUNT_TEXT, &owner) == 0 && owner &&
               getgrgid_r(group, &entry, text + ACCOUNT_TEXT, ACCOUNT_TEXT, &named) == 0 &&
               named && account.pw_gid == group && strcmp(entry.gr_name, account.pw_name) == 0;
    for (char **member = own ? entry.gr_mem : NULL; member && *member; member++)
        own = own && strcmp(*member, account.pw_name) == 0;
    own = own && !is_anothers(user, group, text + 2 * (size_t)ACCOUNT_TEXT);
    free(text);
    return own;
}

bool owner_is_group(uid_t user, gid_t group)
{
    static _Thread_local struct {
        uid_t user;
        gid_t group;
        bool asked, own;
    } last; /* a tree of plugins asks the same for each of its files */
    if (!last.asked || last.user != user || last.group != group) {
        last.own = ask_for_group(user, group);
        last.user = user;
        last.group = group;
        last.asked = true;
    }
    return last.own;
}

/* The program's folder and those it lies in. */
static bool holds_program(const char *path, const program_owners *p)
{
    const size_t n = strlen(path);
    return *p->folder && strncmp(path, p->folder, n) == 0 &&
           (p->folder[n] == '/' || !p->folder[n]);
}

static bool may_own(uid_t user, const program_owners *p)
{
    return user == 0 || user == geteuid() ||
           (p && *p->folder && (p->owner[0] == user || p->owner[1] == user));
}

static bool may_group_write(const struct stat *s, const program_owners *p)
{
    for (int k = 0; p && *p->folder && k < 2; k++)
        if (p->group_writes[k] && p->group[k] == s->st_gid)
            return true;
    return owner_is_group(s->st_uid, s->st_gid);
}

tutti_status owner_judge(const char *path, const struct stat *s, const char *what,
                         const program_owners *beside, tutti_error *err)
{
    if (beside && holds_program(path, beside))
        return TUTTI_OK;
    if (!may_own(s->st_uid, beside))
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: the %s belongs to user %u, want root or user %u", path, what,
                          (unsigned)s->st_uid, (unsigned)geteuid());
    /* In a sticky folder nobody can replace what belongs to us, and the part below is judged. */
    if (S_ISLNK(s->st_mode) || (S_ISDIR(s->st_mode) && (s->st_mode & S_ISVTX)))
        return TUTTI_OK;
    const bool everyone = (s->st_mode & S_IWOTH) && !(beside && beside->everyone_writes);
    if (everyone || ((s->st_mode & S_IWGRP) && !may_group_write(s, beside)))
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: the %s is writable by %s (mode %04o), want only by its owner",
                          path, what, everyone ? "everyone" : "its group",
                          (unsigned)(s->st_mode & 07777));
    return TUTTI_OK;
}
