/* elf.c - a read-only look at a shared object: what would be wrong with it is said before it runs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin_internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#error "name this machine's ELF number here"
#endif

typedef struct image {
    const char *path;
    const unsigned char *data;
    uint64_t size;
} image;

/* `count` things of `each` bytes at `offset` lie within the file. */
static bool within(const image *m, uint64_t offset, uint64_t count, uint64_t each)
{
    return offset <= m->size && count <= (m->size - offset) / (each ? each : 1);
}

static tutti_status broken(const image *m, const char *what, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: %s", m->path, what);
}

static tutti_status check_header(const image *m, const Elf64_Ehdr *h, tutti_error *err)
{
    if (m->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return broken(m, "is not a shared object (no ELF header)", err);
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_machine != OUR_MACHINE)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: is built for another architecture (ELF machine %u, this is %u)",
                          m->path, h->e_machine, OUR_MACHINE);
    if (h->e_type != ET_DYN)
        return broken(m, "is not a shared object (it is another type of ELF file)", err);
    if (h->e_phentsize != sizeof(Elf64_Phdr) ||
        !within(m, h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr)) ||
        (h->e_shnum && (h->e_shentsize != sizeof(Elf64_Shdr) ||
                        !within(m, h->e_shoff, h->e_shnum, sizeof(Elf64_Shdr)))))
        return broken(m, "is truncated", err);
    return TUTTI_OK;
}

/* Compilers and linkers put these there themselves. */
static bool harmless(const char *name)
{
    static const char *const names[] = {"_init", "_fini", "_edata", "_end", "__bss_start"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(names[k], name) == 0)
            return true;
    return strncmp(name, "__asan_", 7) == 0 || strncmp(name, "__ubsan_", 8) == 0 ||
           strncmp(name, "__odr_asan", 10) == 0 || strncmp(name, "__tsan_", 7) == 0;
}

static tutti_status check_symbols(const image *m, const Elf64_Shdr *sections, unsigned n,
                                  tutti_error *err)
{
    bool entry = false, table = false;
    for (unsigned k = 0; k < n; k++) {
        const Elf64_Shdr *s = &sections[k];
        if (s->sh_type != SHT_DYNSYM || s->sh_link >= n)
            continue;
        const Elf64_Shdr *text = &sections[s->sh_link];
        const uint64_t count = s->sh_size / sizeof(Elf64_Sym);
        if (!within(m, s->sh_offset, count, sizeof(Elf64_Sym)) ||
            !within(m, text->sh_offset, text->sh_size, 1) || text->sh_size == 0 ||
            m->data[text->sh_offset + text->sh_size - 1] != '\0')
            return broken(m, "is truncated", err);
        table = true;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(m->data + s->sh_offset);
        for (uint64_t j = 0; j < count; j++) {
            const int bind = ELF64_ST_BIND(symbols[j].st_info);
            if (symbols[j].st_shndx == SHN_UNDEF || bind == STB_LOCAL ||
                ELF64_ST_VISIBILITY(symbols[j].st_other) == STV_HIDDEN ||
                symbols[j].st_name >= text->sh_size)
                continue;
            const char *name = (const char *)m->data + text->sh_offset + symbols[j].st_name;
            if (strcmp(name, "tutti_plugin_v1") == 0)
                entry = true;
            else if (!harmless(name))
                return tutti_fail(
                    err, TUTTI_E_FORMAT,
                    "%s: exports %s; a plugin exports tutti_plugin_v1 and nothing "
                    "else (compile with -fvisibility=hidden)",
                    m->path, name);
        }
    }
    if (table && !entry)
        return broken(m, "does not export the entry function tutti_plugin_v1", err);
    return TUTTI_OK;
}

static tutti_status check_image(const image *m, tutti_error *err)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)m->data;
    const tutti_status s = check_header(m, h, err);
    if (s)
        return s;
    const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(m->data + h->e_phoff);
    for (unsigned k = 0; k < h->e_phnum; k++) {
        if (p[k].p_type == PT_GNU_STACK && (p[k].p_flags & PF_X))
            return broken(m, "asks for an executable stack", err);
        if (p[k].p_type != PT_DYNAMIC || !within(m, p[k].p_offset, p[k].p_filesz, 1))
            continue;
        const Elf64_Dyn *d = (const Elf64_Dyn *)(const void *)(m->data + p[k].p_offset);
        for (uint64_t j = 0; j < p[k].p_filesz / sizeof *d && d[j].d_tag != DT_NULL; j++)
            if (d[j].d_tag == DT_TEXTREL)
                return broken(m, "has relocations in its code (compile with -fPIC)", err);
    }
    return check_symbols(m, (const Elf64_Shdr *)(const void *)(m->data + h->e_shoff),
                         h->e_shnum, err);
}

tutti_status elf_check(const char *path, tutti_error *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        const tutti_status s = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return s;
    }
    image m = {path, NULL, (uint64_t)st.st_size};
    void *map = m.size ? mmap(NULL, (size_t)m.size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    (void)close(fd);
    if (map == MAP_FAILED)
        return broken(&m, "is not a shared object (it is empty)", err);
    m.data = map;
    const tutti_status s = check_image(&m, err);
    (void)munmap(map, (size_t)m.size);
    return s;
}
