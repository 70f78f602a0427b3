/* elf_dynamic.c - the libraries that a shared object needs and where it wants them looked for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/elf.h"
#include "plugin/elf/mapped.h"

#include <elf.h>
#include <string.h>

/* The file's offset of what lies at address `at` once it is loaded; false: nowhere in the file. */
static bool to_offset(const mapped *m, const Elf64_Ehdr *h, uint64_t at, uint64_t *ret)
{
    for (unsigned k = 0; k < h->e_phnum; k++) {
        Elf64_Phdr p;
        if (!mapped_fetch(m, h->e_phoff + k * sizeof p, &p, sizeof p))
            return false;
        if (p.p_type == PT_LOAD && at >= p.p_vaddr && at - p.p_vaddr < p.p_filesz) {
            *ret = p.p_offset + (at - p.p_vaddr);
            return true;
        }
    }
    return false;
}

/* The string at `offset` of the table; NULL when it does not end inside the file. */
static const char *string_at(const mapped *m, uint64_t table, uint64_t size, uint64_t offset)
{
    if (table > m->size || size > m->size - table || offset >= size)
        return NULL;
    const char *text = (const char *)m->data + table + offset;
    return memchr(text, '\0', (size_t)(size - offset)) ? text : NULL;
}

static bool find_strings(const mapped *m, const Elf64_Ehdr *h, const Elf64_Phdr *p,
                         uint64_t *ret_table, uint64_t *ret_size)
{
    uint64_t at = 0;
    bool known = false;
    *ret_size = 0;
    for (uint64_t k = 0; k < p->p_filesz / sizeof(Elf64_Dyn); k++) {
        Elf64_Dyn d;
        if (!mapped_fetch(m, p->p_offset + k * sizeof d, &d, sizeof d))
            return false;
        if (d.d_tag == DT_NULL)
            break;
        if (d.d_tag == DT_STRTAB) {
            at = d.d_un.d_ptr;
            known = true;
        } else if (d.d_tag == DT_STRSZ)
            *ret_size = d.d_un.d_val;
    }
    return known && to_offset(m, h, at, ret_table);
}

static tutti_status take_entry(const mapped *m, int64_t tag, const char *text, elf_dynamic *ret,
                               tutti_error *err)
{
    if (!text)
        return mapped_torn(m, err);
    switch (tag) {
    case DT_NEEDED:
        if (ret->nneeded == ELF_MAX_NEEDED)
            return tutti_fail(err, TUTTI_E_FORMAT, "%s: needs more than %d libraries", m->path,
                              ELF_MAX_NEEDED);
        ret->needed[ret->nneeded++] = text;
        break;
    case DT_RPATH:
        ret->rpath = text;
        break;
    case DT_RUNPATH:
        ret->runpath = text;
        break;
    default:
        ret->filter = text;
        break;
    }
    return TUTTI_OK;
}

static bool names_something(int64_t tag)
{
    return tag == DT_NEEDED || tag == DT_RPATH || tag == DT_RUNPATH || tag == DT_FILTER ||
           tag == DT_AUXILIARY;
}

static tutti_status read_segment(const mapped *m, const Elf64_Ehdr *h, const Elf64_Phdr *p,
                                 elf_dynamic *ret, tutti_error *err)
{
    uint64_t table = 0, size = 0;
    tutti_status status = TUTTI_OK;
    if (!find_strings(m, h, p, &table, &size))
        return mapped_torn(m, err);
    for (uint64_t k = 0; !status && k < p->p_filesz / sizeof(Elf64_Dyn); k++) {
        Elf64_Dyn d;
        if (!mapped_fetch(m, p->p_offset + k * sizeof d, &d, sizeof d) || d.d_tag == DT_NULL)
            break;
        if (names_something(d.d_tag))
            status = take_entry(m, d.d_tag, string_at(m, table, size, d.d_un.d_val), ret, err);
    }
    return status;
}

tutti_status elf_dynamic_read(const char *path, const void *data, size_t size, elf_dynamic *ret,
                              tutti_error *err)
{
    const mapped m = {path, data, size};
    Elf64_Ehdr h;
    memset(ret, 0, sizeof *ret);
    if (!mapped_fetch(&m, 0, &h, sizeof h))
        return mapped_torn(&m, err);
    for (unsigned k = 0; k < h.e_phnum; k++) {
        Elf64_Phdr p;
        if (!mapped_fetch(&m, h.e_phoff + k * sizeof p, &p, sizeof p))
            return mapped_torn(&m, err);
        if (p.p_type == PT_DYNAMIC)
            return read_segment(&m, &h, &p, ret, err);
    }
    return TUTTI_OK; /* it asks for nothing */
}
