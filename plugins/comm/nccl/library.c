/* library.c - finds NCCL's library when a run needs it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_comm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The loader's places, then the one of the CUDA toolkit. */
static void *open_file(const char *file)
{
    char path[300];
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle || strchr(file, '/'))
        return handle;
    (void)snprintf(path, sizeof path, "/usr/local/cuda/lib64/%s", file);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static const char *find_calls(nccl *n)
{
    void *symbol;
#define NCCL_FIND(type, name, args)                                                            \
    if (!(symbol = dlsym(n->library, #name)))                                                  \
        return #name;                                                                          \
    memcpy(&n->api.name, &symbol, sizeof symbol);
    NCCL_CALLS(NCCL_FIND)
#undef NCCL_FIND
    return NULL;
}

tutti_status nccl_load(nccl *n, int *ret_version, tutti_error *err)
{
    if (!n->library && !(n->library = open_file(n->file)))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "nccl: NCCL is not installed: %.300s",
                          dlerror());
    const char *lacks = find_calls(n);
    int version = 0;
    if (!lacks && n->api.ncclGetVersion(&version) != NCCL_SUCCESS)
        version = 0;
    if (lacks || version < NCCL_OLDEST)
        return tutti_fail(err, TUTTI_E_VERSION, "nccl: %.200s %s%s, want NCCL 2.14 or newer",
                          n->file, lacks ? "lacks " : "is older than 2.14", lacks ? lacks : "");
    *ret_version = version;
    return TUTTI_OK;
}
