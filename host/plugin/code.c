/* code.c - files of device code beside a manifest: judged as its library is, then read. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/call.h"
#include "plugin/cubin.h"
#include "plugin/plugin.h"
#include "plugin/registry_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The functions of `path` that the manifest names have the arguments that it declares. */
static tutti_status check_arguments(const plugin *p, const char *path, const char *file,
                                    tutti_error *err)
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
    s = cubin_check(path, functions, count, err);
done:
    free(functions);
    free(sizes);
    free(names);
    return s;
}

static tutti_status check_sha256(const char *path, const char *want, tutti_error *err)
{
    char hex[TRUST_HEX_SIZE];
    const tutti_status s = trust_sha256(path, hex, err);
    if (s || strcmp(hex, want) == 0)
        return s;
    return tutti_fail(err, TUTTI_E_TRUST, "%s: has SHA-256 %s, its manifest says %s", path, hex,
                      want);
}

/* The file, new or judged before; one that is not there is no error: *ret_file stays NULL. */
static tutti_status judge(plugin *p, const char *name, code_file **ret_file, tutti_error *err)
{
    const registry *r = p->registry;
    tutti_error cause = TUTTI_ERROR_INIT;
    for (code_file *f = p->codes; f; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *ret_file = f;
            return TUTTI_OK;
        }
    code_file *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", name);
    tutti_status s = trust_file(p->folder, name, p->rule, &f->path, &f->mark, &cause);
    if (s) {
        free(f);
        return s == TUTTI_E_NOTFOUND ? TUTTI_OK : tutti_fail(err, s, "%s", cause.text);
    }
    f->name = name;
    f->next = p->codes;
    p->codes = *ret_file = f;
    if (r->trust == TRUST_PINNED)
        s = trust_pinned(r->lock_file, f->path, err);
    return s ? s : check_arguments(p, f->path, name, err);
}

tutti_status codes_judge(plugin *p, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    for (size_t k = 0; k < p->nkernels && !s; k++) {
        kernel *f = &p->kernels[k];
        code_file *file = NULL;
        if (!f->file)
            continue;
        s = judge(p, f->file, &file, err);
        if (!s && file && f->sha256)
            s = check_sha256(file->path, f->sha256, err);
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

static tutti_status read_all(int fd, const code_file *f, unsigned char *to, tutti_error *err)
{
    const size_t want = (size_t)f->mark.size;
    size_t have = 0;
    tutti_status s = trust_same_open(fd, f->path, &f->mark, err);
    while (!s && have < want) {
        const ssize_t got = read(fd, to + have, want - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return tutti_fail(err, TUTTI_E_IO, "%s: cannot be read", f->path);
        have += (size_t)got;
    }
    return s ? s : trust_same_open(fd, f->path, &f->mark, err);
}

tutti_status code_read(const code_file *f, void **ret_data, uint64_t *ret_bytes,
                       tutti_error *err)
{
    unsigned char *data = malloc((size_t)f->mark.size + 1);
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for device code", f->path);
    const int fd = open(f->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    tutti_status s = fd < 0 ? tutti_fail(err, TUTTI_E_IO, "%s: %s", f->path, strerror(errno))
                            : read_all(fd, f, data, err);
    if (fd >= 0)
        (void)close(fd);
    if (s) {
        free(data);
        return s;
    }
    *ret_data = data;
    *ret_bytes = (uint64_t)f->mark.size;
    return TUTTI_OK;
}
