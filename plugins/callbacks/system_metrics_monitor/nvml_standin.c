/* nvml_standin.c - stands in for libcuda.so.1 and libnvidia-ml.so.1 in the test: a GPU at one address with numbers that
 * the environment may change. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, NO_CONTEXT = 201 };
SHOWN extern int standin_open_times;
int standin_open_times;

static int is_set(const char *name)
{
    return getenv(name) != NULL;
}

SHOWN int cuCtxGetDevice(int *ret);
int cuCtxGetDevice(int *ret)
{
    *ret = 1;
    return is_set("STANDIN_NO_CONTEXT") ? NO_CONTEXT : 0;
}

SHOWN int cuDeviceGetPCIBusId(char *ret, int size, int device);
int cuDeviceGetPCIBusId(char *ret, int size, int device)
{
    (void)snprintf(ret, (size_t)size, "0000:3%d:00.0", device);
    return 0;
}

SHOWN int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    standin_open_times++;
    return 0;
}

SHOWN int nvmlShutdown(void);
int nvmlShutdown(void)
{
    standin_open_times--;
    return 0;
}

SHOWN int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **ret)
{
    *ret = &standin_open_times;
    return strcmp(address, "0000:31:00.0") == 0 && standin_open_times == 1 ? 0 : NOT_FOUND;
}

SHOWN int nvmlDeviceGetUtilizationRates(void *device, unsigned *ret);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *ret)
{
    ret[0] = 83;
    ret[1] = 41;
    return device != &standin_open_times || is_set("STANDIN_PART") ? NOT_SUPPORTED : 0;
}

SHOWN int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *ret)
{
    *ret = 64;
    return device != &standin_open_times || sensor != 0;
}

SHOWN int nvmlDeviceGetPowerUsage(void *device, unsigned *ret);
int nvmlDeviceGetPowerUsage(void *device, unsigned *ret)
{
    *ret = 312500;
    return device != &standin_open_times;
}
