/* trust.c - walking a path part by part, and the lock file of pinned trust. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 16 };

/* A path under way: `real` has been walked and judged, `rest` is still to do. */
typedef struct walk {
    char real[PATH_MAX];
    char rest[PATH_MAX];
    size_t real_size;
    trust_rule rule;
    int links;
} walk;

static tutti_status io_error(const char *path, tutti_error *err)
{
    const int why = errno;
    return tutti_fail(err, why == ENOENT || why == ENOTDIR ? TUTTI_E_NOTFOUND : TUTTI_E_IO,
                      "%s: %s", path, strerror(why));
}

static tutti_status judge(const trust_rule *rule, const char *path, const struct stat *s,
                          const char *what, tutti_error *err)
{
    if (!rule->owner)
        return TUTTI_OK;
    const tutti_status status = owner_judge(path, s, what, rule->beside, err);
    *rule->refusals += status != TUTTI_OK;
    return status;
}

/* Puts the target of the link at w->real in front of the rest. */
static tutti_status follow_link(walk *w, const char *link, tutti_error *err)
{
    char target[PATH_MAX], joined[PATH_MAX];
    if (++w->links > MAX_LINKS)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: more than %d symbolic links on the way, perhaps a loop", link,
                          MAX_LINKS);
    const ssize_t size = readlink(link, target, sizeof target - 1);
    if (size < 0)
        return io_error(link, err);
    target[size] = '\0';
    if (snprintf(joined, sizeof joined, "%s/%s", target, w->rest) >= (int)sizeof joined)
        return tutti_fail(err, TUTTI_E_IO, "%s: the path is too long", link);
    memcpy(w->rest, joined, sizeof joined);
    if (target[0] == '/')
        w->real[w->real_size = 0] = '\0';
    return TUTTI_OK;
}

/* Takes the next part off the rest; empty at the end. */
static void next_part(walk *w, char *part)
{
    const char *at = w->rest + strspn(w->rest, "/");
    const size_t size = strcspn(at, "/");
    memcpy(part, at, size);
    part[size] = '\0';
    memmove(w->rest, at + size, strlen(at + size) + 1);
}

static tutti_status walk_part(walk *w, const char *part, tutti_error *err)
{
    char path[PATH_MAX];
    struct stat s;
    if (strcmp(part, ".") == 0)
        return TUTTI_OK;
    if (strcmp(part, "..") == 0) {
        /* w->real holds no links, so its parent is the part before. */
        while (w->real_size && w->real[--w->real_size] != '/')
            ;
        w->real[w->real_size] = '\0';
        return TUTTI_OK;
    }
    const int size = snprintf(path, sizeof path, "%s/%s", w->real, part);
    if (size >= (int)sizeof path)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: the path is too long", w->real, part);
    if (lstat(path, &s))
        return io_error(path, err);
    const bool link = S_ISLNK(s.st_mode);
    const tutti_status status = judge(&w->rule, path, &s, link ? "link" : "folder", err);
    if (status)
        return status;
    if (link)
        return follow_link(w, path, err);
    if (!S_ISDIR(s.st_mode))
        return tutti_fail(err, TUTTI_E_NOTFOUND, "%s: not a folder", path);
    memcpy(w->real, path, (size_t)size + 1);
    w->real_size = (size_t)size;
    return TUTTI_OK;
}

tutti_status trust_folder(const char *path, trust_rule rule, char **ret_real, tutti_error *err)
{
    char part[PATH_MAX];
    walk *w = calloc(1, sizeof *w);
    tutti_status status = TUTTI_OK;
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to walk the path", path);
    w->rule = rule;
    size_t used = 0;
    if (path[0] != '/') {
        if (!getcwd(w->rest, sizeof w->rest / 2)) {
            status = io_error(".", err);
            goto done;
        }
        used = strlen(w->rest);
    }
    if (used + strlen(path) + 2 > sizeof w->rest) {
        status = tutti_fail(err, TUTTI_E_IO, "%s: the path is too long", path);
        goto done;
    }
    w->rest[used] = '/';
    memcpy(w->rest + used + 1, path, strlen(path) + 1);
    while (!status) {
        next_part(w, part);
        if (!*part)
            break;
        status = walk_part(w, part, err);
    }
    if (!status) {
        *ret_real = strdup(w->real_size ? w->real : "/");
        if (!*ret_real)
            status = tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the path", path);
    }
done:
    free(w);
    return status;
}

static file_mark mark_of(const struct stat *s)
{
    const file_mark m = {(uint64_t)s->st_dev, (uint64_t)s->st_ino, (int64_t)s->st_size,
                         (int64_t)s->st_ctim.tv_sec * 1000000000 + s->st_ctim.tv_nsec};
    return m;
}

bool mark_equal(const file_mark *a, const file_mark *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed_ns == b->changed_ns;
}

tutti_status trust_file(const char *folder, const char *name, trust_rule rule, char **ret_path,
                        file_mark *ret_mark, tutti_error *err)
{
    char path[PATH_MAX];
    struct stat s;
    size_t end = strlen(folder);
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: the path is too long", folder, name);
    for (bool last = false; !last;) {
        end += 1 + strcspn(path + end + 1, "/");
        const char mark = path[end];
        last = !mark;
        path[end] = '\0';
        if (lstat(path, &s))
            return io_error(path, err);
        if (S_ISLNK(s.st_mode))
            return tutti_fail(err, TUTTI_E_TRUST, "%s: a symbolic link, want a regular %s",
                              path, last ? "file" : "folder");
        if (last ? !S_ISREG(s.st_mode) : !S_ISDIR(s.st_mode))
            return tutti_fail(err, TUTTI_E_TRUST, "%s: not a regular %s", path,
                              last ? "file" : "folder");
        const tutti_status status = judge(&rule, path, &s, last ? "file" : "folder", err);
        if (status)
            return status;
        path[end] = mark;
    }
    char *copy = strdup(path);
    if (!copy)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the path", path);
    *ret_path = copy;
    *ret_mark = mark_of(&s);
    return TUTTI_OK;
}

static tutti_status same(const char *path, const struct stat *s, const file_mark *mark,
                         tutti_error *err)
{
    const file_mark now = mark_of(s);
    if (!mark_equal(&now, mark))
        return tutti_fail(err, TUTTI_E_TRUST, "%s: the file has changed since it was judged",
                          path);
    return TUTTI_OK;
}

tutti_status trust_same(const char *path, const file_mark *mark, tutti_error *err)
{
    struct stat s;
    return lstat(path, &s) ? io_error(path, err) : same(path, &s, mark, err);
}

tutti_status trust_same_open(int fd, const char *path, const file_mark *mark, tutti_error *err)
{
    struct stat s;
    return fstat(fd, &s) ? io_error(path, err) : same(path, &s, mark, err);
}

tutti_status trust_sha256(const char *path, char *hex, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    unsigned char chunk[16384], digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = NULL;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return io_error(path, err);
    context = EVP_MD_CTX_new();
    ssize_t got = 0;
    bool good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    while (good && (got = read(fd, chunk, sizeof chunk)) > 0)
        good = EVP_DigestUpdate(context, chunk, (size_t)got);
    if (got < 0)
        status = io_error(path, err);
    else if (!good || !EVP_DigestFinal_ex(context, digest, &size) || size != 32)
        status = tutti_fail(err, TUTTI_E_FAIL, "%s: no SHA-256 from libcrypto", path);
    EVP_MD_CTX_free(context);
    (void)close(fd);
    for (unsigned k = 0; k < 32 && !status; k++)
        (void)snprintf(hex + 2 * k, 3, "%02x", digest[k]);
    return status;
}

tutti_status trust_pinned(const char *lock_file, const char *path, tutti_error *err)
{
    char hex[TRUST_HEX_SIZE], line[PATH_MAX + 80];
    tutti_status status = trust_sha256(path, hex, err);
    if (status)
        return status;
    FILE *file = fopen(lock_file, "re");
    if (!file)
        return tutti_fail(err, TUTTI_E_IO, "%s: %s", lock_file, strerror(errno));
    status = TUTTI_E_NOTFOUND;
    while (status == TUTTI_E_NOTFOUND && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strlen(line) < 67 || strcmp(line + 66, path) != 0)
            continue;
        line[64] = '\0';
        status = strcmp(line, hex) == 0
                     ? TUTTI_OK
                     : tutti_fail(err, TUTTI_E_TRUST, "%s: has SHA-256 %s, but %s pins %s",
                                  path, hex, lock_file, line);
    }
    (void)fclose(file);
    if (status == TUTTI_E_NOTFOUND)
        return tutti_fail(err, TUTTI_E_TRUST, "%s: not pinned in %s", path, lock_file);
    return status;
}
