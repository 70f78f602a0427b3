/* libcuda.c - a driver without a GPU: loading of code succeeds, so that cuDNN can finish its plans. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The driver's names, as far as cuDNN's planning looks for them; what is not needed to plan refuses. */

enum { SUCCESS = 0, STUB_LIBRARY = 34 };

static uint64_t object[64]; /* what every handle points to */

static int refuse(void)
{
    return STUB_LIBRARY;
}

static int init(unsigned flags)
{
    (void)flags;
    return SUCCESS;
}

static int driver_version(int *ret)
{
    *ret = 13000;
    return SUCCESS;
}

static int device_count(int *ret)
{
    *ret = 1;
    return SUCCESS;
}

static int device_get(int *ret, int ordinal)
{
    (void)ordinal;
    *ret = 0;
    return SUCCESS;
}

static int context_device(int *ret)
{
    *ret = 0;
    return SUCCESS;
}

static int make_first(void **ret)
{
    *ret = object;
    return SUCCESS;
}

static int retain(void **ret, int device)
{
    (void)device;
    return make_first(ret);
}

static int text_of(int error, const char **ret)
{
    (void)error;
    *ret = "not possible without a GPU";
    return SUCCESS;
}

static int device_name(char *ret, int size, int device)
{
    static const char name[] = "NVIDIA H100 80GB HBM3";
    (void)device;
    for (size_t k = 0; k < (size_t)size; k++)
        ret[k] = k < sizeof name ? name[k] : '\0';
    return SUCCESS;
}

static int device_memory(size_t *ret, int device)
{
    (void)device;
    *ret = (size_t)85520809984;
    return SUCCESS;
}

static int device_uuid(void *ret, int device)
{
    (void)device;
    memset(ret, 0, 16);
    return SUCCESS;
}

/* CUdevice_attribute and an H100's value. */
static int device_attribute(int *ret, int attribute, int device)
{
    static const int values[][2] = {{1, 1024}, {8, 49152},     {10, 32},    {12, 65536},
                                    {16, 132}, {38, 52428800}, {39, 2048},  {75, 9},
                                    {76, 0},   {81, 233472},   {82, 65536}, {97, 232448}};
    (void)device;
    *ret = 1;
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
        if (values[k][0] == attribute)
            *ret = values[k][1];
    return SUCCESS;
}

static int function_attribute(int *ret, int attribute, void *function)
{
    (void)attribute, (void)function;
    *ret = 0;
    return SUCCESS;
}

static int occupancy(int *ret, void *function, int block, size_t shared)
{
    (void)function, (void)block, (void)shared;
    *ret = 2;
    return SUCCESS;
}

/* X(the driver's name, ours): what is asked for by name, and what cuDNN looks up in the library. */
#define FUNCTIONS(X)                                                                           \
    X(cuInit, init)                                                                            \
    X(cuDriverGetVersion, driver_version)                                                      \
    X(cuDeviceGetCount, device_count)                                                          \
    X(cuDeviceGet, device_get)                                                                 \
    X(cuDeviceGetName, device_name)                                                            \
    X(cuDeviceTotalMem, device_memory)                                                         \
    X(cuDeviceGetUuid, device_uuid)                                                            \
    X(cuDeviceGetAttribute, device_attribute)                                                  \
    X(cuDevicePrimaryCtxRetain, retain)                                                        \
    X(cuCtxGetDevice, context_device)                                                          \
    X(cuCtxGetCurrent, make_first)                                                             \
    X(cuGetErrorString, text_of)                                                               \
    X(cuGetErrorName, text_of)                                                                 \
    X(cuLibraryLoadData, make_first)                                                           \
    X(cuLibraryGetKernel, make_first)                                                          \
    X(cuModuleLoadData, make_first)                                                            \
    X(cuModuleLoadDataEx, make_first)                                                          \
    X(cuModuleGetFunction, make_first)                                                         \
    X(cuKernelGetFunction, make_first)                                                         \
    X(cuFuncGetAttribute, function_attribute)                                                  \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancy)                                  \
    X(cuGetProcAddress, find_v1)                                                               \
    X(cuGetProcAddress_v2, find)                                                               \
    X(cuCtxGetLimit, refuse)                                                                   \
    X(cuCtxPopCurrent, refuse)                                                                 \
    X(cuCtxPushCurrent, refuse)                                                                \
    X(cuKernelGetAttribute, refuse)                                                            \
    X(cuKernelSetAttribute, refuse)                                                            \
    X(cuLaunchCooperativeKernel, refuse)                                                       \
    X(cuLaunchKernel, refuse)                                                                  \
    X(cuLaunchKernelEx, refuse)                                                                \
    X(cuLibraryLoadFromFile, refuse)                                                           \
    X(cuLibraryUnload, refuse)                                                                 \
    X(cuLinkAddData, refuse)                                                                   \
    X(cuLinkComplete, refuse)                                                                  \
    X(cuLinkCreate, refuse)                                                                    \
    X(cuLinkDestroy, refuse)                                                                   \
    X(cuOccupancyMaxPotentialClusterSize, refuse)                                              \
    X(cuTensorMapEncodeTiled, refuse)                                                          \
    X(cuStreamSynchronize, refuse)                                                             \
    X(cuModuleUnload, refuse)                                                                  \
    X(cuModuleLoadFatBinary, refuse)                                                           \
    X(cuModuleGetGlobal_v2, refuse)                                                            \
    X(cuMemcpyDtoH_v2, refuse)                                                                 \
    X(cuLinkCreate_v2, refuse)                                                                 \
    X(cuLinkAddFile_v2, refuse)                                                                \
    X(cuLinkAddData_v2, refuse)                                                                \
    X(cuFuncSetAttribute, refuse)                                                              \
    X(cuDevicePrimaryCtxReset, refuse)                                                         \
    X(cuDevicePrimaryCtxRelease, refuse)                                                       \
    X(cuGetExportTable, refuse)                                                                \
    X(cuStreamGetCtx, refuse)

static int find(const char *name, void **ret, int version, uint64_t flags, int *ret_found);
static int find_v1(const char *name, void **ret, int version, uint64_t flags);

#define NAMED(name, function)                                                                  \
    extern __typeof__(function) name __attribute__((alias(#function), visibility("default")));
FUNCTIONS(NAMED)
#undef NAMED

static int find(const char *name, void **ret, int version, uint64_t flags, int *ret_found)
{
    static const struct {
        const char *name;
        void (*function)(void); /* of any signature, which the caller knows */
    } functions[] = {
#define ENTRY(name, function) {#name, (void (*)(void))(function)},
        FUNCTIONS(ENTRY)
#undef ENTRY
    };
    void (*found)(void) = (void (*)(void))refuse;
    (void)version, (void)flags;
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (strcmp(functions[k].name, name) == 0)
            found = functions[k].function;
    memcpy(ret, &found, sizeof found);
    if (ret_found)
        *ret_found = 0; /* CU_GET_PROC_ADDRESS_SUCCESS */
    return SUCCESS;
}

static int find_v1(const char *name, void **ret, int version, uint64_t flags)
{
    return find(name, ret, version, flags, NULL);
}
