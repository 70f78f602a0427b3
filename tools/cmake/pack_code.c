/* pack_code.c - makes the files of device code, one for each architecture, while the program is built.
 *
 * usage: pack_code LIST FOLDER IDS
 *
 * A line of LIST is an image: "90 kernels/exp /build/exp.fatbin".  "0 kernels/exp -" is one of the stand-in's, whose
 * bytes are its name.  FOLDER gets sm_90.code and so on, IDS what code_ids.c includes.  Lines that follow one another
 * and have one architecture make a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/code_format.h"
#include "plugin/trust/bytes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct image {
    int capability;
    char name[sizeof((code_entry *)NULL)->name];
    char path[PATH_MAX];
} image;

typedef struct package {
    code_header *header;
    code_entry *entries; /* behind it */
    FILE *file;
    char path[PATH_MAX];
    uint64_t end; /* of what the file has so far */
} package;

_Noreturn static void give_up(const char *path, const char *why)
{
    (void)fprintf(stderr, "pack_code: %s: %s\n", path, why);
    exit(1);
}

static void digest(const void *data, size_t size, const char *path, char *hex)
{
    tutti_error err = TUTTI_ERROR_INIT;
    const bytes b = {(unsigned char *)(uintptr_t)data, size, -1};
    if (bytes_sha256(&b, path, hex, &err))
        give_up(path, err.text);
}

/* What the list names; the caller frees it. */
static image *read_list(const char *path, size_t *ret_count)
{
    char line[PATH_MAX + 128];
    size_t n = 0;
    image *list = calloc(CODE_MOST_IMAGES, sizeof *list);
    FILE *f = fopen(path, "re");
    if (!f || !list)
        give_up(path, "cannot be read");
    while (fgets(line, sizeof line, f)) {
        if (n == CODE_MOST_IMAGES)
            give_up(path, "has too many images");
        if (sscanf(line, "%d %63s %4095s", &list[n].capability, list[n].name, list[n].path) !=
            3)
            give_up(line, "want \"capability name file\"");
        n++;
    }
    (void)fclose(f);
    *ret_count = n;
    return list;
}

/* The bytes of an image; the caller frees them. */
static char *read_image(const image *i, uint64_t *ret_bytes)
{
    if (strcmp(i->path, "-") == 0) {
        *ret_bytes = strlen(i->name) + 1;
        return strdup(i->name);
    }
    FILE *f = fopen(i->path, "re");
    if (!f || fseek(f, 0, SEEK_END))
        give_up(i->path, "cannot be read");
    const long size = ftell(f);
    char *data = size > 0 ? malloc((size_t)size) : NULL;
    rewind(f);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
        give_up(i->path, "is empty or cannot be read");
    (void)fclose(f);
    *ret_bytes = (uint64_t)size;
    return data;
}

static void put(package *p, const void *data, uint64_t size, uint64_t at)
{
    if (fseek(p->file, (long)at, SEEK_SET) || fwrite(data, 1, size, p->file) != size)
        give_up(p->path, "cannot be written");
}

static void add(package *p, const image *i)
{
    char hex[BYTES_HEX_SIZE];
    code_entry *e = &p->entries[p->header->count++];
    char *data = read_image(i, &e->bytes);
    if (!data)
        give_up(i->name, "no memory");
    digest(data, e->bytes, i->path, hex);
    memcpy(e->name, i->name, sizeof e->name);
    memcpy(e->sha256, hex, sizeof e->sha256);
    e->offset = (p->end + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
    p->end = e->offset + e->bytes;
    put(p, data, e->bytes, e->offset);
    free(data);
}

/* One file of `count` images, and its line among the ids. */
static void pack(const image *list, size_t count, const char *folder, FILE *ids)
{
    char hex[BYTES_HEX_SIZE];
    package p = {.end = sizeof *p.header + count * sizeof *p.entries};
    const size_t size = p.end;
    p.header = calloc(1, size);
    if (!p.header)
        give_up(folder, "no memory");
    p.entries = (code_entry *)(void *)(p.header + 1);
    memcpy(p.header->magic, CODE_MAGIC, sizeof p.header->magic);
    p.header->capability = (uint32_t)list->capability;
    if (list->capability)
        (void)snprintf(p.path, sizeof p.path, "%s/sm_%d.code", folder, list->capability);
    else
        (void)snprintf(p.path, sizeof p.path, "%s/" CODE_STANDIN, folder);
    p.file = fopen(p.path, "we");
    if (!p.file)
        give_up(p.path, "cannot be written");
    for (size_t k = 0; k < count; k++)
        add(&p, &list[k]);
    put(&p, p.header, size, 0);
    if (fclose(p.file))
        give_up(p.path, "cannot be written");
    digest(p.header, size, p.path, hex);
    (void)fprintf(ids, "    {%d, \"%s\"},\n", list->capability, hex);
    free(p.header);
}

int main(int argc, char **argv)
{
    size_t n = 0;
    if (argc != 4)
        give_up("usage", "pack_code LIST FOLDER IDS");
    image *list = read_list(argv[1], &n);
    FILE *ids = fopen(argv[3], "we");
    if (!ids)
        give_up(argv[3], "cannot be written");
    for (size_t from = 0, to = 0; from < n; from = to) {
        while (to < n && list[to].capability == list[from].capability)
            to++;
        pack(list + from, to - from, argv[2], ids);
    }
    if (fclose(ids))
        give_up(argv[3], "cannot be written");
    free(list);
    return 0;
}
