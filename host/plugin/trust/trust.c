/* trust.c - walking a path part by part on open descriptors: what is judged is what is held. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/trust/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 16 };

/* A path under way: `real` has been opened and judged, `rest` is still to do. */
typedef struct walk {
    char real[PATH_MAX];
    char rest[PATH_MAX];
    size_t real_size;
    int fd; /* of `real` */
    struct stat s;
    trust_rule rule;
    int links;
    bool to_file; /* the last part is a regular file */
    bool at_file; /* and has been reached */
} walk;

static tutti_status io_error(const char *path, tutti_error *err)
{
    const int why = errno;
    if (why == ENOMEM)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", path);
    return tutti_fail(err, why == ENOENT || why == ENOTDIR ? TUTTI_E_NOTFOUND : TUTTI_E_IO,
                      "%s: %s", path, strerror(why));
}

static tutti_status judge(const trust_rule *rule, const char *path, const struct stat *s,
                          const char *what, tutti_error *err)
{
    if (!rule->owner)
        return TUTTI_OK;
    const tutti_status status = owner_judge(path, s, what, rule->beside, err);
    if (rule->refusals)
        *rule->refusals += status != TUTTI_OK;
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

void held_close(held *h)
{
    if (h->path)
        (void)close(h->fd);
    free(h->path);
    *h = (held){0};
}

/* Takes the descriptor into *ret, or closes it. */
static tutti_status hold(int fd, const char *path, const struct stat *s, held *ret,
                         tutti_error *err)
{
    char *copy = strdup(path);
    if (!copy) {
        (void)close(fd);
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for the path", path);
    }
    *ret = (held){copy, fd, mark_of(s)};
    return TUTTI_OK;
}

/* Opens a part without following it; *ret_stat is of what the descriptor shows. */
static int open_part(int folder, const char *part, int flags, struct stat *ret_stat)
{
    const int fd = openat(folder, part, flags | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, ret_stat) != 0) {
        const int why = errno;
        (void)close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* A regular file for reading.  It was one a moment ago; whatever stands there now does not block, and is
 * judged by its descriptor. */
static tutti_status open_file(int folder, const char *part, const char *path,
                              const trust_rule *rule, int *ret_fd, struct stat *ret_stat,
                              tutti_error *err)
{
    const int fd = open_part(folder, part, O_RDONLY | O_NONBLOCK | O_NOCTTY, ret_stat);
    if (fd < 0)
        return io_error(path, err);
    const tutti_status status =
        S_ISREG(ret_stat->st_mode)
            ? judge(rule, path, ret_stat, "file", err)
            : tutti_fail(err, TUTTI_E_TRUST, "%s: not a regular file", path);
    if (status)
        (void)close(fd);
    else
        *ret_fd = fd;
    return status;
}

/* Starts again at the root; the walk's descriptor is of it. */
static tutti_status go_to_root(walk *w, tutti_error *err)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    w->real[w->real_size = 0] = '\0';
    w->fd = open_part(AT_FDCWD, "/", O_PATH | O_DIRECTORY, &w->s);
    return w->fd < 0 ? io_error("/", err) : TUTTI_OK;
}

/* Puts the target of the link that `fd` shows in front of the rest. */
static tutti_status follow_link(walk *w, int fd, const char *link, tutti_error *err)
{
    char target[PATH_MAX], joined[PATH_MAX];
    if (++w->links > MAX_LINKS)
        return tutti_fail(err, TUTTI_E_TRUST,
                          "%s: more than %d symbolic links on the way, perhaps a loop", link,
                          MAX_LINKS);
    const ssize_t size = readlinkat(fd, "", target, sizeof target - 1);
    if (size < 0)
        return io_error(link, err);
    target[size] = '\0';
    if (snprintf(joined, sizeof joined, "%s/%s", target, w->rest) >= (int)sizeof joined)
        return tutti_fail(err, TUTTI_E_IO, "%s: the path is too long", link);
    memcpy(w->rest, joined, sizeof joined);
    return target[0] == '/' ? go_to_root(w, err) : TUTTI_OK;
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

static bool is_last(const walk *w)
{
    return w->rest[strspn(w->rest, "/")] == '\0';
}

static void go_to(walk *w, int fd, const char *path, size_t size)
{
    (void)close(w->fd);
    w->fd = fd;
    memcpy(w->real, path, size + 1);
    w->real_size = size;
}

static tutti_status go_up(walk *w, tutti_error *err)
{
    /* w->real holds no links, so its parent is the part before. */
    while (w->real_size && w->real[--w->real_size] != '/')
        ;
    w->real[w->real_size] = '\0';
    const int fd = open_part(w->fd, "..", O_PATH | O_DIRECTORY, &w->s);
    if (fd < 0)
        return io_error(w->real, err);
    (void)close(w->fd);
    w->fd = fd;
    return judge(&w->rule, w->real_size ? w->real : "/", &w->s, "folder", err);
}

/* The file that ends the walk. */
static tutti_status reach_file(walk *w, const char *part, const char *path, size_t size,
                               tutti_error *err)
{
    int fd = -1;
    const tutti_status status = open_file(w->fd, part, path, &w->rule, &fd, &w->s, err);
    if (!status) {
        go_to(w, fd, path, size);
        w->at_file = true;
    }
    return status;
}

static tutti_status walk_part(walk *w, const char *part, tutti_error *err)
{
    char path[PATH_MAX];
    if (strcmp(part, ".") == 0)
        return TUTTI_OK;
    if (strcmp(part, "..") == 0)
        return go_up(w, err);
    const int size = snprintf(path, sizeof path, "%s/%s", w->real, part);
    if (size >= (int)sizeof path)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: the path is too long", w->real, part);
    const int fd = open_part(w->fd, part, O_PATH, &w->s);
    if (fd < 0)
        return io_error(path, err);
    const bool link = S_ISLNK(w->s.st_mode), folder = S_ISDIR(w->s.st_mode);
    tutti_status status = TUTTI_OK;
    if (link || folder)
        status = judge(&w->rule, path, &w->s, link ? "link" : "folder", err);
    if (!status && link)
        status = follow_link(w, fd, path, err);
    else if (!status && folder) {
        go_to(w, fd, path, (size_t)size);
        return TUTTI_OK;
    } else if (!status && w->to_file && is_last(w) && S_ISREG(w->s.st_mode))
        status = reach_file(w, part, path, (size_t)size, err);
    else if (!status)
        status = w->to_file && is_last(w)
                     ? tutti_fail(err, TUTTI_E_TRUST, "%s: not a regular file", path)
                     : tutti_fail(err, TUTTI_E_NOTFOUND, "%s: not a folder", path);
    (void)close(fd);
    return status;
}

/* The whole of `path` into w->rest, from the root. */
static tutti_status begin(walk *w, const char *path, tutti_error *err)
{
    size_t used = 0;
    if (path[0] != '/') {
        if (!getcwd(w->rest, sizeof w->rest / 2))
            return io_error(".", err);
        used = strlen(w->rest);
    }
    if (used + strlen(path) + 2 > sizeof w->rest)
        return tutti_fail(err, TUTTI_E_IO, "%s: the path is too long", path);
    w->rest[used] = '/';
    memcpy(w->rest + used + 1, path, strlen(path) + 1);
    return go_to_root(w, err);
}

/* From a held folder, which has been judged, to what `name` below it leads to. */
static tutti_status begin_below(walk *w, const held *folder, const char *name, tutti_error *err)
{
    w->real_size = folder->path[1] ? strlen(folder->path) : 0;
    if (w->real_size >= sizeof w->real || strlen(name) >= sizeof w->rest)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: the path is too long", folder->path, name);
    memcpy(w->real, folder->path, w->real_size);
    memcpy(w->rest, name, strlen(name) + 1);
    w->fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0);
    return w->fd < 0 || fstat(w->fd, &w->s) ? io_error(folder->path, err) : TUTTI_OK;
}

/* `path` from the root, or from `folder` where there is one. */
static tutti_status walk_to(const held *folder, const char *path, bool to_file, trust_rule rule,
                            held *ret, tutti_error *err)
{
    char part[PATH_MAX];
    walk *w = calloc(1, sizeof *w);
    if (!w)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to walk the path", path);
    w->rule = rule;
    w->to_file = to_file;
    w->fd = -1;
    tutti_status status = folder ? begin_below(w, folder, path, err) : begin(w, path, err);
    while (!status) {
        next_part(w, part);
        if (!*part)
            break;
        status = walk_part(w, part, err);
    }
    if (!status && to_file && !w->at_file)
        status = tutti_fail(err, TUTTI_E_TRUST, "%s: not a regular file", path);
    if (!status) {
        status = hold(w->fd, w->real_size ? w->real : "/", &w->s, ret, err);
        w->fd = -1;
    }
    if (w->fd >= 0)
        (void)close(w->fd);
    free(w);
    return status;
}

tutti_status trust_folder(const char *path, trust_rule rule, held *ret, tutti_error *err)
{
    return walk_to(NULL, path, false, rule, ret, err);
}

tutti_status trust_folder_below(const held *folder, const char *name, trust_rule rule,
                                held *ret, tutti_error *err)
{
    return walk_to(folder, name, false, rule, ret, err);
}

tutti_status trust_path(const char *path, trust_rule rule, held *ret, tutti_error *err)
{
    return walk_to(NULL, path, true, rule, ret, err);
}

/* One part below a held folder: no link, and of the right kind. */
static tutti_status open_below(int folder, const char *part, const char *path, bool last,
                               const trust_rule *rule, int *ret_fd, struct stat *s,
                               tutti_error *err)
{
    const char *what = last ? "file" : "folder";
    const int fd = open_part(folder, part, O_PATH, s);
    if (fd < 0)
        return io_error(path, err);
    tutti_status status = TUTTI_OK;
    if (S_ISLNK(s->st_mode))
        status = tutti_fail(err, TUTTI_E_TRUST, "%s: a symbolic link, want a regular %s", path,
                            what);
    else if (last ? !S_ISREG(s->st_mode) : !S_ISDIR(s->st_mode))
        status = tutti_fail(err, TUTTI_E_TRUST, "%s: not a regular %s", path, what);
    else if (last)
        status = open_file(folder, part, path, rule, ret_fd, s, err);
    else
        status = judge(rule, path, s, what, err);
    if (last || status)
        (void)close(fd);
    else
        *ret_fd = fd;
    return status;
}

tutti_status trust_file(const held *folder, const char *name, trust_rule rule, held *ret,
                        tutti_error *err)
{
    char path[PATH_MAX], part[PATH_MAX];
    struct stat s;
    int fd = folder->fd;
    size_t end = strlen(folder->path);
    if (snprintf(path, sizeof path, "%s/%s", end > 1 ? folder->path : "", name) >=
        (int)sizeof path)
        return tutti_fail(err, TUTTI_E_IO, "%s/%s: the path is too long", folder->path, name);
    end = end > 1 ? end : 0;
    for (bool last = false; !last;) {
        const size_t begin_at = end + 1;
        int next = -1;
        end = begin_at + strcspn(path + begin_at, "/");
        memcpy(part, path + begin_at, end - begin_at);
        part[end - begin_at] = '\0';
        const char mark = path[end];
        last = !mark;
        path[end] = '\0';
        const tutti_status status = open_below(fd, part, path, last, &rule, &next, &s, err);
        if (fd != folder->fd)
            (void)close(fd);
        if (status)
            return status;
        fd = next;
        path[end] = mark;
    }
    return hold(fd, path, &s, ret, err);
}

tutti_status trust_same(const held *file, const file_mark *mark, tutti_error *err)
{
    struct stat s;
    if (fstat(file->fd, &s))
        return io_error(file->path, err);
    const file_mark now = mark_of(&s);
    if (!mark_equal(&now, mark))
        return tutti_fail(err, TUTTI_E_TRUST, "%s: the file has changed since it was judged",
                          file->path);
    return TUTTI_OK;
}
