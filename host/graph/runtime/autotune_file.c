/* autotune_file.c - the file of autotuned choices: pairs of key and value, to which several processes add. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/runtime/autotune_file.h"

#include "base/input_file.h"
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char title[] = "tutti kernel choices 1\n";

void choices_fini(choices *c)
{
    for (size_t k = 0; k < c->count; k++) {
        free(c->list[k].key);
        free(c->list[k].algorithm);
    }
    free(c->list);
    *c = (choices){NULL, 0};
}

const char *choices_path(char *path, size_t size)
{
    const char *wanted = getenv("TUTTI_TUNE"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (wanted && strcmp(wanted, "0") == 0)
        return NULL;
    if (cache && *cache == '/')
        (void)snprintf(path, size, "%s/tutti/kernels", cache);
    else if (home && *home == '/')
        (void)snprintf(path, size, "%s/.cache/tutti/kernels", home);
    else
        return NULL;
    return path;
}

bool choices_keep_disturbed(void)
{
    const char *wanted = getenv("TUTTI_TUNE");
    return wanted && strcmp(wanted, "1") == 0;
}

static choice *find(const choices *c, const char *key)
{
    for (size_t k = 0; k < c->count; k++)
        if (strcmp(c->list[k].key, key) == 0)
            return &c->list[k];
    return NULL;
}

const char *choices_find(const choices *c, const char *key)
{
    const choice *found = find(c, key);
    return found ? found->algorithm : NULL;
}

tutti_status choices_set(choices *c, const char *key, const char *algorithm, tutti_error *err)
{
    choice *there = find(c, key);
    choice fresh = {strdup(key), strdup(algorithm)};
    choice *list = there ? c->list : realloc(c->list, (c->count + 1) * sizeof *list);
    if (list)
        c->list = list;
    if (!fresh.key || !fresh.algorithm || !list) {
        free(fresh.key);
        free(fresh.algorithm);
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory for the choices of kernels");
    }
    if (there) {
        free(there->key);
        free(there->algorithm);
        *there = fresh;
    } else {
        c->list[c->count++] = fresh;
    }
    return TUTTI_OK;
}

/* One line, its end included; the first is number 1. */
static tutti_status take_line(choices *c, char *line, int number, const char *path,
                              tutti_error *err)
{
    char *end = strchr(line, '\n'), *tab = strchr(line, '\t');
    const bool good =
        number == 1 ? strcmp(line, title) == 0 : end && tab && tab > line && tab + 1 < end;
    if (!good)
        return tutti_fail(err, TUTTI_E_FORMAT,
                          "%s: line %d is no choice of a kernel; the file is left aside", path,
                          number);
    if (number == 1)
        return TUTTI_OK;
    *tab = *end = '\0';
    return choices_set(c, line, tab + 1, err);
}

tutti_status choices_read(choices *c, const char *path, tutti_error *err)
{
    FILE *file;
    char *line = NULL;
    size_t capacity = 0;
    tutti_error why = TUTTI_ERROR_INIT;
    tutti_status s = input_file_open(path, &file, &why);
    if (s) /* a file that is not there has no choices, and is no error of the caller's */
        return s == TUTTI_E_IO && errno == ENOENT ? TUTTI_OK
                                                  : tutti_fail(err, s, "%s", why.text);
    int number = 0;
    while (!s && getline(&line, &capacity, file) > 0)
        s = take_line(c, line, ++number, path, err);
    if (!s && !feof(file))
        s = tutti_fail(err, errno == ENOMEM ? TUTTI_E_NOMEM : TUTTI_E_IO,
                       "%s: it cannot be read: %s", path, strerror(errno));
    if (!s && !number)
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: it is empty; the file is left aside", path);
    free(line);
    (void)fclose(file);
    if (s)
        choices_fini(c);
    return s;
}

tutti_status choices_write(const choices *c, const char *path, tutti_error *err)
{
    output_file f;
    tutti_status s = output_file_open(path, "choices of kernels are kept in one", &f, err);
    if (s)
        return s;
    bool good = fputs(title, f.file) >= 0;
    for (size_t k = 0; k < c->count && good; k++)
        good = fprintf(f.file, "%s\t%s\n", c->list[k].key, c->list[k].algorithm) > 0;
    if (!good || fflush(f.file) != 0 || fsync(fileno(f.file)) != 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", f.part, strerror(errno));
    const tutti_status closed = output_file_close(&f, s == TUTTI_OK, s ? NULL : err);
    return s ? s : closed;
}

/* The folders above `path`, which is put back as it was. */
static void make_folders(char *path)
{
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0777); /* what is missing, opening the file will say */
        *at = '/';
    }
}

int choices_lock(const char *path, tutti_error *err)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s.lock", path) >= (int)sizeof name) {
        (void)tutti_fail(err, TUTTI_E_IO, "%s: the name is too long", path);
        return -1;
    }
    make_folders(name);
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0)
        return fd;
    (void)tutti_fail(err, TUTTI_E_IO, "%s: %s", name, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return -1;
}
