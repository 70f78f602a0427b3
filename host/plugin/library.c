/* library.c - holding a plugin's library to the rules, at the search and again as it is loaded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/elf.h"
#include "plugin/registry_internal.h"

#include <stdlib.h>
#include <string.h>

/* Everything that the manifest allows the library to export. */
static tutti_status check_exports(const plugin *p, const bytes *b, tutti_error *err)
{
    const char **symbols = calloc(p->nkernels + 1, sizeof *symbols);
    if (!symbols)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", p->library);
    for (size_t k = 0; k < p->nkernels; k++)
        symbols[k] = p->kernels[k].symbol;
    const tutti_status status = elf_check_bytes(
        p->library, b->data, b->size, p->declared.foreign ? NULL : ENTRY_SYMBOL, symbols, err);
    free(symbols);
    return status;
}

static tutti_status judge(plugin *p, const bytes *b, bool seal, needs *ret, tutti_error *err)
{
    tutti_status status = admit(p, p->library, b, p->declared.sha256, err);
    if (!status) {
        p->verdict.stage = STAGE_EXPORTS;
        status = check_exports(p, b, err);
    }
    /* Where nothing is demanded, the system's loader looks for the rest itself. */
    if (!status && p->trust.demands) {
        p->verdict.stage = STAGE_FILES;
        status = needs_find(p, p->library, b, seal, ret, err);
    }
    return status;
}

/* A library that the system's loader finds: it is the system's to look after, and nobody can pin it. */
static tutti_status judge_system(plugin *p, tutti_error *err)
{
    if (p->trust.demands & DEMAND_PIN)
        return tutti_fail(
            err, TUTTI_E_TRUST,
            "%s: library.soname: %s is the system's and cannot be pinned; copy it "
            "beside the manifest and name it by its path",
            p->manifest, p->declared.soname);
    p->library = strdup(p->declared.soname);
    return p->library
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", p->manifest);
}

tutti_status library_judge(plugin *p, const held *folder, tutti_error *err)
{
    held file = {0};
    bytes b = {.fd = -1};
    p->verdict.stage = STAGE_FILES;
    if (p->declared.soname)
        return judge_system(p, err);
    tutti_status status = trust_file(folder, p->declared.library, p->trust.rule, &file, err);
    if (!status)
        status = bytes_read(&file, SIZE_MAX - 1, &b, err);
    if (!status) {
        p->library = strdup(file.path);
        p->trust.library = file.mark;
        status = p->library
                     ? judge(p, &b, false, &p->trust.needs, err)
                     : tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the path", file.path);
    }
    for (size_t k = 0; k < p->trust.needs.count; k++)
        bytes_free(&p->trust.needs.items[k].content);
    bytes_free(&b);
    held_close(&file);
    return status;
}

tutti_status library_take(plugin *p, bytes *ret, needs *ret_needs, tutti_error *err)
{
    held folder = {0}, file = {0};
    bytes b = {.fd = -1};
    *ret = b;
    if (!p->trust.demands || p->declared.soname)
        return TUTTI_OK;
    tutti_status status = trust_folder(p->folder, p->trust.rule, &folder, err);
    if (!status)
        status = trust_file(&folder, p->declared.library, p->trust.rule, &file, err);
    if (!status)
        status = trust_same(&file, &p->trust.library, err);
    if (!status)
        status = bytes_seal(&file, &b, err);
    if (!status)
        status = judge(p, &b, true, ret_needs, err);
    if (status)
        bytes_free(&b);
    else
        *ret = b;
    p->verdict.stage = STAGE_LOAD;
    held_close(&file);
    held_close(&folder);
    return status;
}

/* ---- what the operator pins ---- */

static tutti_status hash_file(const char *path, char *hex, tutti_error *err)
{
    held file = {0};
    bytes b = {.fd = -1};
    tutti_status status = trust_path(path, (trust_rule){0}, &file, err);
    if (!status)
        status = bytes_read(&file, SIZE_MAX - 1, &b, err);
    if (!status)
        status = bytes_sha256(&b, path, hex, err);
    bytes_free(&b);
    held_close(&file);
    return status;
}

/* The n-th library of those it brings along; NULL past the last. */
static const char *brought(const plugin *p, size_t n)
{
    for (size_t k = 0; k < p->trust.needs.count; k++) {
        const need *one = &p->trust.needs.items[k];
        if (one->path && !one->is_system && n-- == 0)
            return one->path;
    }
    return NULL;
}

const char *registry_code(const registry *r, size_t k, size_t n)
{
    const code_file *f = r->plugins[k]->codes;
    while (f && n--)
        f = f->next;
    return f ? f->path : NULL;
}

const char *registry_file(const registry *r, size_t k, size_t n)
{
    const plugin *p = r->plugins[k];
    size_t codes = 0;
    if (n < 2 || p->declared.soname) /* the system's library is no file of the plugin's */
        return n ? (p->declared.soname ? NULL : p->library) : p->manifest;
    while (registry_code(r, k, codes))
        codes++;
    return n - 2 < codes ? registry_code(r, k, n - 2) : brought(p, n - 2 - codes);
}

tutti_status registry_sha256(const char *path, char *hex, tutti_error *err)
{
    if (strchr(path, '\n'))
        return tutti_fail(err, TUTTI_E_ARG, "%s: a path with a line break cannot be pinned",
                          path);
    return hash_file(path, hex, err);
}
