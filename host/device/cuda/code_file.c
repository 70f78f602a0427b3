/* code_file.c - finding the file of an architecture, judging it as a plugin is, reading images out of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/code_file.h"
#include "base/env.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "device/cuda/library.h"
#include "plugin/trust/bytes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "lib/tutti/cuda"

struct code_file {
    held file;
    code_header *header; /* and its entries */
};

static const code_entry *entries_of(const code_file *f)
{
    return (const code_entry *)(const void *)(f->header + 1);
}

/* ---- which one, and where ---- */

static const code_id *choose(const code_id *ids, int capability)
{
    const code_id *best = NULL;
    for (const code_id *id = ids; id->sha256; id++)
        if (capability ? id->capability && id->capability <= capability : !id->capability)
            best = id;
    return best;
}

static tutti_status none_fits(const code_id *ids, int capability, tutti_error *err)
{
    char has[128] = "";
    size_t used = 0;
    for (const code_id *id = ids; id->sha256; id++)
        if (id->capability && used < sizeof has - 16)
            used += (size_t)snprintf(has + used, sizeof has - used, "%s%d.%d", used ? ", " : "",
                                     id->capability / 10, id->capability % 10);
    if (!capability || !used)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "operations were built without device code, which wants "
                          "-DTUTTI_CUDA=ON");
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "operations have no device code for compute capability %d.%d, this build "
                      "has it for %s",
                      capability / 10, capability % 10, has);
}

/* Takes the file below `folder`, if it is there. */
static tutti_status try_folder(const char *folder, const char *name,
                               const program_owners *beside, held *ret, tutti_error *err)
{
    held at = {0};
    const trust_rule rule = {.owner = true, .beside = beside};
    tutti_status s = trust_folder(folder, rule, &at, err);
    if (!s)
        s = trust_file(&at, name, rule, ret, err);
    held_close(&at);
    return s;
}

/* The folders, in their order; those beside the program come first.  Returns how many. */
static size_t list_folders(const program_owners *program, char (*ret)[PATH_MAX],
                           size_t *ret_beside)
{
    const char *folder = program->folder, *slash = strrchr(folder, '/');
    size_t n = 0;
    if (slash) { /* bin/tutti has lib/ beside bin/, the build has it beside tutti */
        const int above = (int)(slash - folder);
        (void)snprintf(ret[n++], PATH_MAX, "%.*s/" FOLDER, above, folder);
        (void)snprintf(ret[n++], PATH_MAX, "%.*s/" FOLDER, PATH_MAX - 32, folder);
    }
    *ret_beside = n;
    (void)snprintf(ret[n++], PATH_MAX, "/usr/local/" FOLDER);
    (void)snprintf(ret[n++], PATH_MAX, "/usr/" FOLDER);
    return n;
}

static tutti_status nowhere(const char *name, char (*folders)[PATH_MAX], size_t n,
                            tutti_error *err)
{
    text_buffer b = {0};
    for (size_t k = 0; k < n; k++)
        text_add(&b, "%s%s", k ? k + 1 < n ? ", " : " or " : "", folders[k]);
    const tutti_status s = tutti_fail(
        err, TUTTI_E_NOTFOUND,
        "there is no %s, the device code of operations, in %s: install the component cuda of "
        "this build (package tutti-cuda)",
        name, b.data ? b.data : "any folder");
    free(b.data);
    return s;
}

static tutti_status find_beside(const char *name, held *ret, tutti_error *err)
{
    char own[PATH_MAX];
    size_t beside = 0;
    program_owners program = {0};
    char(*folders)[PATH_MAX] = calloc(4, PATH_MAX);
    if (!folders)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory to look for %s", name);
    if (library_own_path(own))
        program_owners_of(own, &program);
    const size_t n = list_folders(&program, folders, &beside);
    tutti_status s = TUTTI_E_NOTFOUND;
    for (size_t k = 0; k < n && s == TUTTI_E_NOTFOUND; k++) {
        tutti_error cause = TUTTI_ERROR_INIT;
        s = try_folder(folders[k], name, k < beside ? &program : NULL, ret, &cause);
        if (s && s != TUTTI_E_NOTFOUND)
            s = tutti_fail(err, s, "%s", cause.text);
    }
    if (s == TUTTI_E_NOTFOUND)
        s = nowhere(name, folders, n, err);
    free(folders);
    return s;
}

static tutti_status find(const char *name, held *ret, tutti_error *err)
{
    const char *ignored;
    const char *named = env_get(ENV_CUDA_CODE, &ignored);
    if (!named)
        return find_beside(name, ret, err);
    tutti_error cause = TUTTI_ERROR_INIT;
    const tutti_status s = try_folder(named, name, NULL, ret, &cause);
    return s ? tutti_fail(err, s, "TUTTI_CUDA_CODE: %s", cause.text) : TUTTI_OK;
}

/* ---- what is in it ---- */

/* All bytes from `offset`.  E_FORMAT, without a sentence: the file ends before. */
static tutti_status read_at(const held *file, void *to, uint64_t size, uint64_t offset,
                            tutti_error *err)
{
    if (whole_read(file->fd, to, size, (int64_t)offset) == size)
        return TUTTI_OK;
    return errno ? tutti_fail(err, TUTTI_E_IO, "%s: %s", file->path, strerror(errno))
                 : TUTTI_E_FORMAT;
}

/* Of the size that the file's first bytes tell; E_FORMAT, without a sentence, where they are no such file's. */
static tutti_status read_entries(code_file *f, size_t *ret_size, tutti_error *err)
{
    code_header header;
    tutti_status s = read_at(&f->file, &header, sizeof header, 0, err);
    if (s)
        return s;
    if (memcmp(header.magic, CODE_MAGIC, sizeof header.magic) != 0 ||
        header.count > CODE_MOST_IMAGES)
        return TUTTI_E_FORMAT;
    *ret_size = sizeof header + header.count * sizeof(code_entry);
    f->header = malloc(*ret_size);
    if (!f->header)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to read it", f->file.path);
    return read_at(&f->file, f->header, *ret_size, 0, err);
}

static tutti_status read_header(code_file *f, const code_id *id, tutti_error *err)
{
    char hex[BYTES_HEX_SIZE];
    size_t size = 0;
    tutti_status s = read_entries(f, &size, err);
    if (!s) {
        const bytes b = {(unsigned char *)f->header, size, -1};
        s = bytes_sha256(&b, f->file.path, hex, err);
    }
    if (!s && strcmp(hex, id->sha256) != 0)
        s = TUTTI_E_FORMAT;
    return s == TUTTI_E_FORMAT
               ? tutti_fail(err, TUTTI_E_VERSION,
                            "%s is of another build than this program: install the components "
                            "runtime and cuda of one build",
                            f->file.path)
               : s;
}

tutti_status code_file_open(const code_id *ids, int capability, code_file **ret,
                            tutti_error *err)
{
    char name[32] = CODE_STANDIN;
    const code_id *id = choose(ids, capability);
    if (!id)
        return none_fits(ids, capability, err);
    code_file *f = calloc(1, sizeof *f);
    if (!f)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for device code");
    if (id->capability)
        (void)snprintf(name, sizeof name, "sm_%d.code", id->capability);
    tutti_status s = find(name, &f->file, err);
    if (!s)
        s = read_header(f, id, err);
    if (s)
        code_file_close(f);
    else
        *ret = f;
    return s;
}

void code_file_close(code_file *f)
{
    if (!f)
        return;
    held_close(&f->file);
    free(f->header);
    free(f);
}

tutti_status code_file_read(const code_file *f, const char *name, void **ret_data,
                            tutti_error *err)
{
    char hex[BYTES_HEX_SIZE];
    const code_entry *e = entries_of(f), *end = e + f->header->count;
    while (e < end && strcmp(e->name, name) != 0)
        e++;
    if (e == end)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "there is no device code of %s in %s", name,
                          f->file.path);
    unsigned char *data = malloc(e->bytes);
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %s", f->file.path, name);
    tutti_status s = read_at(&f->file, data, e->bytes, e->offset, err);
    if (!s)
        s = bytes_sha256(&(const bytes){data, e->bytes, -1}, f->file.path, hex, err);
    if (!s && memcmp(hex, e->sha256, sizeof e->sha256) != 0)
        s = TUTTI_E_FORMAT;
    if (s == TUTTI_E_FORMAT)
        s = tutti_fail(err, s, "%s: %s is damaged in it: install the component cuda again",
                       f->file.path, name);
    if (s)
        free(data);
    else
        *ret_data = data;
    return s;
}
