/* images.c - which kernels an image has: those of this library, or of one that was emulated for a plugin. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "standin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A library of kernels, kept; its constructors have put them in front of all that were there before. */
typedef struct emulated {
    struct emulated *next;
    void *handle;
    const emulator_kernel *first, *end;
} emulated;

static emulated *loaded;

/* "weight_pull" of /there/weight_pull.fatbin. */
static void stem_of(const char *path, char *ret, size_t size)
{
    const char *name = strrchr(path, '/') + 1;
    (void)snprintf(ret, size, "%.*s", (int)strcspn(name, "."), name);
}

static const emulated *load(const char *path)
{
    const emulator_kernel *before = emulator_kernels();
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    for (emulated *e = loaded; e; e = e->next)
        if (e->handle == handle) {
            (void)dlclose(handle);
            return e;
        }
    emulated *e = calloc(1, sizeof *e);
    if (e) {
        *e = (emulated){loaded, handle, emulator_kernels(), before};
        loaded = e;
    }
    return e;
}

static bool take(const emulated *e, images *ret)
{
    if (!e)
        return false;
    ret->first = e->first;
    ret->end = e->end;
    ret->any = true;
    return true;
}

/* <folder>/<stem>.so in the folders of TUTTI_CUDA_EMULATED. */
static bool find_emulated(const char *stem, images *ret)
{
    const char *folders = getenv("TUTTI_CUDA_EMULATED");
    while (folders && *folders) {
        const int n = (int)strcspn(folders, ":");
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%.*s/%s.so", n, folders, stem);
        if (access(path, F_OK) == 0 && take(load(path), ret))
            return true;
        folders += n + (folders[n] == ':');
    }
    return false;
}

/* Whether a file belongs to what this library was built or installed with: it lies below the folder above. */
static bool is_ours(const char *path)
{
    char own[PATH_MAX];
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)is_ours, &info) || !realpath(info.dli_fname, own))
        return false;
    for (int up = 0; up < 2; up++)
        if (strrchr(own, '/'))
            *strrchr(own, '/') = '\0';
    const size_t n = strlen(own);
    return strncmp(path, own, n) == 0 && path[n] == '/';
}

bool images_find(const char *code, images *ret)
{
    static const char compiled[] = "standin:"; /* by the stand-in of NVRTC */
    char stem[64];
    if (strncmp(code, compiled, strlen(compiled)) == 0) {
        (void)snprintf(ret->name, sizeof ret->name, "nvrtc");
        return take(load(code + strlen(compiled)), ret);
    }
    (void)snprintf(ret->name, sizeof ret->name, "%s", code);
    ret->first = emulator_kernels();
    if (*code == '/') { /* a file beside a plugin's manifest */
        stem_of(code, stem, sizeof stem);
        (void)snprintf(ret->name, sizeof ret->name, "plugins/%s", stem);
        if (find_emulated(stem, ret))
            return true;
        if (!is_ours(code))
            return false;
    }
    const emulator_kernel *k = ret->first;
    while (k && strcmp(k->image, ret->name) != 0)
        k = k->next;
    return k != NULL;
}

const emulator_kernel *images_kernel(const images *i, const char *name)
{
    for (const emulator_kernel *k = i->first; k && k != i->end; k = k->next)
        if (strcmp(k->name, name) == 0 && (i->any || strcmp(k->image, i->name) == 0))
            return k;
    return NULL;
}
