/* cubin.c - reading fatbins, and of the cubins in them what they say of their functions' arguments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/cubin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

/* A fatbin is a header and then pieces, each with a header of its own. */
typedef struct fatbin_head {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes;
} fatbin_head;
typedef struct fatbin_piece {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t unused[3];
    uint32_t architecture; /* 90 */
} fatbin_piece;
enum { FATBIN_MAGIC = (int)0xBA55ED50, PIECE_CUBIN = 2, MOST_ARGS = 256 };

/* A section .nv.info.<function> is a list of these, each before its value of 4 bytes or of `size`. */
typedef struct info_head {
    uint8_t format;
    uint8_t attribute;
    uint16_t size;
} info_head;
typedef struct param_info {
    uint32_t index;
    uint16_t ordinal;
    uint16_t offset;
    uint32_t bits; /* the upper 14: its size */
} param_info;
typedef struct param_bank {
    uint32_t symbol;
    uint16_t offset;
    uint16_t bytes; /* of all arguments */
} param_bank;
enum { SIZED = 4, PARAM_CBANK = 0x0a, KPARAM_INFO = 0x17, SIZE_SHIFT = 18 };

typedef struct image {
    const char *path;
    const unsigned char *data;
    size_t size;
    uint32_t architecture; /* 0: not known */
} image;

static bool fetch(const image *m, uint64_t at, void *to, size_t size)
{
    if (at > m->size || size > m->size - at)
        return false;
    memcpy(to, m->data + at, size);
    return true;
}

static tutti_status torn(const image *m, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: its device code points outside of the file",
                      m->path);
}

/* " for sm_90" */
static const char *target(const image *m, char *room, size_t size)
{
    *room = '\0';
    if (m->architecture)
        (void)snprintf(room, size, " for sm_%u", m->architecture);
    return room;
}

static tutti_status hold(const image *m, const cubin_function *f, const uint32_t *sizes,
                         uint32_t nargs, tutti_error *err)
{
    char room[24];
    if (nargs != f->nargs)
        return tutti_fail(err, TUTTI_E_ARG, "%s: %s%s takes %u arguments, %s has %u", m->path,
                          f->entry, target(m, room, sizeof room), nargs, f->by, f->nargs);
    for (uint32_t k = 0; k < nargs; k++)
        if (sizes[k] != f->sizes[k])
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: argument %u of %s%s has %u bytes, that of %s has %u",
                              m->path, k, f->entry, target(m, room, sizeof room), sizes[k],
                              f->by, f->sizes[k]);
    return TUTTI_OK;
}

/* The section .nv.info.<entry>: the arguments in any order, and the bytes that all of them take. */
static tutti_status check_info(const image *m, const Elf64_Shdr *s, const cubin_function *f,
                               tutti_error *err)
{
    uint32_t sizes[MOST_ARGS] = {0}, nargs = 0, found = 0, end = 0, bytes = 0;
    uint64_t at = s->sh_offset;
    if (at > m->size || s->sh_size > m->size - at)
        return torn(m, err);
    while (at < s->sh_offset + s->sh_size) {
        info_head h;
        param_info p;
        param_bank b;
        if (!fetch(m, at, &h, sizeof h))
            return torn(m, err);
        at += sizeof h;
        if (h.format != SIZED)
            continue;
        if (h.attribute == KPARAM_INFO) {
            if (!fetch(m, at, &p, sizeof p) || p.ordinal >= MOST_ARGS)
                return torn(m, err);
            sizes[p.ordinal] = p.bits >> SIZE_SHIFT;
            found++;
            nargs = p.ordinal >= nargs ? p.ordinal + 1u : nargs;
            end = p.offset + sizes[p.ordinal] > end ? p.offset + sizes[p.ordinal] : end;
        } else if (h.attribute == PARAM_CBANK) {
            if (!fetch(m, at, &b, sizeof b))
                return torn(m, err);
            bytes = b.bytes;
        }
        at += h.size;
    }
    if (found != nargs || end != bytes)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: %s does not say of all of its arguments how long they are",
                          m->path, f->entry);
    return hold(m, f, sizes, nargs, err);
}

/* Whether the section's name is ".nv.info.<entry>". */
static bool is_info_of(const image *m, const Elf64_Shdr *names, const Elf64_Shdr *s,
                       const char *entry)
{
    static const char prefix[] = ".nv.info.";
    const size_t n = strlen(entry) + 1, at = sizeof prefix - 1;
    if (names->sh_offset > m->size || names->sh_size > m->size - names->sh_offset ||
        s->sh_name > names->sh_size || names->sh_size - s->sh_name < at + n)
        return false;
    const unsigned char *name = m->data + names->sh_offset + s->sh_name;
    return memcmp(name, prefix, at) == 0 && memcmp(name + at, entry, n) == 0;
}

static tutti_status check_function(const image *m, const Elf64_Ehdr *h, cubin_function *f,
                                   tutti_error *err)
{
    Elf64_Shdr names, s;
    char room[24];
    if (h->e_shentsize != sizeof s || h->e_shoff > m->size ||
        !fetch(m, h->e_shoff + h->e_shstrndx * sizeof names, &names, sizeof names))
        return torn(m, err);
    for (unsigned k = 0; k < h->e_shnum; k++) {
        if (!fetch(m, h->e_shoff + k * sizeof s, &s, sizeof s))
            return torn(m, err);
        if (is_info_of(m, &names, &s, f->entry)) {
            f->checked++;
            return check_info(m, &s, f, err);
        }
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no function %s%s, which %s names",
                      m->path, f->entry, target(m, room, sizeof room), f->by);
}

static tutti_status check_cubin(const image *m, cubin_function *functions, size_t count,
                                tutti_error *err)
{
    Elf64_Ehdr h;
    tutti_status s = TUTTI_OK;
    if (!fetch(m, 0, &h, sizeof h))
        return torn(m, err);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_CUDA)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: no device code of CUDA's", m->path);
    for (size_t k = 0; k < count && !s; k++)
        s = check_function(m, &h, &functions[k], err);
    return s;
}

static bool is_elf(const image *m)
{
    return m->size >= SELFMAG && memcmp(m->data, ELFMAG, SELFMAG) == 0;
}

tutti_status cubin_check_bytes(const char *path, const void *data, size_t size,
                               cubin_function *functions, size_t count, tutti_error *err)
{
    const image m = {path, data, size, 0};
    fatbin_head head;
    for (size_t k = 0; k < count; k++)
        functions[k].checked = 0;
    if (is_elf(&m))
        return check_cubin(&m, functions, count, err);
    if (!fetch(&m, 0, &head, sizeof head) || head.magic != (uint32_t)FATBIN_MAGIC)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: neither a fatbin nor a cubin", path);
    if (head.header_bytes > size || head.bytes > size - head.header_bytes)
        return torn(&m, err);
    const uint64_t end = head.header_bytes + head.bytes;
    for (uint64_t at = head.header_bytes; at < end;) {
        fatbin_piece piece;
        tutti_status s = TUTTI_OK;
        if (!fetch(&m, at, &piece, sizeof piece) || piece.header_bytes < sizeof piece ||
            piece.header_bytes > end - at || piece.bytes > end - at - piece.header_bytes)
            return torn(&m, err);
        at += piece.header_bytes;
        const image inner = {path, m.data + at, (size_t)piece.bytes, piece.architecture};
        if (piece.kind == PIECE_CUBIN && is_elf(&inner))
            s = check_cubin(&inner, functions, count, err);
        if (s)
            return s;
        at += piece.bytes;
    }
    return TUTTI_OK;
}

tutti_status cubin_check(const char *path, cubin_function *functions, size_t count,
                         tutti_error *err)
{
    struct stat s;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s)) {
        const tutti_status status =
            tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    const size_t size = (size_t)s.st_size;
    void *map = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    (void)close(fd);
    if (map == MAP_FAILED)
        return tutti_fail(err, size ? TUTTI_E_IO : TUTTI_E_FORMAT,
                          size ? "%s: cannot be mapped" : "%s: an empty file", path);
    const tutti_status status = cubin_check_bytes(path, map, size, functions, count, err);
    (void)munmap(map, size);
    return status;
}
