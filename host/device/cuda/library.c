/* library.c - loading NVIDIA's libraries. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Newest first; cudart's first file may be another by the environment. */
typedef struct library {
    const char *name;
    const char *files[2];
    const char *found;
    void *handle;
} library;

static library libraries[] = {
    {"cudart", {"libcudart.so.13", "libcudart.so.12"}, NULL, NULL},
    {"cublasLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, NULL, NULL},
    {"cudnn", {"libcudnn.so.9", NULL}, NULL, NULL},
    {"nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12"}, NULL, NULL},
};
enum { NLIBRARIES = sizeof libraries / sizeof *libraries };

/* Where the toolkit puts them when the loader has not been told. */
static void *open_file(const char *file)
{
    static const char *const folders[] = {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"};
    char path[128];
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (int k = 0; k < 2 && !handle && !strchr(file, '/'); k++) {
        (void)snprintf(path, sizeof path, "%s/%s", folders[k], file);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

/* The runtime's major version, once it is there. */
static int major(void)
{
    int (*get)(int *) = NULL;
    int version = 0;
    void *symbol =
        libraries[0].handle ? dlsym(libraries[0].handle, "cudaRuntimeGetVersion") : NULL;
    memcpy(&get, &symbol, sizeof symbol);
    return get && get(&version) == 0 ? version / 1000 : 0;
}

/* Whether the file may serve: those of cuBLASLt and NVRTC must be made for the runtime's CUDA, since with it a
 * driver was found to do. */
static bool fits(const library *l, const char *file)
{
    const bool has_major = strcmp(l->name, "cublasLt") == 0 || strcmp(l->name, "nvrtc") == 0;
    const int want = has_major ? major() : 0;
    return !want || atoi(strstr(file, ".so.") + 4) == want;
}

/* cuDNN's file says nothing of the CUDA that it is made for, the library does. */
static tutti_status check_cudnn(library *l, tutti_error *err)
{
    size_t (*get)(void) = NULL;
    const bool is_cudnn = strcmp(l->name, "cudnn") == 0;
    void *symbol = is_cudnn ? dlsym(l->handle, "cudnnGetCudartVersion") : NULL;
    memcpy(&get, &symbol, sizeof symbol);
    const int made_for = get ? (int)(get() / 1000) : 0, runtime = major();
    if (!made_for || !runtime || made_for == runtime)
        return TUTTI_OK;
    (void)dlclose(l->handle);
    l->handle = NULL;
    return tutti_fail(err, TUTTI_E_VERSION, "%s is made for CUDA %d, the runtime is of CUDA %d",
                      l->found, made_for, runtime);
}

static tutti_status open_library(library *l, tutti_error *err)
{
    const char *own = l == &libraries[0] ? getenv("TUTTI_CUDART") : NULL;
    if (l->handle)
        return TUTTI_OK;
    if (own && *own) {
        l->found = own;
        l->handle = open_file(own);
        return l->handle ? TUTTI_OK
                         : tutti_fail(err, TUTTI_E_IO, "TUTTI_CUDART: %s", dlerror());
    }
    for (int k = 0; k < 2 && l->files[k] && !l->handle; k++) {
        if (!fits(l, l->files[k]))
            continue;
        l->found = l->files[k];
        l->handle = open_file(l->files[k]);
    }
    if (l->handle)
        return check_cudnn(l, err);
    return tutti_fail(err, TUTTI_E_NOTFOUND, "there is no %s%s%s: CUDA is not installed",
                      l->files[0], l->files[1] ? " and no " : "",
                      l->files[1] ? l->files[1] : "");
}

tutti_status library_symbol(const char *name, const char *symbol, void **ret_symbol,
                            tutti_error *err)
{
    for (int k = 0; k < NLIBRARIES; k++) {
        library *l = &libraries[k];
        if (strcmp(l->name, name) != 0)
            continue;
        const tutti_status s = open_library(l, err);
        if (s)
            return s;
        void *found = dlsym(l->handle, symbol);
        if (!found)
            return tutti_fail(err, TUTTI_E_NOTFOUND, "%s has no %s", l->found, symbol);
        *ret_symbol = found;
        return TUTTI_OK;
    }
    return tutti_fail(err, TUTTI_E_NOTFOUND,
                      "there is no library %s, want cudart, cublasLt, cudnn or nvrtc", name);
}

/* Calls of CUDA 12 that took on more arguments have another name there. */
static int load_conditions(cudart *ret)
{
    void *symbol = NULL;
    int version = 0, there = !ret->cudaRuntimeGetVersion(&version);
#define LOAD(type, name, older, args)                                                          \
    there =                                                                                    \
        there && !library_symbol("cudart", version < 13000 ? #older : #name, &symbol, NULL);   \
    memcpy(&ret->name, &symbol, sizeof symbol);
    CUDART_CONDITION_CALLS(LOAD)
#undef LOAD
    return there;
}

static tutti_status load(cudart *ret, tutti_error *err)
{
    void *symbol = NULL;
    tutti_status s = open_library(&libraries[0], err);
    if (s)
        return s;
#define LOAD(type, name, args)                                                                 \
    if (!s && !(s = library_symbol("cudart", #name, &symbol, NULL)))                           \
        memcpy(&ret->name, &symbol, sizeof symbol);                                            \
    else if (!err->status)                                                                     \
        (void)tutti_fail(err, TUTTI_E_VERSION, "%s has no %s, want CUDA 12.8 or newer",        \
                         libraries[0].found, #name);
    CUDART_CALLS(LOAD)
#undef LOAD
    ret->conditions = !err->status && load_conditions(ret);
    ret->standin = library_symbol("cudart", CUDART_STANDIN, &symbol, NULL) == TUTTI_OK;
    return err->status;
}

tutti_status cudart_get(const cudart **ret_runtime, tutti_error *err)
{
    static cudart runtime;
    static tutti_error why = TUTTI_ERROR_INIT;
    static bool tried;
    if (!tried)
        (void)load(&runtime, &why);
    tried = true;
    if (why.status)
        return tutti_fail(err, why.status, "%s", why.text);
    *ret_runtime = &runtime;
    return TUTTI_OK;
}

bool library_own_path(char path[PATH_MAX])
{
    static const char anchor; /* somewhere in the file */
    Dl_info info;
    struct link_map *map = NULL;
    void *into = &map;
    if (!dladdr1(&anchor, &info, into, RTLD_DL_LINKMAP) || !map)
        return false;
    if (*map->l_name) /* a library */
        return realpath(map->l_name, path) != NULL;
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n > 0)
        path[n] = '\0';
    return n > 0;
}
