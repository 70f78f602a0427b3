/* errors.c - one call at a time; the last error and the one that stays; what leaked in the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread unsigned last;
static unsigned bad;
static char bad_text[512];

unsigned enter(void)
{
    (void)pthread_mutex_lock(&lock);
    return bad;
}

unsigned leave(unsigned code)
{
    if (code == OK && bad)
        code = bad;
    if (code)
        last = code;
    (void)pthread_mutex_unlock(&lock);
    return code;
}

void go_bad(unsigned code, const char *sentence)
{
    if (bad)
        return;
    bad = code;
    (void)snprintf(bad_text, sizeof bad_text, "%s", sentence);
    trace("error %u: %s", code, sentence);
}

bool is_bad(void)
{
    return bad != OK;
}

static const struct error_name {
    unsigned code;
    const char *name;
    const char *text;
} names[] = {
    {OK, "cudaSuccess", "no error"},
    {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {MEMORY_ALLOCATION, "cudaErrorMemoryAllocation", "out of memory"},
    {INVALID_CONFIGURATION, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {INVALID_MEMCPY_DIRECTION, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {INSUFFICIENT_DRIVER, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {NEWER_DRIVER, "cudaErrorCallRequiresNewerDriver",
     "API call is not supported in the installed CUDA driver"},
    {NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {NO_KERNEL_IMAGE, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {INVALID_RESOURCE_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {ILLEGAL_STATE, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {SYMBOL_NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found"},
    {NOT_READY, "cudaErrorNotReady", "device not ready"},
    {ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {MISALIGNED_ADDRESS, "cudaErrorMisalignedAddress", "misaligned address"},
    {LAUNCH_FAILURE, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
    {CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {CAPTURE_UNMATCHED, "cudaErrorStreamCaptureUnmatched",
     "capture was not initiated in this stream"},
    {CAPTURE_UNJOINED, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {CAPTURED_EVENT, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {CAPTURE_WRONG_THREAD, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
};

static const struct error_name *find(unsigned code)
{
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k].code == code)
            return &names[k];
    return NULL;
}

EXPORT const char *cudaGetErrorName(unsigned code)
{
    const struct error_name *n = find(code);
    return n ? n->name : "unrecognized error code";
}

/* Of the error that stays: NVIDIA's words, and what the emulator found. */
EXPORT const char *cudaGetErrorString(unsigned code)
{
    static char both[640];
    const struct error_name *n = find(code);
    const char *text = n ? n->text : "unrecognized error code";
    if (code != bad || !code || !*bad_text)
        return text;
    (void)snprintf(both, sizeof both, "%s (%s)", text, bad_text);
    return both;
}

EXPORT unsigned cudaGetLastError(void)
{
    const unsigned code = bad ? bad : last;
    last = OK;
    return code;
}

EXPORT unsigned cudaPeekAtLastError(void)
{
    return bad ? bad : last;
}

/* What the process never gave back; a real runtime is silent about it. */
__attribute__((destructor)) static void tell_leaks(void)
{
    uint64_t bytes = 0, events = 0;
    const uint64_t blocks = memory_leaks(&bytes), streams = queue_leaks(&events);
    const uint64_t graphs = graph_leaks(), libraries = code_leaks();
    if (!(blocks + streams + events + graphs + libraries))
        return;
    trace("leaked: %llu blocks of memory (%llu bytes), %llu streams, %llu events, %llu graphs, "
          "%llu libraries",
          (unsigned long long)blocks, (unsigned long long)bytes, (unsigned long long)streams,
          (unsigned long long)events, (unsigned long long)graphs,
          (unsigned long long)libraries);
    if (!standin_settings()->leaks)
        return;
    (void)fprintf(stderr,
                  "cuda stand-in: leaked %llu blocks of memory (%llu bytes), %llu streams, "
                  "%llu events, %llu graphs, %llu libraries\n",
                  (unsigned long long)blocks, (unsigned long long)bytes,
                  (unsigned long long)streams, (unsigned long long)events,
                  (unsigned long long)graphs, (unsigned long long)libraries);
    _exit(97);
}
