/* emulator.cc - blocks one after another; in a block, threads as fibers that take turns where they wait. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator_inside.h"
#include "switch.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{
enum { THREADS = 1024, STACK = 256 << 10, PAGE = 4096 };
enum { ARRAYS = 32, ARRAY_GAP = 16 };
enum {
    STATIC_SHARED_MOST = 48 << 10,
    STATIC_SHARED = 52 << 10,
    DYNAMIC_SHARED = 227 << 10,
    GAP = 64,
    POISON = 0xFF
};
enum state : uint8_t { READY, AT_BARRIER, IN_WARP, LEFT };

struct fiber {
    context where;
    uint3 index;
    state is;
    bool begun;
    int stack;       /* its number, once begun */
    unsigned shared; /* how much of the static shared memory it has named */
    const emulator_site *site;
    void *fake_stack; /* of the address sanitizer */
};

/* What a lane brought to a call of its warp, and what it takes away. */
struct lane_call {
    int what;
    unsigned mask, from;
    uint64_t value, result;
    unsigned there;      /* lanes that took part, and */
    uint64_t values[32]; /* what they brought, for GATHER */
};

struct machine {
    unsigned char *stacks;
    int free_stacks[THREADS], nfree;
    fiber fibers[THREADS];
    lane_call lanes[THREADS];
    unsigned there[THREADS / 32], calling[THREADS / 32]; /* lanes not gone; in a warp's call */
    int ready[THREADS], nready;
    int count, left, waiting; /* threads of the block; gone; at its barrier */
    unsigned generation;      /* barriers so far; votes of two may be in use */
    emulator_votes votes[2];
    int current;
    context scheduler;
    const void *scheduler_stack;
    size_t scheduler_bytes;
    unsigned char *shared; /* static, GAP, dynamic, GAP */
    unsigned shared_used, dynamic;
    unsigned ends[ARRAYS], nends; /* of the static arrays; behind each is a gap */
    uint64_t seed, random;
    const emulator_kernel *kernel;
    void *const *args;
    bool failed;
    char text[512];
};
machine m;
const emulator_kernel *first_kernel;

uint64_t draw() /* xorshift64* */
{
    m.random ^= m.random >> 12;
    m.random ^= m.random << 25;
    m.random ^= m.random >> 27;
    return m.random * 0x2545F4914F6CDD1Du >> 16;
}

/* The first fault is kept; whoever found it goes on to the scheduler, or is the scheduler. */
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...)
{
    if (m.failed)
        return;
    m.failed = true;
    char what[384];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(what, sizeof what, format, list);
    va_end(list);
    (void)snprintf(m.text, sizeof m.text, "%s, block (%u, %u, %u): %s", m.kernel->name,
                   blockIdx.x, blockIdx.y, blockIdx.z, what);
}

struct name_of { /* "thread (3, 0, 0)" */
    char text[48];
    explicit name_of(int k)
    {
        const uint3 i = m.fibers[k].index;
        (void)snprintf(text, sizeof text, "thread (%u, %u, %u)", i.x, i.y, i.z);
    }
};

struct place_of { /* "waits in __syncthreads at exp.cu:12", "has left the kernel" */
    char text[128];
    explicit place_of(int k)
    {
        const fiber &f = m.fibers[k];
        const char *file = f.site ? strrchr(f.site->file, '/') : nullptr;
        if (f.is == LEFT)
            (void)snprintf(text, sizeof text, "has left the kernel");
        else
            (void)snprintf(text, sizeof text, "waits in %s at %s:%d", f.site->call,
                           file ? file + 1 : f.site->file, f.site->line);
    }
};

/* ---- switching ---- */

unsigned char *stack_of(int k)
{
    return m.stacks + static_cast<size_t>(k) * STACK + PAGE;
}

void to_scheduler(bool for_good)
{
    fiber &f = m.fibers[m.current];
#ifdef EMULATOR_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &f.fake_stack, m.scheduler_stack,
                                   m.scheduler_bytes);
#endif
    emulator_switch(&f.where, &m.scheduler);
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(f.fake_stack, nullptr, nullptr);
#endif
    (void)for_good;
}

void try_warp(int k);

void leave()
{
    fiber &f = m.fibers[m.current];
    f.is = LEFT;
    m.left++;
    m.there[m.current / 32] &= ~(1u << m.current % 32);
    const int warp = m.current & ~31;
    if (m.waiting) {
        int other = 0;
        while (m.fibers[other].is != AT_BARRIER)
            other++;
        fail("%s leaves the kernel while %s %s", name_of(m.current).text, name_of(other).text,
             place_of(other).text);
    }
    for (int k = warp; k < warp + 32; k++)
        if (m.calling[warp / 32] >> (k - warp) & 1u)
            try_warp(k);
}

void start()
{
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &m.scheduler_stack, &m.scheduler_bytes);
#endif
    m.kernel->call(m.args);
    leave();
    to_scheduler(true);
    abort(); /* nobody comes back to one that left */
}

void resume(int k)
{
    fiber &f = m.fibers[k];
    m.current = k;
    if (!f.begun) {
        f.begun = true;
        f.stack = m.free_stacks[--m.nfree];
        context_make(&f.where, stack_of(f.stack), STACK - PAGE, start);
    }
    threadIdx = f.index;
#ifdef EMULATOR_ASAN
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_of(f.stack), STACK - PAGE);
#endif
    emulator_switch(&m.scheduler, &f.where);
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    if (f.is == LEFT)
        m.free_stacks[m.nfree++] = f.stack;
}

void make_ready(int k)
{
    m.fibers[k].is = READY;
    m.ready[m.nready++] = k;
}

/* ---- calls of a whole warp ---- */

bool joined(int k, const fiber &f, const lane_call &c)
{
    return m.fibers[k].is == IN_WARP && m.fibers[k].site == f.site && m.lanes[k].mask == c.mask;
}

void finish_lane(int warp, int k, unsigned there, uint64_t ballot)
{
    lane_call &c = m.lanes[k];
    c.there = there;
    c.result = c.what == EMULATOR_SHUFFLE ? m.lanes[warp + int(c.from)].value : ballot;
    if (c.what == EMULATOR_SHUFFLE && !(there >> c.from & 1u))
        fail("%s asks in %s for lane %u, which takes no part", name_of(k).text,
             m.fibers[k].site->call, c.from);
    for (unsigned j = 0; j < 32 && c.what == EMULATOR_GATHER; j++)
        c.values[j] = there >> j & 1u ? m.lanes[warp + int(j)].value : 0;
}

/* If all threads that k waits for are there, lets them go on. */
void try_warp(int k)
{
    const int warp = k & ~31;
    const fiber &f = m.fibers[k];
    const int what = m.lanes[k].what;
    const unsigned there = m.lanes[k].mask & m.there[warp / 32];
    uint64_t ballot = 0;
    if (there & ~m.calling[warp / 32])
        return;
    for (int j = 0; j < 32; j++) {
        if (!(there >> j & 1u))
            continue;
        if (!joined(warp + j, f, m.lanes[k]))
            return;
        ballot |= (m.lanes[warp + j].value & 1u) << j;
    }
    m.calling[warp / 32] &= ~there;
    for (int j = 0; j < 32; j++)
        if (there >> j & 1u)
            finish_lane(warp, warp + j, there, what == EMULATOR_GATHER ? there : ballot);
    for (int j = 0; j < 32; j++)
        if (there >> j & 1u)
            make_ready(warp + j);
}

/* ---- one block ---- */

void explain_standstill()
{
    for (int k = 0; k < m.count; k++) {
        const int warp = k & ~31;
        if (m.fibers[k].is != IN_WARP)
            continue;
        for (int j = warp; j < warp + 32 && j < m.count; j++)
            if (m.lanes[k].mask >> (j - warp) & 1u && m.fibers[j].is != LEFT &&
                !joined(j, m.fibers[k], m.lanes[k])) {
                fail("%s %s for %s, which %s", name_of(k).text, place_of(k).text,
                     name_of(j).text, place_of(j).text);
                return;
            }
    }
    fail("its threads wait for each other");
}

bool is_poison(unsigned at, unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++)
        if (m.shared[at + k] != POISON)
            return false;
    return true;
}

bool shared_intact()
{
    bool intact =
        is_poison(STATIC_SHARED, GAP) && is_poison(STATIC_SHARED + GAP + m.dynamic, GAP);
    for (unsigned k = 0; k < m.nends; k++)
        intact = intact && is_poison(m.ends[k], ARRAY_GAP);
    return intact;
}

void run_block()
{
    m.nfree = m.nready = m.left = m.waiting = 0;
    m.generation = 0;
    emulator_async_begin();
    for (int k = THREADS; k--;)
        m.free_stacks[m.nfree++] = k;
    memset(m.shared, POISON, m.shared_used);
    memset(m.shared + STATIC_SHARED + GAP, POISON, m.dynamic);
    for (int w = 0; w * 32 < m.count; w++) {
        m.there[w] = m.count - w * 32 >= 32 ? ~0u : (1u << (m.count - w * 32)) - 1u;
        m.calling[w] = 0;
    }
    for (unsigned k = 0; k < unsigned(m.count); k++) {
        fiber &f = m.fibers[k];
        f.begun = false;
        f.shared = 0;
        f.site = nullptr;
        f.index = {k % blockDim.x, k / blockDim.x % blockDim.y, k / (blockDim.x * blockDim.y)};
    }
    for (int k = m.count; k--;)
        make_ready(k);
    while (m.left < m.count && !m.failed) {
        if (m.nready == 0) {
            explain_standstill();
            break;
        }
        const int at = m.seed ? int(draw() % unsigned(m.nready)) : m.nready - 1;
        const int next = m.ready[at];
        m.ready[at] = m.ready[--m.nready];
        resume(next);
    }
    if (!m.failed && !shared_intact())
        fail("it wrote past the end of its shared memory");
#ifdef EMULATOR_ASAN
    if (m.failed)
        __asan_unpoison_memory_region(m.stacks, static_cast<size_t>(THREADS) * STACK);
#endif
}

/* Stacks end in a page that is not there. */
bool prepare()
{
    if (m.stacks)
        return true;
    void *stacks = mmap(nullptr, static_cast<size_t>(THREADS) * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m.shared = static_cast<unsigned char *>(
        aligned_alloc(128, STATIC_SHARED + DYNAMIC_SHARED + 2 * GAP));
    if (stacks == MAP_FAILED || !m.shared)
        return false;
    m.stacks = static_cast<unsigned char *>(stacks);
    for (int k = 0; k < THREADS; k++)
        (void)mprotect(m.stacks + static_cast<size_t>(k) * STACK, PAGE, PROT_NONE);
    return true;
}

bool shape_is_legal(const emulator_shape &s)
{
    const uint64_t threads = uint64_t(s.block[0]) * s.block[1] * s.block[2];
    const char *what = nullptr;
    if (threads == 0 || threads > THREADS || s.block[2] > 64)
        what = "a block has 1 to 1024 threads, at most 64 of them along z";
    else if (!s.grid[0] || !s.grid[1] || !s.grid[2] || s.grid[0] > 0x7FFFFFFFu ||
             s.grid[1] > 65535 || s.grid[2] > 65535)
        what = "a grid has 1 to 2147483647 blocks along x, 1 to 65535 along y and z";
    else if (s.shared > DYNAMIC_SHARED)
        what = "a block has at most 227 KiB of shared memory";
    else
        return true;
    m.failed = true;
    (void)snprintf(m.text, sizeof m.text, "%s: %s", m.kernel->name, what);
    return false;
}

uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

/* All blocks, in an order that a step coprime to their number makes. */
void run_grid(const emulator_shape &s)
{
    const uint64_t n = uint64_t(s.grid[0]) * s.grid[1] * s.grid[2];
    uint64_t step = 1, at = 0;
    if (m.seed) {
        do {
            step = 1 + draw() % n;
        } while (greatest_common_divisor(step, n) != 1);
        at = draw() % n;
    }
    for (uint64_t k = 0; k < n && !m.failed; k++, at = (at + step) % n) {
        blockIdx = {unsigned(at % s.grid[0]), unsigned(at / s.grid[0] % s.grid[1]),
                    unsigned(at / s.grid[0] / s.grid[1])};
        run_block();
    }
}
} // namespace

/* ---- what kernels call ---- */

extern "C" emulator_votes emulator_barrier(const emulator_site *site, int vote)
{
    fiber &f = m.fibers[m.current];
    const unsigned generation = m.generation;
    emulator_votes &v = m.votes[generation & 1];
    f.site = site;
    f.is = AT_BARRIER;
    if (m.waiting == 0)
        v = {0, 1, 0};
    for (int k = 0; k < m.count && (m.left || m.waiting); k++) {
        const state is = m.fibers[k].is;
        if (k == m.current || (is != LEFT && is != AT_BARRIER))
            continue;
        if (is == LEFT || m.fibers[k].site != site)
            fail("%s %s, but %s %s", name_of(m.current).text, place_of(m.current).text,
                 name_of(k).text, place_of(k).text);
        break;
    }
    v.any |= unsigned(vote);
    v.all &= unsigned(vote);
    v.count += unsigned(vote);
    if (++m.waiting == m.count) {
        m.waiting = 0;
        m.generation++;
        for (int k = 0; k < m.count; k++)
            make_ready(k);
    }
    to_scheduler(false);
    return m.votes[generation & 1];
}

extern "C" uint64_t emulator_warp(const emulator_site *site, int what, unsigned mask,
                                  uint64_t value, unsigned from, uint64_t *ret_values)
{
    const int me = m.current;
    fiber &f = m.fibers[me];
    lane_call &c = m.lanes[me];
    f.site = site;
    f.is = IN_WARP;
    m.calling[me / 32] |= 1u << (me & 31);
    c.what = what;
    c.mask = mask;
    c.from = from & 31u;
    c.value = value;
    if (!(mask >> (me & 31) & 1u))
        fail("%s calls %s with the mask 0x%08x, which leaves it out", name_of(me).text,
             site->call, mask);
    else
        try_warp(me);
    to_scheduler(false);
    if (ret_values)
        memcpy(ret_values, c.values, sizeof c.values);
    return c.result;
}

extern "C" unsigned emulator_thread(void)
{
    return unsigned(m.current);
}

extern "C" uint64_t emulator_draw(void)
{
    return m.seed ? draw() : 1;
}

extern "C" bool emulator_shared_offset(const void *at, unsigned bytes, unsigned *ret_offset)
{
    const unsigned char *p = static_cast<const unsigned char *>(at);
    const size_t end = STATIC_SHARED + GAP + m.dynamic;
    if (p < m.shared || p + bytes > m.shared + end)
        return false;
    *ret_offset = unsigned(p - m.shared);
    return true;
}

extern "C" void emulator_device_store(const void *to, unsigned bytes)
{
    unsigned offset;
    if (emulator_shared_offset(to, bytes, &offset))
        emulator_fault("it stores to device memory at an address of shared memory");
}

extern "C" void *emulator_shared(size_t bytes, size_t align)
{
    fiber &f = m.fibers[m.current];
    const size_t at = (f.shared + align - 1) / align * align;
    if (at + bytes > STATIC_SHARED_MOST) {
        fail("it wants more than 48 KiB of static shared memory");
        to_scheduler(true);
    }
    f.shared = unsigned(at + bytes + ARRAY_GAP);
    if (f.shared > m.shared_used) {
        m.shared_used = f.shared;
        if (m.nends < ARRAYS)
            m.ends[m.nends++] = unsigned(at + bytes);
    }
    return m.shared + at;
}

extern "C" void *emulator_dynamic_shared(void)
{
    return m.shared + STATIC_SHARED + GAP;
}

namespace
{
emulator_condition *hear_condition;
}

extern "C" void emulator_on_condition(emulator_condition *hear)
{
    hear_condition = hear;
}

extern "C" void emulator_set_condition(unsigned long long handle, unsigned value)
{
    const char *wrong = hear_condition ? hear_condition(handle, value)
                                       : "it sets a condition outside of a graph";
    if (wrong)
        emulator_fault(wrong);
}

extern "C" void emulator_fault(const char *what)
{
    fail("%s: %s", name_of(m.current).text, what);
    to_scheduler(true);
    abort();
}

extern "C" void emulator_add(emulator_kernel *kernel)
{
    kernel->next = first_kernel;
    first_kernel = kernel;
}

/* ---- what the host calls ---- */

const emulator_kernel *emulator_kernels(void)
{
    return first_kernel;
}

const emulator_kernel *emulator_find(const char *image, const char *name)
{
    const emulator_kernel *k = first_kernel;
    while (k && (strcmp(k->name, name) != 0 || (image && strcmp(k->image, image) != 0)))
        k = k->next;
    return k;
}

void emulator_seed(uint64_t seed)
{
    m.seed = m.random = seed;
}

int emulator_run(const emulator_kernel *kernel, const emulator_shape *shape, void *const *args,
                 char *ret_text, size_t text_size)
{
    m.kernel = kernel;
    m.args = args;
    m.failed = false;
    *m.text = 0;
    if (!prepare()) {
        m.failed = true;
        (void)snprintf(m.text, sizeof m.text, "no memory for the emulator");
    } else if (shape_is_legal(*shape)) {
        gridDim = {shape->grid[0], shape->grid[1], shape->grid[2]};
        blockDim = {shape->block[0], shape->block[1], shape->block[2]};
        m.count = int(blockDim.x * blockDim.y * blockDim.z);
        m.dynamic = shape->shared;
        m.shared_used = m.nends = 0;
        memset(m.shared, POISON, STATIC_SHARED + GAP + m.dynamic + GAP);
        run_grid(*shape);
    }
    m.kernel = nullptr;
    if (m.failed)
        (void)snprintf(ret_text, text_size, "%s", m.text);
    return m.failed ? -1 : 0;
}

void emulator_where(char *ret_text, size_t text_size)
{
    if (m.kernel)
        (void)snprintf(ret_text, text_size, "%s, block (%u, %u, %u), %s", m.kernel->name,
                       blockIdx.x, blockIdx.y, blockIdx.z, name_of(m.current).text);
    else if (text_size)
        *ret_text = 0;
}
