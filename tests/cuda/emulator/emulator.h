/* emulator.h - running kernels of .cu files on the CPU: one fiber per CUDA thread. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_EMULATOR_H
#define TESTS_CUDA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What CUDA_ENTRY tells of a kernel. */
typedef struct emulator_kernel {
    const char *image; /* what the build calls the file's device code: "kernels/exp" */
    const char *name;
    void (*call)(void *const *args); /* as one thread; args[k] points to argument k */
    const uint32_t *sizes;           /* of the arguments, in bytes */
    uint32_t nargs;
    uint32_t reserved;
    const struct emulator_kernel *next;
} emulator_kernel;

typedef struct emulator_shape {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared; /* bytes of dynamic shared memory */
} emulator_shape;

/* All kernels of this program, in no order. */
const emulator_kernel *emulator_kernels(void);
/* NULL: there is none.  Of image NULL: the first of this name. */
const emulator_kernel *emulator_find(const char *image, const char *name);

/* The order of blocks and threads follows from the seed and changes from run to run.  0: everything in
 * order, always. */
void emulator_seed(uint64_t seed);

/* Runs the whole grid.  0, or -1 and in ret_text one sentence: which kernel, block and thread did what.
 * Not for two threads at once. */
int emulator_run(const emulator_kernel *kernel, const emulator_shape *shape, void *const *args,
                 char *ret_text, size_t text_size);

/* Who makes conditional graphs hears of cudaGraphSetConditional by this; NULL, or what was wrong with it.
 * Without it the call is a fault. */
typedef const char *emulator_condition(unsigned long long handle, unsigned value);
void emulator_on_condition(emulator_condition *hear);

/* Of ldmatrix, copies on the way and what else kernels tell of, since the program began: how often banks of
 * shared memory were asked for by groups of lanes that they serve together, and how often one of them was
 * asked for two words, so that the group took another turn. */
typedef struct emulator_banks {
    uint64_t turns, conflicts;
} emulator_banks;
emulator_banks emulator_count_banks(void);

/* "exp_cuda, block (1, 0, 0), thread (3, 0, 0)" while emulator_run is at work, else "". */
void emulator_where(char *ret_text, size_t text_size);

#ifdef __cplusplus
}
#endif
#endif
