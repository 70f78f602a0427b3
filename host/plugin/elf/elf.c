/* elf.c - reading ELF headers, the dynamic section and the exported symbols. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/elf/elf.h"
#include "plugin/elf/mapped.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
enum { HERE = EM_X86_64 };
#elif defined(__aarch64__)
enum { HERE = EM_AARCH64 };
#else
enum { HERE = EM_NONE };
#endif

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "aarch64";
    case EM_386:
        return "i386";
    case EM_ARM:
        return "arm";
    case EM_RISCV:
        return "riscv";
    case EM_PPC64:
        return "ppc64";
    default:
        return "another machine";
    }
}

static tutti_status check_header(const mapped *m, const Elf64_Ehdr *h, tutti_error *err)
{
    if (h->e_ident[EI_CLASS] != ELFCLASS64)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: a 32-bit object, want 64 bits", m->path);
    if (h->e_ident[EI_DATA] != ELFDATA2LSB)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: a big-endian object, want little-endian",
                          m->path);
    if (h->e_machine != HERE)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: built for %s, this machine is %s", m->path,
                          machine_name(h->e_machine), machine_name(HERE));
    if (h->e_type != ET_DYN)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: an ELF file of type %u, want a shared "
                          "object (type %u)",
                          m->path, (unsigned)h->e_type, (unsigned)ET_DYN);
    return TUTTI_OK;
}

static tutti_status check_dynamic(const mapped *m, const Elf64_Phdr *p, tutti_error *err)
{
    for (uint64_t k = 0; k < p->p_filesz / sizeof(Elf64_Dyn); k++) {
        Elf64_Dyn d;
        if (!mapped_fetch(m, p->p_offset + k * sizeof d, &d, sizeof d))
            return mapped_torn(m, err);
        if (d.d_tag == DT_TEXTREL || (d.d_tag == DT_FLAGS && (d.d_un.d_val & DF_TEXTREL)))
            return tutti_fail(err, TUTTI_E_TRUST,
                              "%s: has relocations in its code (TEXTREL), want code built "
                              "with -fPIC",
                              m->path);
    }
    return TUTTI_OK;
}

static tutti_status check_segments(const mapped *m, const Elf64_Ehdr *h, tutti_error *err)
{
    bool stack = false;
    for (unsigned k = 0; k < h->e_phnum; k++) {
        Elf64_Phdr p;
        tutti_status status = TUTTI_OK;
        if (h->e_phentsize != sizeof p ||
            !mapped_fetch(m, h->e_phoff + k * sizeof p, &p, sizeof p))
            return mapped_torn(m, err);
        if (p.p_type == PT_GNU_STACK)
            stack = !(p.p_flags & PF_X);
        if (p.p_type == PT_DYNAMIC)
            status = check_dynamic(m, &p, err);
        if (status)
            return status;
    }
    if (!stack)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: asks for an executable stack, want -Wl,-z,noexecstack", m->path);
    return TUTTI_OK;
}

/* What linkers and sanitizers add on their own. */
static bool is_tools_own(const char *name)
{
    static const char *const prefixes[] = {"__asan_", "__odr_asan", "___asan_", "__ubsan_",
                                           "__tsan_", "__sancov_",  "__gcov_"};
    static const char *const names[] = {"_init", "_fini", "_edata", "_end", "__bss_start"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
        if (strncmp(name, prefixes[k], strlen(prefixes[k])) == 0)
            return true;
    return false;
}

static bool is_exported(const Elf64_Sym *s)
{
    return s->st_shndx != SHN_UNDEF && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           ELF64_ST_VISIBILITY(s->st_other) != STV_HIDDEN &&
           ELF64_ST_VISIBILITY(s->st_other) != STV_INTERNAL;
}

enum { MAX_WANTED = 600 };

/* Symbols of section `table`, whose names are in section `names`. */
static tutti_status check_symbols(const mapped *m, const Elf64_Shdr *table,
                                  const Elf64_Shdr *names, const char *entry,
                                  const char *const *symbols, tutti_error *err)
{
    bool found[MAX_WANTED] = {false}, has_entry = !entry;
    if (names->sh_offset > m->size || names->sh_size > m->size - names->sh_offset ||
        !names->sh_size || m->data[names->sh_offset + names->sh_size - 1])
        return mapped_torn(m, err);
    for (uint64_t k = 0; k < table->sh_size / sizeof(Elf64_Sym); k++) {
        Elf64_Sym s;
        if (!mapped_fetch(m, table->sh_offset + k * sizeof s, &s, sizeof s) ||
            s.st_name >= names->sh_size)
            return mapped_torn(m, err);
        const char *name = (const char *)m->data + names->sh_offset + s.st_name;
        bool declared = false;
        if (!is_exported(&s) || is_tools_own(name))
            continue;
        /* Several handlers may have one symbol. */
        for (size_t w = 0; symbols[w] && w < MAX_WANTED; w++)
            if (strcmp(symbols[w], name) == 0)
                declared = found[w] = true;
        if (entry && strcmp(entry, name) == 0)
            has_entry = true;
        else if (!declared && entry)
            return tutti_fail(
                err, TUTTI_E_TRUST,
                "%s: exports \"%s\", which the manifest does not declare; want "
                "%s and declared kernels only, which -fvisibility=hidden and the SDK's "
                "version script (tutti_plugin.map, for C++) see to",
                m->path, name, entry);
    }
    if (!has_entry)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: does not export \"%s\", the entry of a plugin", m->path, entry);
    for (size_t w = 0; symbols[w] && w < MAX_WANTED; w++)
        if (!found[w])
            return tutti_fail(err, TUTTI_E_FORMAT,
                              "%s: does not export \"%s\", which the manifest declares",
                              m->path, symbols[w]);
    return TUTTI_OK;
}

static tutti_status check_exports(const mapped *m, const Elf64_Ehdr *h, const char *entry,
                                  const char *const *symbols, tutti_error *err)
{
    for (unsigned k = 0; k < h->e_shnum; k++) {
        Elf64_Shdr table, names;
        if (h->e_shentsize != sizeof table ||
            !mapped_fetch(m, h->e_shoff + k * sizeof table, &table, sizeof table))
            return mapped_torn(m, err);
        if (table.sh_type != SHT_DYNSYM)
            continue;
        if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_link >= h->e_shnum ||
            !mapped_fetch(m, h->e_shoff + table.sh_link * sizeof names, &names, sizeof names))
            return mapped_torn(m, err);
        return check_symbols(m, &table, &names, entry, symbols, err);
    }
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: has no table of dynamic symbols", m->path);
}

/* The header, when these bytes are those of an ELF file. */
static tutti_status read_header(const mapped *m, Elf64_Ehdr *ret, tutti_error *err)
{
    if (!mapped_fetch(m, 0, ret, sizeof *ret) || memcmp(ret->e_ident, ELFMAG, SELFMAG) != 0)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: not an ELF file, want a shared object",
                          m->path);
    return check_header(m, ret, err);
}

tutti_status elf_check_needed(const char *path, const void *data, size_t size, tutti_error *err)
{
    const mapped m = {path, data, size};
    Elf64_Ehdr h;
    const tutti_status status = read_header(&m, &h, err);
    return status ? status : check_segments(&m, &h, err);
}

bool elf_fits(const void *data, size_t size)
{
    const mapped m = {"", data, size};
    tutti_error e = TUTTI_ERROR_INIT;
    Elf64_Ehdr h;
    return read_header(&m, &h, &e) == TUTTI_OK;
}

tutti_status elf_check_bytes(const char *path, const void *data, size_t size, const char *entry,
                             const char *const *symbols, tutti_error *err)
{
    const mapped m = {path, data, size};
    Elf64_Ehdr h;
    tutti_status status = read_header(&m, &h, err);
    if (!status)
        status = check_segments(&m, &h, err);
    return status ? status : check_exports(&m, &h, entry, symbols, err);
}
