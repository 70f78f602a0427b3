/* emulator_inside.h - what the emulator's two files know of each other. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_EMULATOR_INSIDE_H
#define TESTS_CUDA_EMULATOR_INSIDE_H

#include "cuda_emulator.h"

extern "C" {
unsigned emulator_thread(void); /* number in the block of the one that runs */
uint64_t emulator_draw(void);   /* a random number; always 1 while the seed is 0 */
/* Where `bytes` lie in the block's shared memory; false: elsewhere. */
bool emulator_shared_offset(const void *at, unsigned bytes, unsigned *ret_offset);
/* Forgets what threads of the block before had on the way. */
void emulator_async_begin(void);
}

#endif
