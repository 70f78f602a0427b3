/* isa.h - which instruction set this CPU has, and the variant of a function that suits it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_ISA_H
#define TUTTI_ISA_H

#include "base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Levels of instruction sets, each with all of those before it; on 64-bit ARM each with base alone.  The build
 * compiles the sources of hot loops once per level, each time as a translation unit of its own (tutti_isa_sources of
 * tools/cmake), and one table chooses at run time; what has no variant of a level uses the next lower one that the
 * level has.  Since 1.0. */
#if defined(__x86_64__)
enum {
    TUTTI_ISA_base, /* what the compiler assumes: SSE2 */
    TUTTI_ISA_v2,   /* x86-64-v2: SSE4.2 */
    TUTTI_ISA_v3,   /* x86-64-v3: AVX2, FMA, F16C */
    TUTTI_ISA_v4,   /* x86-64-v4: AVX-512 F, BW, CD, DQ, VL */
    TUTTI_ISA_bf16, /* and AVX512_BF16: vdpbf16ps */
    TUTTI_ISA_amx, /* and AMX-TILE, AMX-BF16: tdpbf16ps, where the kernel permits their state */
#if TUTTI_USE_MINOR >= 2
    TUTTI_ISA_amx_fp16, /* and AMX-FP16: tdpfp16ps; since 1.2 */
#endif
    TUTTI_ISA_LEVELS
};
#if TUTTI_USE_MINOR >= 2
/* since 1.2 */
#define TUTTI_ISA_NAMES                                                                        \
    {                                                                                          \
        "base", "v2", "v3", "v4", "bf16", "amx", "amx_fp16"                                    \
    }
#else
#define TUTTI_ISA_NAMES                                                                        \
    {                                                                                          \
        "base", "v2", "v3", "v4", "bf16", "amx"                                                \
    }
#endif
#elif defined(__aarch64__)
enum {
    TUTTI_ISA_base,   /* NEON */
#if TUTTI_USE_MINOR >= 2
    TUTTI_ISA_sve512, /* ARMv8.2 and SVE, registers of 512 bits now, as of A64FX; since 1.2 */
    TUTTI_ISA_bf16,   /* ARMv8.2 and FEAT_BF16: bfmmla, bfdot; since 1.2 */
#endif
    TUTTI_ISA_LEVELS
};
#if TUTTI_USE_MINOR >= 2
/* since 1.2 */
#define TUTTI_ISA_NAMES                                                                        \
    {                                                                                          \
        "base", "sve512", "bf16"                                                               \
    }
#else
#define TUTTI_ISA_NAMES                                                                        \
    {                                                                                          \
        "base"                                                                                 \
    }
#endif
#else
enum { TUTTI_ISA_base, TUTTI_ISA_LEVELS };
#define TUTTI_ISA_NAMES                                                                        \
    {                                                                                          \
        "base"                                                                                 \
    }
#endif

#if defined(__cplusplus)
#define TUTTI_ISA_CAST(type, x) reinterpret_cast<type>(x)
#else
#define TUTTI_ISA_CAST(type, x) ((type)(x))
#endif

/* The name of a level, or NULL. */
static inline const char *tutti_isa_name(int32_t level)
{
    static const char *const names[TUTTI_ISA_LEVELS] = TUTTI_ISA_NAMES;
    return level >= 0 && level < TUTTI_ISA_LEVELS ? names[level] : NULL;
}

/* The level of a name; -1: there is none on this architecture. */
static inline int32_t tutti_isa_named(const char *name)
{
    int32_t level = TUTTI_ISA_LEVELS - 1;
    while (level >= 0 && strcmp(tutti_isa_name(level), name) != 0)
        level--;
    return level;
}

#if defined(__x86_64__)
typedef struct tutti_isa_cpuid {
    uint32_t a, b, c, d;
} tutti_isa_cpuid;

static inline tutti_isa_cpuid tutti_isa_ask(uint32_t leaf, uint32_t part)
{
    tutti_isa_cpuid r;
    __asm__ volatile("cpuid"
                     : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d)
                     : "0"(leaf), "2"(part));
    return r;
}

/* Registers that the operating system saves: bits 1, 2 of SSE and AVX, 5 to 7 of AVX-512, 17, 18 of AMX. */
static inline uint32_t tutti_isa_saved(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Linux gives AMX's state to processes that ask for it: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
static inline int tutti_isa_permitted(void)
{
#if defined(__linux__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(158L), "D"(0x1023L), "S"(18L)
                     : "rcx", "r11", "memory");
    return result == 0;
#else
    return 0;
#endif
}

static inline int tutti_isa_all(uint32_t bits, uint32_t wanted)
{
    return (bits & wanted) == wanted;
}

/* The best level of this CPU. */
static inline int32_t tutti_isa_cpu(void)
{
    enum {
        V2_1C = 1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23,
        V3_1C = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29,
        V3_7B = 1 << 3 | 1 << 5 | 1 << 8,
        V4_7B = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30,
        AVX_SAVED = 0x6,
        AVX512_SAVED = 0xE6,
        AMX_SAVED = 0x60000,
        AMX_7D = 1 << 22 | 1 << 24,
    };
    const uint32_t most = tutti_isa_ask(0, 0).a;
    const tutti_isa_cpuid one = tutti_isa_ask(1, 0);
    if (!tutti_isa_all(one.c, V2_1C))
        return TUTTI_ISA_base;
    if (most < 7 || !tutti_isa_all(one.c, V3_1C) ||
        !(tutti_isa_ask(0x80000001u, 0).c & 1u << 5))
        return TUTTI_ISA_v2;
    const uint32_t saved = tutti_isa_saved();
    const tutti_isa_cpuid seven = tutti_isa_ask(7, 0);
    if (!tutti_isa_all(seven.b, V3_7B) || !tutti_isa_all(saved, AVX_SAVED))
        return TUTTI_ISA_v2;
    if (!tutti_isa_all(seven.b, V4_7B | 1u << 31) || !tutti_isa_all(saved, AVX512_SAVED))
        return TUTTI_ISA_v3;
    const uint32_t more = seven.a < 1 ? 0 : tutti_isa_ask(7, 1).a;
    if (!(more & 1u << 5))
        return TUTTI_ISA_v4;
    if (!tutti_isa_all(seven.d, AMX_7D) || !tutti_isa_all(saved, AMX_SAVED) ||
        !tutti_isa_permitted())
        return TUTTI_ISA_bf16;
#if TUTTI_USE_MINOR >= 2
    if (more & 1u << 21) /* since 1.2 */
        return TUTTI_ISA_amx_fp16;
#endif
    return TUTTI_ISA_amx;
}
#elif defined(__aarch64__) && defined(__linux__)
#if TUTTI_USE_MINOR >= 2
/* The C library's getauxval without its header, since 1.2. */
TUTTI_C_BEGIN
extern unsigned long tutti_isa_auxv(unsigned long type) __asm__("getauxval");
TUTTI_C_END
#endif

#if TUTTI_USE_MINOR >= 2
/* Does this CPU run code of a level, by what the operating system says of it?  (since 1.2) */
static inline int tutti_isa_has(int32_t level)
{
    enum { HWCAP = 16, HWCAP2 = 26, WITH_SVE = 1 << 22, WITH_BF16 = 1 << 14, BYTES = 64 };
    if (level == TUTTI_ISA_bf16)
        return (tutti_isa_auxv(HWCAP2) & WITH_BF16) != 0;
    if (level == TUTTI_ISA_sve512 && tutti_isa_auxv(HWCAP) & WITH_SVE) {
        uint64_t bytes; /* of a register, for this thread and those that it starts: cntb x0 */
        __asm__ volatile(".inst 0x0420e3e0\n\tmov %0, x0" : "=r"(bytes) : : "x0");
        return bytes == BYTES;
    }
    return level == TUTTI_ISA_base;
}
#endif

/* The best level of this CPU. */
static inline int32_t tutti_isa_cpu(void)
{
    int32_t level = TUTTI_ISA_LEVELS - 1;
#if TUTTI_USE_MINOR >= 2
    while (!tutti_isa_has(level))
        level--; /* since 1.2 */
#endif
    return level;
}
#else
static inline int32_t tutti_isa_cpu(void)
{
    return TUTTI_ISA_base;
}
#endif

#if TUTTI_USE_MINOR >= 2 && !(defined(__aarch64__) && defined(__linux__))
/* Does this CPU run code of a level?  Since 1.2. */
static inline int tutti_isa_has(int32_t level)
{
    static int32_t known = 0; /* the CPU's level and 1 */
    int32_t cpu = __atomic_load_n(&known, __ATOMIC_RELAXED) - 1;
    if (cpu < 0) {
        cpu = tutti_isa_cpu();
        __atomic_store_n(&known, cpu + 1, __ATOMIC_RELAXED);
    }
    return level >= 0 && level <= cpu;
}
#endif

/* The level in use: that of the CPU, or the one that the environment's TUTTI_ISA names where that is lower.  A
 * name that means nothing here is the host's to refuse; this function passes over it, and over the name of a level of
 * 64-bit ARM that this CPU lacks.  Any thread. */
static inline int32_t tutti_isa(void)
{
    static int32_t known = 0; /* the level and 1 */
    int32_t level = __atomic_load_n(&known, __ATOMIC_RELAXED) - 1;
    if (level < 0) {
        const char *text = getenv("TUTTI_ISA");
        const int32_t wanted = text ? tutti_isa_named(text) : -1;
        level = tutti_isa_cpu();
#if TUTTI_USE_MINOR >= 2
        level = tutti_isa_has(wanted) && wanted < level ? wanted : level; /* since 1.2 */
#else
        level = wanted >= 0 && wanted < level ? wanted : level;
#endif
        __atomic_store_n(&known, level + 1, __ATOMIC_RELAXED);
    }
    return level;
}

/* The variants of one function or constant by level; NULL where there is none.  base is always there.  The
 * build generates <name>_isa for every DISPATCH name of tutti_isa_sources. */
typedef struct tutti_isa_table {
    const void *at[TUTTI_ISA_LEVELS];
} tutti_isa_table;

/* The best variant among those of `level` and of the levels that it has. */
static inline const void *tutti_isa_at(const tutti_isa_table *t, int32_t level)
{
    int32_t k = level < TUTTI_ISA_LEVELS ? level : TUTTI_ISA_LEVELS - 1;
#if defined(__aarch64__)
    k = t->at[k] ? k : TUTTI_ISA_base;
#endif
    while (k > 0 && !t->at[k])
        k--;
    return t->at[k];
}

/* After `void f(...);`: TUTTI_ISA_VARIANTS(f) declares the table, and TUTTI_ISA_PICK(f) is a pointer to the
 * variant for this CPU, of the type of &f.  Also for constants. */
#define TUTTI_ISA_VARIANTS(name) extern const tutti_isa_table name##_isa
#define TUTTI_ISA_PICK(name)                                                                   \
    TUTTI_ISA_CAST(__typeof__(&name), tutti_isa_at(&name##_isa, tutti_isa()))

#endif
