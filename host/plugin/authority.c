/* authority.c - policies, pins and keys together: what is asked of each plugin, and whether a file has it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/env.h"
#include "base/text.h"
#include "plugin/registry_internal.h"
#include "plugin/trust/config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

void authority_fini(authority *a)
{
    for (size_t k = 0; k < a->count; k++)
        policy_free(a->policies[k]);
    keyring_fini(&a->keys);
    config_fini(&a->folders);
    a->count = 0;
}

static void tell_key(void *ctx, const char *text)
{
    registry_report(ctx, TUTTI_LOG_WARNING, "a key is not trusted: %s", text);
}

tutti_status authority_keys(registry *r, tutti_error *err)
{
    if (r->authority.has_keys)
        return TUTTI_OK;
    r->authority.has_keys = true;
    return keyring_read(&r->authority.keys, &r->authority.folders, tell_key, r, err);
}

static tutti_status add_policy(authority *a, const char *path, bool must_exist,
                               tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status status = policy_read(path, &a->policies[a->count], &cause);
    if (status == TUTTI_E_NOTFOUND && !must_exist)
        return TUTTI_OK;
    if (status)
        return tutti_fail(err, status, "%s", cause.text);
    a->count++;
    return TUTTI_OK;
}

/* Those of files: the system's, the user's, and the one that an option names. */
static tutti_status read_policies(registry *r, const registry_options *o, tutti_error *err)
{
    authority *a = &r->authority;
    tutti_status status = config_find(&a->folders, err);
    if (a->folders.ignored)
        registry_report(r, TUTTI_LOG_WARNING, "%s is ignored in a set-uid program",
                        a->folders.ignored);
    for (size_t k = 0; k < a->folders.count && !status; k++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s/policy.json", a->folders.paths[k]) <
            (int)sizeof path)
            status = add_policy(a, path, false, err);
    }
    if (!status && o->policy_file)
        status = add_policy(a, o->policy_file, true, err);
    return status;
}

/* The loader listens to these before the program starts. */
static void tell_environment(const registry *r)
{
    static const char *const variables[] = {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
        if (getenv(variables[k]) && *getenv(variables[k]))
            registry_report(
                r, TUTTI_LOG_WARNING,
                "%s is set, so code runs in this program that is neither pinned nor "
                "signed",
                variables[k]);
}

static tutti_status check_pins(const authority *a, bool has_lock, tutti_error *err)
{
    for (size_t k = 0; k < a->count; k++) {
        const policy *p = a->policies[k];
        if (policy_all_demands(p) & DEMAND_PIN && !policy_pins(p) && !has_lock)
            return tutti_fail(
                err, TUTTI_E_ARG,
                "%s: wants pinned plugins and names no lock file, want \"lock\" in "
                "it or --plugin-lock",
                policy_name(p));
    }
    return TUTTI_OK;
}

tutti_status authority_read(registry *r, const registry_options *o, tutti_error *err)
{
    static const unsigned demands[] = {[TRUST_OWNER] = DEMAND_OWNER,
                                       [TRUST_PINNED] = DEMAND_OWNER | DEMAND_PIN,
                                       [TRUST_NONE] = 0};
    /* A set-uid program takes only what its operator has pinned. */
    const int trust = getauxval(AT_SECURE) ? TRUST_PINNED : o->trust;
    authority *a = &r->authority;
    tutti_status status = o->has_policies ? read_policies(r, o, err) : TUTTI_OK;
    if (!status && demands[trust] & DEMAND_PIN && !o->lock_file)
        status = tutti_fail(err, TUTTI_E_ARG, "pinned trust needs a lock file");
    if (!status)
        status = check_pins(a, o->lock_file != NULL, err);
    /* Where a policy speaks, nothing is asked on top of it but by options. */
    if (!status && (!a->count || trust == TRUST_PINNED) &&
        !(status = policy_make(demands[trust], o->lock_file, &a->policies[a->count], err)))
        a->count++;
    unsigned all = 0;
    for (size_t k = 0; k < a->count; k++)
        all |= policy_all_demands(a->policies[k]);
    if (!status && all & DEMAND_SIGNATURE)
        status = authority_keys(r, err);
    if (!status && all & (DEMAND_PIN | DEMAND_SIGNATURE))
        tell_environment(r);
    return status;
}

unsigned authority_demands(const registry *r, const char *folder)
{
    unsigned all = 0;
    for (size_t k = 0; k < r->authority.count; k++)
        all |= policy_demands(r->authority.policies[k], folder);
    return all;
}

tutti_status authority_signature(plugin *p, const held *folder, tutti_error *err)
{
    if (!(p->trust.demands & DEMAND_SIGNATURE))
        return TUTTI_OK;
    return signed_read(folder, p->trust.rule, &p->registry->authority.keys, &p->trust.sums,
                       err);
}

static tutti_status admit_pinned(const plugin *p, const char *path, const char *hex,
                                 tutti_error *err)
{
    const authority *a = &p->registry->authority;
    tutti_status status = TUTTI_OK;
    for (size_t k = 0; k < a->count && !status; k++) {
        const hashes *pins = policy_pins(a->policies[k]);
        if (pins && policy_demands(a->policies[k], p->folder) & DEMAND_PIN)
            status = pins_admit(pins, path, hex, err);
    }
    return status;
}

tutti_status admit(const plugin *p, const char *path, const bytes *b, const char *sha256,
                   tutti_error *err)
{
    char hex[BYTES_HEX_SIZE];
    if (!(p->trust.demands & (DEMAND_PIN | DEMAND_SIGNATURE)) && !sha256)
        return TUTTI_OK;
    tutti_status status = bytes_sha256(b, path, hex, err);
    if (!status && p->trust.demands & DEMAND_PIN)
        status = admit_pinned(p, path, hex, err);
    if (!status && p->trust.demands & DEMAND_SIGNATURE)
        status = signed_admit(&p->trust.sums, p->folder, path, hex, err);
    if (!status && sha256 && strcmp(hex, sha256) != 0)
        status = tutti_fail(err, TUTTI_E_TRUST, "%s: has SHA-256 %s, its manifest says %s",
                            path, hex, sha256);
    return status;
}

/* ---- in words ---- */

static void describe_policies(const authority *a, text_buffer *b)
{
    for (size_t k = 0; k < a->count; k++) {
        const policy *p = a->policies[k];
        const char *word, *folder, *name = policy_folder(p, SIZE_MAX, &word);
        if (!name)
            text_add(b, "policy: %s\n",
                     policy_pins(p) ? hashes_name(policy_pins(p))
                                    : "owner, since there is no policy.json");
        else
            text_add(b, "policy %s: %s\n", name, word);
        for (size_t m = 0; name && (folder = policy_folder(p, m, &word)); m++)
            text_add(b, "  below %s: %s\n", folder, word);
    }
}

static void describe_keys(const registry *r, text_buffer *b)
{
    const keyring *keys = &r->authority.keys;
    char id[KEY_ID_SIZE];
    for (size_t k = 0; k < keys->count; k++) {
        key_id_text(keys->keys[k].key.id, id);
        text_add(b, "key %s: %s\n", id, keys->keys[k].path);
    }
}

/* What holds for one plugin that can be used. */
static void describe_plugin(const plugin *p, text_buffer *b)
{
    const unsigned d = p->trust.demands;
    text_add(b, "%s %s:", p->id ? p->id : p->folder, p->version ? p->version : "?");
    if (p->verdict.fault)
        text_add(b, " not used: %s\n", p->verdict.fault);
    else if (d & DEMAND_SIGNATURE)
        text_add(b, " signed by %s (%s)%s\n", p->trust.sums.signer, p->trust.sums.comment,
                 d & DEMAND_PIN ? ", pinned" : "");
    else
        text_add(b, " %s\n", d & DEMAND_PIN ? "pinned" : d ? "owner" : "any");
}

char *registry_trust(registry *r)
{
    static const char *const variables[] = {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH"};
    text_buffer b = {0};
    tutti_error e = TUTTI_ERROR_INIT;
    if (authority_keys(r, &e))
        return NULL;
    describe_policies(&r->authority, &b);
    describe_keys(r, &b);
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
        const char *value = getenv(variables[k]);
        if (value && *value)
            text_add(&b,
                     "%s=%s: acts before the program starts; nothing judges what it names\n",
                     variables[k], value);
    }
    for (size_t k = 0; k < r->count; k++)
        describe_plugin(r->plugins[k], &b);
    if (!b.failed)
        return b.data;
    free(b.data);
    return NULL;
}
