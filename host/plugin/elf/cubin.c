/* cubin.c - reading fatbins, and of the cubins in them what they say of their functions' arguments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/cubin.h"
#include "plugin/elf/mapped.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

/* A fatbin is a header and then pieces, each with a header of its own. */
typedef struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes;
} fatbin_header;
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
typedef struct info_header {
    uint8_t format;
    uint8_t attribute;
    uint16_t size;
} info_header;
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
    mapped bytes;
    uint32_t architecture; /* 0: not known */
} image;

static tutti_status torn(const image *m, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: its device code points outside of the file",
                      m->bytes.path);
}

/* " for sm_90" */
static const char *target(const image *m, char *text, size_t size)
{
    *text = '\0';
    if (m->architecture)
        (void)snprintf(text, size, " for sm_%u", m->architecture);
    return text;
}

static tutti_status hold(const image *m, const cubin_function *f, const uint32_t *sizes,
                         uint32_t nargs, tutti_error *err)
{
    char text[24];
    if (nargs != f->nargs)
        return tutti_fail(err, TUTTI_E_ARG, "%s: %s%s takes %u arguments, %s has %u",
                          m->bytes.path, f->entry, target(m, text, sizeof text), nargs, f->by,
                          f->nargs);
    for (uint32_t k = 0; k < nargs; k++)
        if (sizes[k] != f->sizes[k])
            return tutti_fail(err, TUTTI_E_ARG,
                              "%s: argument %u of %s%s has %u bytes, that of %s has %u",
                              m->bytes.path, k, f->entry, target(m, text, sizeof text),
                              sizes[k], f->by, f->sizes[k]);
    return TUTTI_OK;
}

/* The section .nv.info.<entry>: the arguments in any order, and the bytes that all of them take. */
static tutti_status check_info(const image *m, const Elf64_Shdr *s, const cubin_function *f,
                               tutti_error *err)
{
    uint32_t sizes[MOST_ARGS] = {0}, nargs = 0, found = 0, end = 0, bytes = 0;
    uint64_t at = s->sh_offset;
    if (at > m->bytes.size || s->sh_size > m->bytes.size - at)
        return torn(m, err);
    while (at < s->sh_offset + s->sh_size) {
        info_header h;
        param_info p;
        param_bank b;
        if (!mapped_fetch(&m->bytes, at, &h, sizeof h))
            return torn(m, err);
        at += sizeof h;
        if (h.format != SIZED)
            continue;
        if (h.attribute == KPARAM_INFO) {
            if (!mapped_fetch(&m->bytes, at, &p, sizeof p) || p.ordinal >= MOST_ARGS)
                return torn(m, err);
            sizes[p.ordinal] = p.bits >> SIZE_SHIFT;
            found++;
            nargs = p.ordinal >= nargs ? p.ordinal + 1u : nargs;
            end = p.offset + sizes[p.ordinal] > end ? p.offset + sizes[p.ordinal] : end;
        } else if (h.attribute == PARAM_CBANK) {
            if (!mapped_fetch(&m->bytes, at, &b, sizeof b))
                return torn(m, err);
            bytes = b.bytes;
        }
        at += h.size;
    }
    if (found != nargs || end != bytes)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: %s does not say of all of its arguments how long they are",
                          m->bytes.path, f->entry);
    return hold(m, f, sizes, nargs, err);
}

/* Whether the section's name is ".nv.info.<entry>". */
static bool is_info_of(const image *m, const Elf64_Shdr *names, const Elf64_Shdr *s,
                       const char *entry)
{
    static const char prefix[] = ".nv.info.";
    const size_t n = strlen(entry) + 1, at = sizeof prefix - 1;
    if (names->sh_offset > m->bytes.size || names->sh_size > m->bytes.size - names->sh_offset ||
        s->sh_name > names->sh_size || names->sh_size - s->sh_name < at + n)
        return false;
    const unsigned char *name = m->bytes.data + names->sh_offset + s->sh_name;
    return memcmp(name, prefix, at) == 0 && memcmp(name + at, entry, n) == 0;
}

static tutti_status check_function(const image *m, const Elf64_Ehdr *h, cubin_function *f,
                                   tutti_error *err)
{
    Elf64_Shdr names, s;
    char text[24];
    if (h->e_shentsize != sizeof s || h->e_shoff > m->bytes.size ||
        !mapped_fetch(&m->bytes, h->e_shoff + h->e_shstrndx * sizeof names, &names,
                      sizeof names))
        return torn(m, err);
    for (unsigned k = 0; k < h->e_shnum; k++) {
        if (!mapped_fetch(&m->bytes, h->e_shoff + k * sizeof s, &s, sizeof s))
            return torn(m, err);
        if (is_info_of(m, &names, &s, f->entry)) {
            f->checked++;
            return check_info(m, &s, f, err);
        }
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: has no function %s%s, which %s names",
                      m->bytes.path, f->entry, target(m, text, sizeof text), f->by);
}

static tutti_status check_cubin(const image *m, cubin_function *functions, size_t count,
                                tutti_error *err)
{
    Elf64_Ehdr h;
    tutti_status s = TUTTI_OK;
    if (!mapped_fetch(&m->bytes, 0, &h, sizeof h))
        return torn(m, err);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_CUDA)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: no device code of CUDA's", m->bytes.path);
    for (size_t k = 0; k < count && !s; k++)
        s = check_function(m, &h, &functions[k], err);
    return s;
}

static bool is_elf(const image *m)
{
    return m->bytes.size >= SELFMAG && memcmp(m->bytes.data, ELFMAG, SELFMAG) == 0;
}

tutti_status cubin_check_bytes(const char *path, const void *data, size_t size,
                               cubin_function *functions, size_t count, tutti_error *err)
{
    const image m = {{path, data, size}, 0};
    fatbin_header header;
    for (size_t k = 0; k < count; k++)
        functions[k].checked = 0;
    if (is_elf(&m))
        return check_cubin(&m, functions, count, err);
    if (!mapped_fetch(&m.bytes, 0, &header, sizeof header) ||
        header.magic != (uint32_t)FATBIN_MAGIC)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: neither a fatbin nor a cubin", path);
    if (header.header_bytes > size || header.bytes > size - header.header_bytes)
        return torn(&m, err);
    const uint64_t end = header.header_bytes + header.bytes;
    for (uint64_t at = header.header_bytes; at < end;) {
        fatbin_piece piece;
        tutti_status s = TUTTI_OK;
        if (!mapped_fetch(&m.bytes, at, &piece, sizeof piece) ||
            piece.header_bytes < sizeof piece || piece.header_bytes > end - at ||
            piece.bytes > end - at - piece.header_bytes)
            return torn(&m, err);
        at += piece.header_bytes;
        const image inner = {{path, m.bytes.data + at, (size_t)piece.bytes},
                             piece.architecture};
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
    mapped m;
    tutti_status status = mapped_open(path, &m, err);
    if (status)
        return status;
    status = cubin_check_bytes(path, m.data, m.size, functions, count, err);
    mapped_close(&m);
    return status;
}
