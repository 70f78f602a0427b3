/* policy.c - reading policy.json. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/policy.h"
#include "base/json_members.h"
#include "base/text.h"
#include "plugin/trust/config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLICY_BYTES = 1 << 20 };

/* What a policy asks of plugins, in the order of level_demands. */
static const char *const level_words[] = {"any", "owner", "pinned", "signed", NULL};
static const unsigned level_demands[] = {0, DEMAND_OWNER, DEMAND_OWNER | DEMAND_PIN,
                                         DEMAND_OWNER | DEMAND_SIGNATURE};
enum { STRICTEST = sizeof level_demands / sizeof *level_demands - 1 };

typedef struct entry {
    const char *folder; /* absolute, without a slash at its end */
    size_t level;
} entry;

struct policy {
    char *name;
    json_doc *doc; /* whose strings are used */
    size_t level;
    unsigned demands; /* of one that has no file */
    entry *entries;
    size_t count;
    hashes *pins;
};

void policy_free(policy *p)
{
    if (!p)
        return;
    hashes_free(p->pins);
    json_free(p->doc);
    free(p->entries);
    free(p->name);
    free(p);
}

tutti_status policy_make(unsigned demands, const char *lock_file, policy **ret,
                         tutti_error *err)
{
    policy *p = calloc(1, sizeof *p);
    if (!p)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for a policy");
    p->demands = demands;
    const tutti_status status = lock_file ? pins_read(lock_file, &p->pins, err) : TUTTI_OK;
    if (status)
        policy_free(p);
    else
        *ret = p;
    return status;
}

static bool is_folder(const char *path)
{
    const size_t n = strlen(path);
    return path[0] == '/' && (n == 1 || path[n - 1] != '/');
}

static const json_member entry_rows[] = {
    {.name = "path",
     .type = MEMBER_STRING,
     .flags = MEMBER_REQUIRED,
     .fits = is_folder,
     .want = "an absolute folder without a slash at its end",
     MEMBER_AT(entry, folder)},
    {.name = "trust",
     .type = MEMBER_CHOICE,
     .flags = MEMBER_REQUIRED,
     .words = level_words,
     MEMBER_AT(entry, level)},
    {.name = NULL},
};

static void read_entries(policy *p, const json_node *list, faults *f)
{
    p->entries = calloc(json_count(list) + 1, sizeof *p->entries);
    if (!p->entries) {
        faults_add_no_memory(f, list);
        return;
    }
    for (size_t k = 0; list && k < json_count(list); k++) {
        entry *e = &p->entries[p->count++];
        e->level = STRICTEST;
        (void)json_object_read(json_at(list, k), "an object", entry_rows, e, f);
    }
}

static bool wants_pins(const policy *p)
{
    return policy_all_demands(p) & DEMAND_PIN;
}

/* The lock file lies beside the policy unless its path is absolute. */
static void read_lock(policy *p, const json_node *root, const char *lock, faults *f)
{
    char path[PATH_MAX];
    tutti_error e = TUTTI_ERROR_INIT;
    if (lock && !wants_pins(p))
        faults_add(f, json_get(root, "lock"), "is of no use, since nothing is to be pinned");
    if (!lock || faults_count(f))
        return;
    const char *slash = strrchr(p->name, '/');
    const int folder = lock[0] == '/' || !slash ? 0 : (int)(slash + 1 - p->name);
    if (snprintf(path, sizeof path, "%.*s%s", folder, p->name, lock) >= (int)sizeof path)
        faults_add(f, json_get(root, "lock"), "is too long");
    else if (pins_read(path, &p->pins, &e))
        faults_add(f, json_get(root, "lock"), "%s", e.text);
}

typedef struct policy_members {
    size_t level;
    const char *lock;
    const json_node *folders;
} policy_members;

static const char *const formats[] = {"1.0", NULL};
static const json_member policy_rows[] = {
    {.name = "format", .type = MEMBER_WORD, .flags = MEMBER_REQUIRED, .words = formats},
    {.name = "trust",
     .type = MEMBER_CHOICE,
     .flags = MEMBER_REQUIRED,
     .words = level_words,
     MEMBER_AT(policy_members, level)},
    {.name = "folders", .type = MEMBER_ARRAY, MEMBER_AT(policy_members, folders)},
    {.name = "lock", .type = MEMBER_STRING, MEMBER_AT(policy_members, lock)},
    {.name = NULL},
};

static void read_root(policy *p, faults *f)
{
    const json_node *root = json_root(p->doc);
    policy_members m = {.level = STRICTEST};
    if (!json_object_read(root, "an object", policy_rows, &m, f))
        return;
    p->level = m.level;
    read_entries(p, m.folders, f);
    read_lock(p, root, m.lock, f);
}

static tutti_status tell_faults(const faults *f, tutti_error *err)
{
    text_buffer b = {0};
    for (size_t k = 0; k < faults_count(f); k++)
        text_add(&b, "%s%s", k ? "\n" : "", faults_text(f, k));
    const tutti_status status =
        faults_lack_memory(f) || b.failed
            ? tutti_fail(err, TUTTI_E_NOMEM, "no memory to read a policy")
        : faults_count(f) ? tutti_fail(err, TUTTI_E_FORMAT, "%s", b.data)
                          : TUTTI_OK;
    free(b.data);
    return status;
}

static tutti_status read_doc(policy *p, tutti_error *err)
{
    bytes b = {.fd = -1};
    tutti_status status = config_read("policy", p->name, POLICY_BYTES, &b, err);
    if (!status)
        status = json_parse(p->name, (const char *)b.data, b.size, &p->doc, err);
    bytes_free(&b);
    return status;
}

tutti_status policy_read(const char *path, policy **ret, tutti_error *err)
{
    faults *f = faults_create();
    policy *p = calloc(1, sizeof *p);
    if (p)
        p->name = strdup(path);
    tutti_status status = f && p && p->name
                              ? read_doc(p, err)
                              : tutti_fail(err, TUTTI_E_NOMEM, "no memory to read a policy");
    if (!status) {
        read_root(p, f);
        status = tell_faults(f, err);
    }
    faults_destroy(f);
    if (status)
        policy_free(p);
    else
        *ret = p;
    return status;
}

unsigned policy_demands(const policy *p, const char *folder)
{
    size_t nearest = 0, level = p->level;
    for (size_t k = 0; k < p->count; k++) {
        const char *path = p->entries[k].folder;
        const size_t n = strlen(path);
        const bool inside =
            n == 1 || (strncmp(path, folder, n) == 0 && (folder[n] == '/' || !folder[n]));
        if (inside && n > nearest) {
            nearest = n;
            level = p->entries[k].level;
        }
    }
    return p->name ? level_demands[level] : p->demands;
}

unsigned policy_all_demands(const policy *p)
{
    unsigned all = p->name ? level_demands[p->level] : p->demands;
    for (size_t k = 0; k < p->count; k++)
        all |= level_demands[p->entries[k].level];
    return all;
}

const hashes *policy_pins(const policy *p)
{
    return p->pins;
}

const char *policy_name(const policy *p)
{
    return p->name;
}

const char *policy_folder(const policy *p, size_t k, const char **ret_word)
{
    if (k == SIZE_MAX) {
        *ret_word = level_words[p->level];
        return p->name;
    }
    if (k >= p->count)
        return NULL;
    *ret_word = level_words[p->entries[k].level];
    return p->entries[k].folder;
}
