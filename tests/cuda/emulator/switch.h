/* switch.h - from one stack to another, in a few nanoseconds; sanitizers are told. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_SWITCH_H
#define TESTS_CUDA_SWITCH_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMULATOR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMULATOR_ASAN 1
#endif
#endif
#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
typedef struct context {
    void *sp;
} context;

/* Saves what a call keeps (System V ABI: rbx, rbp, r12 to r15) and takes the other's. */
extern "C" void emulator_switch(context *from, const context *to);
asm(R"(
    .text
    .balign 16
    .globl emulator_switch
    .hidden emulator_switch
    .type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulator_switch, . - emulator_switch
)");

/* `start` never returns; at its entry the stack is 8 below a multiple of 16. */
static inline void context_make(context *c, unsigned char *stack, size_t bytes, void (*start)())
{
    void **top = reinterpret_cast<void **>(stack + bytes);
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void *>(start);
    for (int k = 3; k <= 8; k++)
        top[-k] = nullptr;
    c->sp = top - 8;
}
#else
#include <ucontext.h>
typedef ucontext_t context;

static inline void emulator_switch(context *from, const context *to)
{
    (void)swapcontext(from, to);
}

static inline void context_make(context *c, unsigned char *stack, size_t bytes, void (*start)())
{
    (void)getcontext(c);
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = bytes;
    c->uc_link = nullptr;
    makecontext(c, start, 0);
}
#endif

#endif
