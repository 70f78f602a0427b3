/* gpu.c - the GPU by its address on the bus, which CUDA's driver tells and NVML takes, whatever
 * CUDA_VISIBLE_DEVICES leaves out or reorders. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gpu_names[GPU_NUMBERS] = {"gpu_percentage", "memory_percentage",
                                            "gpu_temperature_C", "gpu_power_usage_W"};

/* From nvml.h and cuda.h, whose functions return 0 for success. */
enum { TEMPERATURE_OF_GPU = 0, ADDRESS_SIZE = 32 };
typedef struct utilization {
    unsigned gpu;
    unsigned memory;
} utilization;

struct gpu {
    void *library; /* NVML, initialised */
    void *device;
    int (*shut_down)(void);
    int (*utilization)(void *device, utilization *ret);
    int (*temperature)(void *device, int sensor, unsigned *ret_celsius);
    int (*power)(void *device, unsigned *ret_milliwatts);
};

/* A function's address is data in dlsym, code in C. */
static tutti_status gpu_find(void *library, const char *name, void *ret_function,
                             tutti_error *err)
{
    void *found = dlsym(library, name);
    if (!found)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "the driver's library has no %s", name);
    memcpy(ret_function, &found, sizeof found);
    return TUTTI_OK;
}

/* Such as "0000:3b:00.0".  The driver is loaded already where there is a context. */
static tutti_status find_address(char *ret_address, tutti_error *err)
{
    int (*get_device)(int *) = NULL, (*get_address)(char *, int, int) = NULL, device = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "libcuda.so.1 is not in use");
    tutti_status s = gpu_find(driver, "cuCtxGetDevice", &get_device, err);
    if (!s)
        s = gpu_find(driver, "cuDeviceGetPCIBusId", &get_address, err);
    if (!s && (get_device(&device) || get_address(ret_address, ADDRESS_SIZE, device)))
        s = tutti_fail(err, TUTTI_E_STATE, "this thread has no context of CUDA");
    (void)dlclose(driver);
    return s;
}

static tutti_status gpu_bind(gpu *g, tutti_error *err)
{
    tutti_status s =
        gpu_find(g->library, "nvmlDeviceGetUtilizationRates", &g->utilization, err);
    if (!s)
        s = gpu_find(g->library, "nvmlDeviceGetTemperature", &g->temperature, err);
    if (!s)
        s = gpu_find(g->library, "nvmlDeviceGetPowerUsage", &g->power, err);
    return s;
}

static tutti_status gpu_start(gpu *g, const char *address, tutti_error *err)
{
    int (*init)(void) = NULL, (*shut_down)(void) = NULL;
    int (*by_address)(const char *, void **) = NULL;
    tutti_status s = gpu_find(g->library, "nvmlInit_v2", &init, err);
    if (!s)
        s = gpu_find(g->library, "nvmlShutdown", &shut_down, err);
    if (!s)
        s = gpu_find(g->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_address, err);
    if (s)
        return s;
    const int status = init();
    if (status)
        return tutti_fail(err, TUTTI_E_STATE, "nvmlInit_v2 fails with status %d", status);
    g->shut_down = shut_down;
    const int found = by_address(address, &g->device);
    return found ? tutti_fail(err, TUTTI_E_STATE, "NVML knows no GPU at %s: status %d", address,
                              found)
                 : TUTTI_OK;
}

tutti_status gpu_open(gpu **ret_gpu, tutti_error *err)
{
    char address[ADDRESS_SIZE] = "";
    tutti_status s = find_address(address, err);
    if (s)
        return s;
    gpu *g = calloc(1, sizeof *g);
    if (!g)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for it");
    g->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!g->library)
        s = tutti_fail(err, TUTTI_E_UNSUPPORTED, "libnvidia-ml.so.1 cannot be opened");
    else if ((s = gpu_bind(g, err)) == TUTTI_OK)
        s = gpu_start(g, address, err);
    if (s)
        gpu_close(g);
    else
        *ret_gpu = g;
    return s;
}

void gpu_read(const gpu *g, double *ret_values)
{
    utilization used = {0, 0};
    unsigned celsius = 0, milliwatts = 0;
    const int no_use = g->utilization(g->device, &used);
    const int no_heat = g->temperature(g->device, TEMPERATURE_OF_GPU, &celsius);
    const int no_power = g->power(g->device, &milliwatts);
    ret_values[0] = no_use ? (double)NAN : used.gpu;
    ret_values[1] = no_use ? (double)NAN : used.memory;
    ret_values[2] = no_heat ? (double)NAN : celsius;
    ret_values[3] = no_power ? (double)NAN : milliwatts * 1e-3;
}

void gpu_close(gpu *g)
{
    if (!g)
        return;
    if (g->shut_down)
        (void)g->shut_down();
    if (g->library)
        (void)dlclose(g->library);
    free(g);
}
