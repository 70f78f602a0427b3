/* image.c - dlopen of sealed memory, so that what was judged is what is loaded. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/image.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

struct image {
    image *next;
    char *path;
    char hex[BYTES_HEX_SIZE]; /* of its content; empty: it was read from its path */
    bytes content;            /* stays open: the loader knows it by the descriptor's number */
    void *handle;
    struct link_map *map; /* NULL: the system's, which is nobody's to answer for */
};

static image *images; /* only ever grows */
static pthread_mutex_t images_lock = PTHREAD_MUTEX_INITIALIZER;

static struct link_map *map_of(void *handle)
{
    struct link_map *map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : NULL;
}

static image *image_of(const struct link_map *map)
{
    image *i = images;
    while (i && i->map != map)
        i = i->next;
    return i;
}

/* A library by this name that is loaded; NULL: there is none. */
static struct link_map *loaded(const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    struct link_map *map = handle ? map_of(handle) : NULL;
    if (handle)
        (void)dlclose(handle); /* whoever loaded it keeps it */
    (void)dlerror();
    return map;
}

bool image_is_programs(const char *name)
{
    (void)pthread_mutex_lock(&images_lock);
    const struct link_map *map = loaded(name);
    const bool programs = map && !image_of(map);
    (void)pthread_mutex_unlock(&images_lock);
    return programs;
}

/* Whether a dlopen that failed wanted memory.  dlerror keeps that to itself, and errno may be that of what came after:
 * glibc's sentence about a mapping then ends without a reason. */
static bool wants_memory(int why, const char *text)
{
    static const char map[] = "failed to map segment from shared object";
    const size_t n = sizeof map - 1, size = text ? strlen(text) : 0;
    return why == ENOMEM || (size >= n && strcmp(text + size - n, map) == 0);
}

/* The loader's sentence, with the file's path in the place of the memory's. */
static tutti_status refuse(const char *path, const char *spelled, tutti_error *err)
{
    const int why = errno;
    const char *text = dlerror();
    const size_t n = strlen(spelled);
    if (wants_memory(why, text))
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to load it", path);
    if (text && strncmp(text, spelled, n) == 0)
        return tutti_fail(err, TUTTI_E_IO, "%s%s", path, text + n);
    return tutti_fail(err, TUTTI_E_IO, "%s", text ? text : path);
}

/* Where this process's descriptors are: by its number, since a debugger that is told of the library while it loads
 * opens the path, and /proc/self would be the debugger. */
static void spell_memory(int fd, char *spelled, size_t size)
{
    char number[24];
    const ssize_t n = readlink("/proc/self", number, sizeof number - 1);
    number[n > 0 ? n : 0] = '\0';
    (void)snprintf(spelled, size, "/proc/%s/fd/%d", n > 0 ? number : "self", fd);
}

/* The loader takes a name that it has seen for the library that it has seen, and a descriptor's number may have
 * been another's: whoever closes all files of a process closes those that images hold. */
static void *open_memory(int *fd, char *spelled, size_t size)
{
    for (int tries = 0; tries < 64; tries++) {
        spell_memory(*fd, spelled, size);
        errno = 0;
        void *handle = dlopen(spelled, FLAGS);
        const struct link_map *map = handle ? map_of(handle) : NULL;
        if (!handle || (map && strcmp(map->l_name, spelled) == 0))
            return handle;
        const int other = fcntl(*fd, F_DUPFD_CLOEXEC, *fd + 1);
        if (other < 0)
            return NULL;
        (void)close(*fd);
        *fd = other;
    }
    return NULL;
}

static tutti_status no_memory(const char *path, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to load it", path);
}

/* Opens it and takes it into the list; *b, when it is sealed, is the image's from then on. */
static tutti_status open_image(const char *path, bytes *b, const char *hex, image **ret,
                               tutti_error *err)
{
    char spelled[64];
    image *i = calloc(1, sizeof *i);
    if (i)
        i->path = strdup(path);
    if (!i || !i->path) {
        free(i);
        return no_memory(path, err);
    }
    const bool sealed = b->fd >= 0;
    errno = 0;
    i->handle = sealed ? open_memory(&b->fd, spelled, sizeof spelled) : dlopen(path, FLAGS);
    i->map = i->handle ? map_of(i->handle) : NULL;
    *ret = i->map ? image_of(i->map) : NULL;
    if (*ret) { /* the path is known */
        free(i->path);
        free(i);
        return TUTTI_OK;
    }
    if (!i->map) {
        const tutti_status status = refuse(path, sealed ? spelled : path, err);
        free(i->path);
        free(i);
        return status;
    }
    if (sealed) {
        /* Debuggers, dladdr and sanitizers go by this name, and find the file. */
        i->map->l_name = i->path;
        i->content = *b;
        *b = (bytes){NULL, 0, -1};
        memcpy(i->hex, hex, sizeof i->hex);
    }
    i->next = images;
    images = *ret = i;
    return TUTTI_OK;
}

static image *find(const char *path, const char *hex)
{
    image *i = images;
    while (i && (strcmp(i->path, path) != 0 || strcmp(i->hex, hex) != 0))
        i = i->next;
    return i;
}

static tutti_status open_once(const char *path, bytes *b, image **ret, tutti_error *err)
{
    char hex[BYTES_HEX_SIZE] = "";
    const tutti_status status = b->fd >= 0 ? bytes_sha256(b, path, hex, err) : TUTTI_OK;
    if (status)
        return status;
    *ret = *hex ? find(path, hex) : NULL;
    return *ret ? TUTTI_OK : open_image(path, b, hex, ret, err);
}

/* One of the system's, which finds its own way. */
static tutti_status open_system(const char *path, const need *n, tutti_error *err)
{
    errno = 0;
    if (dlopen(n->path ? n->path : n->name, FLAGS))
        return TUTTI_OK;
    const int why = errno;
    const char *text = dlerror();
    if (wants_memory(why, text))
        return no_memory(path, err);
    return tutti_fail(err, TUTTI_E_IO, "%s: needs %s: %s", path, n->name,
                      text ? text : "it cannot be loaded");
}

/* Loads one that a library needs.  *ret_alias is the image that must answer to the name, or NULL. */
static tutti_status open_need(const char *path, need *n, image **ret_alias, tutti_error *err)
{
    char hex[BYTES_HEX_SIZE] = "";
    const struct link_map *there = loaded(n->name);
    image *i = there ? image_of(there) : NULL;
    if (there && !i)
        return TUTTI_OK;
    if (!n->path || n->is_system)
        return i ? tutti_fail(err, TUTTI_E_TRUST,
                              "%s: needs the system's %s, but another plugin has loaded %s by "
                              "that name",
                              path, n->name, i->path)
                 : open_system(path, n, err);
    tutti_status status = bytes_sha256(&n->content, n->path, hex, err);
    if (!status && i && strcmp(i->hex, hex) != 0)
        status =
            tutti_fail(err, TUTTI_E_TRUST,
                       "%s: needs %s, but another plugin has loaded %s by that name, which "
                       "is another library",
                       path, n->path, i->path);
    if (!status && !i)
        status = open_once(n->path, &n->content, &i, err);
    if (!status)
        *ret_alias = i;
    return status;
}

tutti_status image_load(const char *path, bytes *library, needs *n, image **ret,
                        tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    image **named = calloc(n->count + 1, sizeof *named);
    if (!named)
        return no_memory(path, err);
    (void)pthread_mutex_lock(&images_lock);
    for (size_t k = 0; k < n->count && !status; k++) {
        status = open_need(path, &n->items[k], &named[k], err);
        /* Who asks for it asks by this name, which need not be the SONAME. */
        if (!status && named[k])
            named[k]->map->l_name = n->items[k].name;
    }
    if (!status)
        status = open_once(path, library, ret, err);
    for (size_t k = 0; k < n->count; k++)
        if (named[k])
            named[k]->map->l_name = named[k]->path;
    (void)pthread_mutex_unlock(&images_lock);
    free(named);
    return status;
}

static tutti_status open_soname(const char *soname, image **ret, tutti_error *err)
{
    image *i = calloc(1, sizeof *i);
    if (i)
        i->path = strdup(soname);
    errno = 0;
    if (i && i->path)
        i->handle = dlopen(soname, FLAGS);
    if (i && i->handle) {
        i->next = images;
        images = *ret = i;
        return TUTTI_OK;
    }
    const tutti_status status =
        i && i->path ? refuse(soname, soname, err) : no_memory(soname, err);
    free(i ? i->path : NULL);
    free(i);
    return status;
}

tutti_status image_load_system(const char *soname, image **ret, tutti_error *err)
{
    (void)pthread_mutex_lock(&images_lock);
    image *i = images;
    while (i && (i->map || strcmp(i->path, soname) != 0))
        i = i->next;
    if (i)
        *ret = i;
    const tutti_status status = i ? TUTTI_OK : open_soname(soname, ret, err);
    (void)pthread_mutex_unlock(&images_lock);
    return status;
}

void *image_symbol(const image *i, const char *name)
{
    return dlsym(i->handle, name);
}

uintptr_t image_base(const image *i)
{
    return i->map->l_addr;
}
