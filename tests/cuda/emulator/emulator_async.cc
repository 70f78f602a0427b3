/* emulator_async.cc - copies on the way, matrices out of shared memory, and how often its banks collide. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator_inside.h"

#include <stdio.h>

namespace
{
enum { THREADS = 1024, WARPS = THREADS / 32, COPIES = 64, AHEAD = 256, BANKS = 32 };

struct copy {
    void *to;
    const void *from; /* NULL: zeros */
    unsigned bytes, group;
};

struct thread {
    copy copies[COPIES];
    unsigned ncopies, groups; /* groups that were committed */
    unsigned accesses, exchanges;
};

/* An access of a warp, which its lanes come to one by one. */
struct access {
    unsigned at[32], bytes, there;
};

struct memory {
    thread threads[THREADS];
    access accesses[WARPS][AHEAD];
    uint32_t words[2][THREADS][6];
    emulator_banks banks;
    bool used; /* since the block began */
};
memory m;

void do_copy(const copy &c)
{
    if (c.from)
        memcpy(c.to, c.from, c.bytes);
    else
        memset(c.to, 0, c.bytes);
}

/* Lanes that are served together; each asks for `bytes` from at[k] on. */
void count_turn(const unsigned *at, unsigned n, unsigned bytes)
{
    unsigned most = 0;
    for (unsigned bank = 0; bank < BANKS; bank++) {
        unsigned words[32], found = 0;
        for (unsigned k = 0; k < n; k++)
            for (unsigned w = at[k] / 4; w < (at[k] + bytes + 3) / 4; w++) {
                bool is_new = w % BANKS == bank;
                for (unsigned j = 0; j < found; j++)
                    is_new = is_new && words[j] != w;
                if (is_new && found < 32)
                    words[found++] = w;
            }
        most = found > most ? found : most;
    }
    m.banks.turns++;
    m.banks.conflicts += most - 1;
}

/* Where in shared memory that is; a fault where it is elsewhere. */
unsigned offset_of(const void *at, unsigned bytes, const char *what)
{
    unsigned offset = 0;
    if (!emulator_shared_offset(at, bytes, &offset))
        emulator_fault(what);
    return offset;
}
} // namespace

extern "C" void emulator_async_begin(void)
{
    if (!m.used)
        return;
    m.used = false;
    for (thread &t : m.threads)
        t.ncopies = t.groups = t.accesses = t.exchanges = 0;
    for (auto &warp : m.accesses)
        for (access &a : warp)
            a.there = 0;
}

extern "C" void emulator_access(const void *at, unsigned bytes)
{
    const unsigned me = emulator_thread(), number = m.threads[me].accesses++;
    access &a = m.accesses[me / 32][number % AHEAD];
    m.used = true;
    a.at[me % 32] = offset_of(at, bytes, "it tells of an access outside of shared memory");
    a.bytes = bytes;
    if (++a.there < 32)
        return;
    const unsigned together = bytes > 4 ? 128 / bytes : 32;
    for (unsigned k = 0; k < 32; k += together)
        count_turn(a.at + k, together, bytes);
    a.there = 0;
}

extern "C" void emulator_copy(void *to, const void *from, unsigned bytes, bool there)
{
    thread &t = m.threads[emulator_thread()];
    const copy c = {to, there ? from : nullptr, bytes, t.groups};
    const uint64_t both = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from);
    m.used = true;
    if (both % bytes)
        emulator_fault("it copies from or to an address that is no multiple of the size");
    emulator_access(to, bytes);
    if (emulator_draw() & 1u)
        do_copy(c);
    else if (t.ncopies == COPIES)
        emulator_fault("it has more copies on the way than the emulator keeps");
    else
        t.copies[t.ncopies++] = c;
}

extern "C" void emulator_commit(void)
{
    m.threads[emulator_thread()].groups++;
}

extern "C" void emulator_wait(unsigned left)
{
    thread &t = m.threads[emulator_thread()];
    unsigned n = 0;
    for (unsigned k = 0; k < t.ncopies; k++)
        if (t.copies[k].group + left < t.groups)
            do_copy(t.copies[k]);
        else
            t.copies[n++] = t.copies[k];
    t.ncopies = n;
}

extern "C" const uint32_t (*emulator_exchange(const emulator_site *site,
                                              const uint32_t *mine))[6]
{
    const unsigned me = emulator_thread(), turn = m.threads[me].exchanges++ % 2;
    m.used = true;
    memcpy(m.words[turn][me], mine, sizeof m.words[turn][me]);
    (void)emulator_warp(site, EMULATOR_SYNC, ~0u, 0, 0, nullptr);
    return m.words[turn] + (me & ~31u);
}

extern "C" void emulator_matrices(const emulator_site *site, uint32_t *to, const void *row,
                                  bool transposed)
{
    uint64_t rows[32];
    unsigned at[32];
    const unsigned lane = emulator_thread() % 32, g = lane / 4, t = lane % 4;
    at[lane] = offset_of(row, 16, "it takes matrices from outside of shared memory");
    if (at[lane] % 16)
        emulator_fault("it takes matrices from an address that is no multiple of 16");
    (void)emulator_warp(site, EMULATOR_GATHER, ~0u, reinterpret_cast<uint64_t>(row), 0, rows);
    for (unsigned k = 0; k < 4; k++) {
        const uint16_t *const *matrix = reinterpret_cast<const uint16_t *const *>(rows) + 8 * k;
        to[k] = transposed ? matrix[2 * t][g] | uint32_t(matrix[2 * t + 1][g]) << 16
                           : matrix[g][2 * t] | uint32_t(matrix[g][2 * t + 1]) << 16;
    }
    for (unsigned k = 0; k < 32 && lane == 0; k++)
        (void)emulator_shared_offset(reinterpret_cast<void *>(rows[k]), 16, &at[k]);
    for (unsigned k = 0; k < 32 && lane == 0; k += 8)
        count_turn(at + k, 8, 16);
}

emulator_banks emulator_count_banks(void)
{
    return m.banks;
}
