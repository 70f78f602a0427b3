/* code.c - files of device code beside a manifest: judged as its library is, then read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/call/call.h"
#include "plugin/elf/cubin.h"
#include "plugin/plugin.h"
#include "plugin/registry_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions of `path` that the manifest names have the arguments that it declares. */
static tutti_status check_arguments(const plugin *p, const char *path, const char *file,
                                    const bytes *b, tutti_error *err)
{
    cubin_function *functions = calloc(p->nkernels, sizeof *functions);
    uint32_t *sizes = calloc(p->nkernels, CALL_MAX_ARGS * sizeof *sizes);
    char(*names)[96] = calloc(p->nkernels, sizeof *names);
    size_t count = 0;
    tutti_status s = TUTTI_OK;
    if (!functions || !sizes || !names) {
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", path);
        goto done;
    }
    for (size_t k = 0; k < p->nkernels; k++) {
        const kernel *f = &p->kernels[k];
        uint32_t *own = sizes + count * CALL_MAX_ARGS;
        if (!f->file || strcmp(f->file, file) != 0)
            continue;
        (void)snprintf(names[count], sizeof *names, "kernel %s", f->name);
        for (uint32_t a = 0; a < f->nargs; a++)
            own[a] = kernel_arg_size(f->arg_types[a]);
        functions[count] = (cubin_function){f->entry, names[count], own, f->nargs, 0};
        count++;
    }
    s = cubin_check_bytes(path, b->data, b->size, functions, count, err);
done:
    free(functions);
    free(sizes);
    free(names);
    return s;
}

/* Holds the bytes to the operator's pins and to every hash that a kernel names for them. */
static tutti_status admit_code(const plugin *p, const code_file *f, const bytes *b,
                               tutti_error *err)
{
    tutti_status s = admit(p, f->path, b, NULL, err);
    for (size_t k = 0; k < p->nkernels && !s; k++)
        if (p->kernels[k].file && strcmp(p->kernels[k].file, f->name) == 0)
            s = admit(p, f->path, b, p->kernels[k].sha256, err);
    return s;
}

static tutti_status judge_bytes(plugin *p, code_file *f, const held *file, tutti_error *err)
{
    bytes b = {.fd = -1};
    tutti_status s = bytes_read(file, SIZE_MAX - 1, &b, err);
    if (!s)
        s = admit_code(p, f, &b, err);
    if (!s)
        s = check_arguments(p, f->path, f->name, &b, err);
    bytes_free(&b);
    return s;
}

/* The file, new or judged before; one that is not there is no error: *ret_file stays NULL. */
static tutti_status judge(plugin *p, const held *folder, const char *name, code_file **ret_file,
                          tutti_error *err)
{
    tutti_error cause = TUTTI_ERROR_INIT;
    held file = {0};
    for (code_file *f = p->codes; f; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *ret_file = f;
            return TUTTI_OK;
        }
    tutti_status s = trust_file(folder, name, p->trust.rule, &file, &cause);
    if (s)
        return s == TUTTI_E_NOTFOUND ? TUTTI_OK : tutti_fail(err, s, "%s", cause.text);
    code_file *f = calloc(1, sizeof *f);
    if (f)
        f->path = strdup(file.path);
    if (!f || !f->path) {
        free(f);
        held_close(&file);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", name);
    }
    f->name = name;
    f->mark = file.mark;
    f->next = p->codes;
    p->codes = *ret_file = f;
    s = judge_bytes(p, f, &file, err);
    held_close(&file);
    return s;
}

tutti_status codes_judge(plugin *p, const held *folder, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < p->nkernels && !s; k++) {
        kernel *f = &p->kernels[k];
        code_file *file = NULL;
        if (!f->file)
            continue;
        s = judge(p, folder, f->file, &file, err);
        f->code = file;
    }
    return s;
}

void codes_free(plugin *p)
{
    while (p->codes) {
        code_file *next = p->codes->next;
        free(p->codes->path);
        free(p->codes);
        p->codes = next;
    }
}

tutti_status code_read(const plugin *p, const code_file *f, void **ret_data,
                       uint64_t *ret_bytes, tutti_error *err)
{
    held folder = {0}, file = {0};
    bytes b = {.fd = -1};
    tutti_status s = trust_folder(p->folder, p->trust.rule, &folder, err);
    if (!s)
        s = trust_file(&folder, f->name, p->trust.rule, &file, err);
    if (!s)
        s = trust_same(&file, &f->mark, err);
    if (!s)
        s = bytes_read(&file, SIZE_MAX - 1, &b, err);
    if (!s)
        s = admit_code(p, f, &b, err);
    if (s)
        bytes_free(&b);
    else {
        *ret_data = b.data;
        *ret_bytes = b.size;
    }
    held_close(&file);
    held_close(&folder);
    return s;
}
