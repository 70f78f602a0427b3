/* device.c - the device that the stand-in claims to be. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <stdio.h>
#include <string.h>

/* Offsets in CUDA 13's cudaDeviceProp. */
enum {
    PROP_BYTES = 1008,
    PROP_NAME = 256,
    PROP_MEMORY = 288,
    PROP_SHARED = 296,
    PROP_MAJOR = 360,
    PROP_MINOR = 364,
    PROP_MULTIPROCESSORS = 384,
    PROP_SHARED_OPTIN = 672,
};
enum { SHARED = 48 << 10, SHARED_OPTIN = 227 << 10, L2_CACHE = 64 << 10 };

/* Whether there is a device at all, as most calls ask first. */
static unsigned there(void)
{
    const settings *s = standin_settings();
    return s->driver < 12080 ? INSUFFICIENT_DRIVER : s->devices == 0 ? NO_DEVICE : OK;
}

EXPORT unsigned cudaDriverGetVersion(int *version)
{
    *version = (int)standin_settings()->driver;
    return OK;
}

EXPORT unsigned cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return OK;
}

EXPORT unsigned cudaGetDeviceCount(int *count)
{
    unsigned code = enter();
    if (!code)
        code = there();
    *count = code ? 0 : (int)standin_settings()->devices;
    return leave(code);
}

static unsigned check_device(int device)
{
    const unsigned code = there();
    if (code)
        return code;
    return device >= 0 && (uint64_t)device < standin_settings()->devices ? OK : INVALID_DEVICE;
}

static void put32(unsigned char *prop, size_t at, uint64_t value)
{
    const uint32_t v = (uint32_t)value;
    memcpy(prop + at, &v, sizeof v);
}

static void put64(unsigned char *prop, size_t at, uint64_t value)
{
    memcpy(prop + at, &value, sizeof value);
}

EXPORT unsigned cudaGetDeviceProperties(struct cudaDeviceProp *ret_prop, int device)
{
    unsigned char *prop = (unsigned char *)ret_prop;
    const settings *s = standin_settings();
    unsigned code = enter();
    if (!code && !(code = check_device(device))) {
        memset(prop, 0, PROP_BYTES);
        (void)snprintf((char *)prop, PROP_NAME, "Stand-in GPU");
        put64(prop, PROP_MEMORY, s->memory);
        put64(prop, PROP_SHARED, SHARED);
        put64(prop, PROP_SHARED_OPTIN, SHARED_OPTIN);
        put32(prop, PROP_MAJOR, s->capability / 10);
        put32(prop, PROP_MINOR, s->capability % 10);
        put32(prop, PROP_MULTIPROCESSORS, s->multiprocessors);
    }
    return leave(code);
}

EXPORT unsigned cudaDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    const settings *s = standin_settings();
    unsigned code = enter();
    if (!code)
        code = check_device(device);
    if (!code)
        switch (attribute) {
        case 1: /* threads per block */
            *value = 1024;
            break;
        case 8: /* shared memory per block */
            *value = SHARED;
            break;
        case 10: /* warp size */
            *value = 32;
            break;
        case 12: /* registers per block */
            *value = 65536;
            break;
        case 16:
            *value = (int)s->multiprocessors;
            break;
        case 38: /* bytes of the L2 cache */
            *value = L2_CACHE;
            break;
        case 75:
            *value = (int)(s->capability / 10);
            break;
        case 76:
            *value = (int)(s->capability % 10);
            break;
        case 97:
            *value = SHARED_OPTIN;
            break;
        default:
            code = INVALID_VALUE;
        }
    return leave(code);
}

static __thread int current;

int current_device(void)
{
    return current;
}

EXPORT unsigned cudaSetDevice(int device)
{
    unsigned code = enter();
    if (!code && !(code = check_device(device)))
        current = device;
    return leave(code);
}

EXPORT unsigned cudaGetDevice(int *device)
{
    const unsigned code = enter();
    *device = current;
    return leave(code ? code : there());
}
