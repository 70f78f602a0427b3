/* emulator_calls.h - what CUDA's language calls of the emulator: barriers, shuffles, copies, shared memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_EMULATOR_CALLS_H
#define TESTS_CUDA_EMULATOR_CALLS_H

#include "cuda_types.h"
#include "emulator.h"

/* Programs that are linked with the emulator have these, and libraries that are loaded beside a libcudart that is
 * made of it. */
#pragma GCC visibility push(default)

/* Of the thread that runs; set at each switch. */
extern "C" {
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
}
constexpr int warpSize = 32;

/* The runtime's side (emulator.cc).  A site is where in the text a thread waits. */
extern "C" {
enum { EMULATOR_SYNC, EMULATOR_SHUFFLE, EMULATOR_BALLOT, EMULATOR_GATHER };
struct emulator_site {
    const char *file;
    int line;
    const char *call;
};
struct emulator_votes {
    unsigned any, all, count;
};
emulator_votes emulator_barrier(const emulator_site *site, int vote);
/* `from` is the lane that is asked (SHUFFLE).  Gives that lane's value, or the ballot. */
uint64_t emulator_warp(const emulator_site *site, int what, unsigned mask, uint64_t value,
                       unsigned from, uint64_t *ret_values);
/* What all lanes of the warp brought, six words each; good until the lane's next but one. */
const uint32_t (*emulator_exchange(const emulator_site *site, const uint32_t *mine))[6];
/* ldmatrix.x4, of 16 bits. */
void emulator_matrices(const emulator_site *site, uint32_t *to, const void *row,
                       bool transposed);
/* cp.async: done at once, or when it is waited for. */
void emulator_copy(void *to, const void *from, unsigned bytes, bool there);
void emulator_commit(void);
void emulator_wait(unsigned left);
/* An ordinary access to shared memory: its banks are looked at. */
void emulator_access(const void *at, unsigned bytes);
/* A store that the hardware makes to device memory, whatever the address: one in shared memory is a fault. */
void emulator_device_store(const void *to, unsigned bytes);
void *emulator_shared(size_t bytes, size_t align);
void *emulator_dynamic_shared(void);
[[noreturn]] void emulator_fault(const char *what);
void emulator_add(emulator_kernel *kernel);
void emulator_set_condition(unsigned long long handle, unsigned value);
}
#pragma GCC visibility pop

#define EMULATOR_SITE(call_)                                                                   \
    ([]() -> const emulator_site * {                                                           \
        static constexpr emulator_site site = {__FILE__, __LINE__, call_};                     \
        return &site;                                                                          \
    }())

#endif
