/* list.c - folders walked, links followed, names sorted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32 }; /* a loop of links goes deeper */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static tutti_status no_memory(tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_NOMEM, "image_folder: no memory for the list of images");
}

static int is_image(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 ||
                   strcasecmp(dot, ".png") == 0);
}

/* The paths of what is in a folder, sorted, without names that begin with a dot. */
typedef struct names {
    char **paths;
    size_t count;
} names;

static void names_free(names *n)
{
    for (size_t k = 0; k < n->count; k++)
        free(n->paths[k]);
    free(n->paths);
    *n = (names){NULL, 0};
}

static tutti_status names_add(names *n, const char *folder, const char *name, tutti_error *err)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    if ((n->count & (n->count - 1)) == 0) { /* room for the next power of two */
        char **grown = realloc(n->paths, (n->count ? n->count * 2 : 1) * sizeof *grown);
        if (!grown)
            return no_memory(err);
        n->paths = grown;
    }
    char *path = malloc(size);
    if (!path)
        return no_memory(err);
    (void)snprintf(path, size, "%s/%s", folder, name);
    n->paths[n->count++] = path;
    return TUTTI_OK;
}

/* `n` is for names_free even after an error. */
static tutti_status names_read(names *n, const char *folder, tutti_error *err)
{
    tutti_status s = TUTTI_OK;
    struct dirent *entry;
    *n = (names){NULL, 0};
    DIR *d = opendir(folder);
    if (!d)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", folder, strerror(errno));
    for (errno = 0; s == TUTTI_OK && (entry = readdir(d)); errno = 0)
        if (entry->d_name[0] != '.')
            s = names_add(n, folder, entry->d_name, err);
    if (s == TUTTI_OK && errno)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", folder, strerror(errno));
    (void)closedir(d);
    if (n->count > 1)
        qsort(n->paths, n->count, sizeof *n->paths, by_bytes);
    return s;
}

/* 1 a folder, 0 something else, negative an error. */
static int32_t is_folder(const char *path, tutti_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    return S_ISDIR(st.st_mode) ? 1 : 0;
}

/* Takes *path over. */
static tutti_status image_folder_take(image_list *l, char **path, int64_t label,
                                      tutti_error *err)
{
    if (l->count == l->capacity) {
        const size_t capacity = l->capacity ? (size_t)l->capacity * 2 : 256;
        char **paths = realloc(l->paths, capacity * sizeof *paths);
        if (paths)
            l->paths = paths;
        int32_t *labels = realloc(l->labels, capacity * sizeof *labels);
        if (labels)
            l->labels = labels;
        if (!paths || !labels)
            return no_memory(err);
        l->capacity = (int64_t)capacity;
    }
    l->paths[l->count] = *path;
    l->labels[l->count++] = (int32_t)label;
    *path = NULL;
    return TUTTI_OK;
}

static tutti_status image_folder_walk(image_list *l, const char *folder, int64_t label,
                                      int depth, tutti_error *err)
{
    names n;
    if (depth > DEPTH_MAX)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: lies more than %d folders deep", folder,
                          DEPTH_MAX);
    tutti_status s = names_read(&n, folder, err);
    for (size_t k = 0; s == TUTTI_OK && k < n.count; k++) {
        const int32_t dir = is_image(n.paths[k]) ? 0 : is_folder(n.paths[k], err);
        if (dir < 0)
            s = dir;
        else if (dir)
            s = image_folder_walk(l, n.paths[k], label, depth + 1, err);
        else if (is_image(n.paths[k]))
            s = image_folder_take(l, &n.paths[k], label, err);
    }
    names_free(&n);
    return s;
}

/* A class is called as its folder. */
static tutti_status image_folder_class(image_list *l, const char *path, const char *class_file,
                                       int64_t *ret_class, tutti_error *err)
{
    const char *name = strrchr(path, '/') + 1;
    tutti_status s = TUTTI_OK;
    if (!class_file)
        s = label_names_add(&l->names, name, strlen(name), err);
    if (s == TUTTI_OK)
        *ret_class = label_names_class(&l->names, name, strlen(name));
    if (s == TUTTI_OK && class_file && *ret_class < 0)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is no class of %s", path, class_file);
    return s;
}

tutti_status image_list_make(image_list *l, const char *folder, const char *class_file,
                             tutti_error *err)
{
    names n;
    int64_t class = 0;
    memset(l, 0, sizeof *l);
    tutti_status s = names_read(&n, folder, err);
    if (s == TUTTI_OK && class_file)
        s = label_names_read(&l->names, class_file, err);
    for (size_t k = 0; s == TUTTI_OK && k < n.count; k++) {
        const int64_t before = l->count;
        const int32_t dir = is_folder(n.paths[k], err);
        if (dir < 0)
            s = dir;
        if (dir <= 0)
            continue;
        s = image_folder_class(l, n.paths[k], class_file, &class, err);
        if (s == TUTTI_OK)
            s = image_folder_walk(l, n.paths[k], class, 1, err);
        if (s == TUTTI_OK && l->count == before)
            s = tutti_fail(err, TUTTI_E_FORMAT, "%s: holds no .jpg, .jpeg or .png files",
                           n.paths[k]);
    }
    l->classes = l->names.count;
    if (s == TUTTI_OK && l->count == 0)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: holds no folders, want one for each class",
                       folder);
    names_free(&n);
    return s;
}

tutti_status image_list_make_unlabelled(image_list *l, const char *folder, tutti_error *err)
{
    memset(l, 0, sizeof *l);
    const tutti_status s = image_folder_walk(l, folder, IMAGE_LIST_UNLABELLED, 0, err);
    return s || l->count ? s
                         : tutti_fail(err, TUTTI_E_FORMAT,
                                      "%s: holds no .jpg, .jpeg or .png files", folder);
}

void image_list_free(image_list *l)
{
    for (int64_t k = 0; k < l->count; k++)
        free(l->paths[k]);
    free(l->paths);
    free(l->labels);
    label_names_free(&l->names);
    memset(l, 0, sizeof *l);
}
