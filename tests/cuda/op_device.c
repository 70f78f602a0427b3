/* op_device.c - tests of operations on a GPU: TUTTI_TEST_DEVICE=cuda, other inputs by TUTTI_TEST_SEED. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "gradcheck.h"

#include <stdlib.h>
#include <string.h>

static tutti_device device;

static void close_device(void)
{
    tutti_device_close(&device);
}

/* Once in each process, and Check makes one for each test. */
static const tutti_device *open_device(tutti_error *err)
{
    if (device.table)
        return &device;
    if (tutti_device_open(tutti_device_cuda(), NULL, 0, &device, err))
        return NULL;
    (void)atexit(close_device);
    return &device;
}

__attribute__((constructor)) static void choose(void)
{
    const char *name = getenv("TUTTI_TEST_DEVICE"), *seed = getenv("TUTTI_TEST_SEED");
    if (name && strcmp(name, "cuda") == 0)
        op_check_device = open_device;
    if (seed)
        op_check_seed = strtoull(seed, NULL, 10);
}
