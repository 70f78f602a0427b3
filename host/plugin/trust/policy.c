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

static const struct {
    const char *word;
    unsigned demands;
} levels[] = {{"any", 0},
              {"owner", DEMAND_OWNER},
              {"pinned", DEMAND_OWNER | DEMAND_PIN},
              {"signed", DEMAND_OWNER | DEMAND_SIGNATURE}};
enum { LEVELS = sizeof levels / sizeof *levels };

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

static size_t read_level(const json_node *node, faults *f)
{
    const char *word = json_member_string(node, "trust", MEMBER_REQUIRED, f);
    for (size_t k = 0; word && k < LEVELS; k++)
        if (strcmp(levels[k].word, word) == 0)
            return k;
    if (word)
        faults_add(f, json_get(node, "trust"), "is \"%s\", want any, owner, pinned or signed",
                   word);
    return LEVELS - 1;
}

static void read_entries(policy *p, const json_node *root, faults *f)
{
    static const char *const keys[] = {"path", "trust", NULL};
    const json_node *list = json_member_read(root, "folders", MEMBER_ARRAY, 0, f);
    p->entries = calloc(json_count(list) + 1, sizeof *p->entries);
    if (!p->entries) {
        faults_add_no_memory(f, list);
        return;
    }
    for (size_t k = 0; list && k < json_count(list); k++) {
        const json_node *node = json_at(list, k);
        if (json_type(node) != JSON_OBJECT) {
            faults_add(f, node, "is %s, want an object", json_type_name(node));
            continue;
        }
        faults_unknown_keys(f, node, keys);
        const char *path = json_member_string(node, "path", MEMBER_REQUIRED, f);
        const size_t n = path ? strlen(path) : 0;
        if (path && (path[0] != '/' || (n > 1 && path[n - 1] == '/')))
            faults_add(f, json_get(node, "path"),
                       "is \"%s\", want an absolute folder without a slash at its end", path);
        p->entries[p->count++] = (entry){path, read_level(node, f)};
    }
}

static bool wants_pins(const policy *p)
{
    return policy_all_demands(p) & DEMAND_PIN;
}

/* The lock file lies beside the policy unless its path is absolute. */
static void read_lock(policy *p, const json_node *root, faults *f)
{
    const char *lock = json_member_string(root, "lock", 0, f);
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

static void read_root(policy *p, faults *f)
{
    static const char *const keys[] = {"format", "trust", "lock", "folders", NULL};
    const json_node *root = json_root(p->doc);
    if (json_type(root) != JSON_OBJECT) {
        faults_add(f, root, "is %s, want an object", json_type_name(root));
        return;
    }
    faults_unknown_keys(f, root, keys);
    const char *format = json_member_string(root, "format", MEMBER_REQUIRED, f);
    if (format && strcmp(format, "1.0") != 0)
        faults_add(f, json_get(root, "format"), "is \"%s\", want \"1.0\"", format);
    p->level = read_level(root, f);
    read_entries(p, root, f);
    read_lock(p, root, f);
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
    return p->name ? levels[level].demands : p->demands;
}

unsigned policy_all_demands(const policy *p)
{
    unsigned all = p->name ? levels[p->level].demands : p->demands;
    for (size_t k = 0; k < p->count; k++)
        all |= levels[p->entries[k].level].demands;
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
        *ret_word = levels[p->level].word;
        return p->name;
    }
    if (k >= p->count)
        return NULL;
    *ret_word = levels[p->entries[k].level].word;
    return p->entries[k].folder;
}
