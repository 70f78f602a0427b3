/* rank_code.c - the code that a rank runs as text, and where it differs from that of rank 0. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/rank_code.h"

#include "base/text.h"
#include "plugin/instance.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

/* ---- the text: id, version, whether it may be rank 0's alone, hash, and path below the plugin's folder ---- */

static bool has_logger(const plugin_info *p)
{
    for (size_t k = 0; k < p->nobjects; k++)
        if (strcmp(object_describe(p->objects[k])->kind, TUTTI_KIND_LOGGER) == 0)
            return true;
    return false;
}

static tutti_status add_file(text_buffer *b, const plugin_info *p, const char *path,
                             tutti_error *err)
{
    char hex[REGISTRY_HEX_SIZE];
    const size_t folder = strlen(p->folder);
    const bool below = strncmp(path, p->folder, folder) == 0 && path[folder] == '/';
    const tutti_status s = registry_sha256(path, hex, err);
    if (!s)
        text_add(b, "%s\t%s\t%d\t%s\t%s\n", p->id, p->version, has_logger(p), hex,
                 below ? path + folder + 1 : path);
    return s;
}

tutti_status rank_code_text(const registry *r, char **ret_text, tutti_error *err)
{
    text_buffer b = {.data = NULL};
    tutti_status s = TUTTI_OK;
    text_add(&b, "%s", "");
    for (size_t k = 0; k < registry_plugin_count(r) && !s; k++) {
        plugin_info p;
        const char *path;
        registry_plugin(r, k, &p);
        for (size_t n = 0; p.loaded && !s && (path = registry_file(r, k, n)); n++)
            s = add_file(&b, &p, path, err);
    }
    if (!s && (b.failed || !b.data))
        s = tutti_fail(err, TUTTI_E_NOMEM, "no memory for the list of plugins in use");
    if (s)
        free(b.data);
    else
        *ret_text = b.data;
    return s;
}

/* ---- comparing ---- */

typedef struct listed_file {
    const char *id, *version, *spare, *hash, *path;
} listed_file;

typedef struct code_list {
    listed_file *files;
    size_t count;
} code_list;

/* Cuts off what comes before the next `end`. */
static char *next_word(char **at, char end)
{
    char *word = *at, *stop = strchr(word, end);
    *at = stop ? stop + 1 : word + strlen(word);
    if (stop)
        *stop = '\0';
    return word;
}

static tutti_status read_list(char *text, code_list *ret, tutti_error *err)
{
    size_t lines = 1;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    *ret = (code_list){calloc(lines, sizeof *ret->files), 0};
    if (!ret->files)
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the list of plugins in use");
    while (*text) {
        listed_file *f = &ret->files[ret->count++];
        f->id = next_word(&text, '\t');
        f->version = next_word(&text, '\t');
        f->spare = next_word(&text, '\t');
        f->hash = next_word(&text, '\t');
        f->path = next_word(&text, '\n');
    }
    return TUTTI_OK;
}

/* The file of that plugin, with NULL its first one; NULL: there is none. */
static const listed_file *find(const code_list *l, const char *id, const char *path)
{
    for (size_t k = 0; k < l->count; k++)
        if (strcmp(l->files[k].id, id) == 0 && (!path || strcmp(l->files[k].path, path) == 0))
            return &l->files[k];
    return NULL;
}

static tutti_status compare_file(const listed_file *mine, const code_list *first,
                                 tutti_error *err)
{
    const listed_file *plugin = find(first, mine->id, NULL);
    const listed_file *file = find(first, mine->id, mine->path);
    if (!plugin)
        return tutti_fail(err, TUTTI_E_ARG,
                          "plugin %s %s is in use here, rank 0 does not use it", mine->id,
                          mine->version);
    if (strcmp(plugin->version, mine->version) != 0)
        return tutti_fail(err, TUTTI_E_ARG,
                          "plugin %s is version %s here, that of rank 0 is %s", mine->id,
                          mine->version, plugin->version);
    if (!file)
        return tutti_fail(err, TUTTI_E_ARG,
                          "plugin %s %s has a file %s here, that of rank 0 has none", mine->id,
                          mine->version, mine->path);
    return strcmp(file->hash, mine->hash) == 0
               ? TUTTI_OK
               : tutti_fail(err, TUTTI_E_ARG,
                            "%s of plugin %s %s is another file than that of rank 0: its "
                            "SHA-256 is %s, want %s",
                            mine->path, mine->id, mine->version, mine->hash, file->hash);
}

/* What rank 0 has and this rank has not. */
static tutti_status compare_absent(const listed_file *first, const code_list *mine,
                                   tutti_error *err)
{
    const bool is_used = find(mine, first->id, NULL);
    if (find(mine, first->id, first->path) || (!is_used && *first->spare == '1'))
        return TUTTI_OK;
    return is_used
               ? tutti_fail(err, TUTTI_E_ARG,
                            "plugin %s %s has no file %s here, that of rank 0 has one",
                            first->id, first->version, first->path)
               : tutti_fail(err, TUTTI_E_ARG, "plugin %s %s is not in use here, rank 0 uses it",
                            first->id, first->version);
}

tutti_status rank_code_compare(char *mine, char *first, tutti_error *err)
{
    code_list a = {NULL, 0}, b = {NULL, 0};
    tutti_status s = read_list(mine, &a, err);
    if (!s)
        s = read_list(first, &b, err);
    for (size_t k = 0; k < a.count && !s; k++)
        s = compare_file(&a.files[k], &b, err);
    for (size_t k = 0; k < b.count && !s; k++)
        s = compare_absent(&b.files[k], &a, err);
    free(a.files);
    free(b.files);
    return s;
}

/* ---- the program ---- */

typedef struct code_place {
    uintptr_t address;
    const char *path;
} code_place;

/* The loader's name of the object that has the address; "" is the program. */
static int find_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    code_place *p = ctx;
    (void)size;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[k];
        if (h->p_type == PT_LOAD && p->address - info->dlpi_addr - h->p_vaddr < h->p_memsz)
            p->path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    }
    return p->path != NULL;
}

static bool hash_file(const char *path, XXH128_hash_t *ret)
{
    struct stat now;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_open = fd >= 0 && fstat(fd, &now) == 0 && now.st_size > 0;
    void *data =
        is_open ? mmap(NULL, (size_t)now.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        (void)close(fd);
    if (data == MAP_FAILED)
        return false;
    *ret = XXH3_128bits(data, (size_t)now.st_size);
    (void)munmap(data, (size_t)now.st_size);
    return true;
}

void rank_code_program(char *text, size_t size)
{
    code_place p = {(uintptr_t)&rank_code_program, NULL};
    XXH128_hash_t hash;
    (void)dl_iterate_phdr(find_object, &p);
    if (p.path && hash_file(p.path, &hash))
        (void)snprintf(text, size, "tutti " TUTTI_VERSION " of XXH128 %016llx%016llx",
                       (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    else
        (void)snprintf(text, size, "tutti " TUTTI_VERSION ", whose file cannot be read");
}
