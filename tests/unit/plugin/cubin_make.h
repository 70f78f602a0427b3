/* cubin_make.h - small cubins and fatbins, as far as arguments go. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUBIN_MAKE_H
#define CUBIN_MAKE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum { CUBIN_ROOM = 4096 };

typedef struct made {
    unsigned char bytes[CUBIN_ROOM];
    size_t size;
} made;

static inline void put(made *m, const void *data, size_t size)
{
    memcpy(m->bytes + m->size, data, size);
    m->size += size;
}

static inline void put_argument(made *m, uint32_t k, uint32_t at, uint32_t size)
{
    const uint16_t header[] = {0x1704, 12, 0, 0, (uint16_t)k, (uint16_t)at};
    const uint32_t bits = size << 18;
    put(m, header, sizeof header);
    put(m, &bits, sizeof bits);
}

/* One function with arguments of these sizes, each where its size lets it be; the last comes first,
 * as ptxas has it. */
static inline made make_cubin(const char *entry, const uint32_t *sizes, uint32_t nargs)
{
    made m = {.size = sizeof(Elf64_Ehdr)};
    uint32_t offsets[16] = {0}, end = 0;
    for (uint32_t k = 0; k < nargs; k++) {
        offsets[k] = (end + sizes[k] - 1) / sizes[k] * sizes[k];
        end = offsets[k] + sizes[k];
    }
    char names[128] = "\0.nv.info.";
    const size_t prefix = 10, length = strlen(entry);
    memcpy(names + prefix, entry, length + 1);
    const Elf64_Shdr table = {.sh_type = SHT_STRTAB, .sh_offset = m.size, .sh_size = 128};
    put(&m, names, sizeof names);
    Elf64_Shdr info = {.sh_name = 1, .sh_type = 0x70000000, .sh_offset = m.size};
    const uint16_t other[] = {0x3704, 4, 1, 0},
                   bank[] = {0x0a04, 8, 0, 0, 0x210, (uint16_t)end};
    const uint16_t half[] = {0x1903, 64};
    put(&m, other, sizeof other);
    put(&m, bank, sizeof bank);
    put(&m, half, sizeof half);
    for (uint32_t k = nargs; k-- > 0;)
        put_argument(&m, k, offsets[k], sizes[k]);
    info.sh_size = m.size - info.sh_offset;
    const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 65},
                               .e_type = 2,
                               .e_machine = 190,
                               .e_shoff = m.size,
                               .e_shentsize = sizeof info,
                               .e_shnum = 2,
                               .e_shstrndx = 0};
    put(&m, &table, sizeof table);
    put(&m, &info, sizeof info);
    memcpy(m.bytes, &header, sizeof header);
    return m;
}

static inline void put_piece(made *m, uint16_t kind, uint32_t architecture, const made *what)
{
    const uint16_t first[] = {kind, 0x101};
    const uint32_t header = 64, rest[] = {0, 0, 0, architecture};
    const uint64_t size = what->size;
    const unsigned char zeros[32] = {0};
    put(m, first, sizeof first);
    put(m, &header, sizeof header);
    put(m, &size, sizeof size);
    put(m, rest, sizeof rest);
    put(m, zeros, sizeof zeros);
    put(m, what->bytes, what->size);
}

/* Cubins for sm_80 and sm_90, and PTX that nobody reads. */
static inline made make_fatbin(const made *sm80, const made *sm90)
{
    made m = {.size = 16};
    const made ptx = {.bytes = {0x28, 0xb5, 0x2f, 0xfd}, .size = 16};
    put_piece(&m, 2, 80, sm80);
    put_piece(&m, 1, 90, &ptx);
    put_piece(&m, 2, 90, sm90);
    const uint32_t magic = 0xBA55ED50;
    const uint16_t words[] = {1, 16};
    const uint64_t size = m.size - 16;
    memcpy(m.bytes, &magic, sizeof magic);
    memcpy(m.bytes + 4, words, sizeof words);
    memcpy(m.bytes + 8, &size, sizeof size);
    return m;
}

#endif
