/* event_file.c - folders, the name by which TensorBoard finds the file, and writing. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "event_file.h"
#include "../../common/synced_name.h"
#include "../../common/whole_io.h"

#include "event.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static tutti_status fail_io(const event_file *f, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_IO, "tensorboard: cannot write %s: %s", f->path,
                      strerror(errno));
}

static bool write_all(int fd, const void *from, size_t size)
{
    return whole_write(fd, from, size, -1) == size;
}

static void make_folders(const char *folder)
{
    char path[sizeof((event_file *)NULL)->folder + 1];
    (void)snprintf(path, sizeof path, "%s/", folder);
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(path, 0777); /* what is wrong shows when the file is opened */
        *p = '/';
    }
}

/* Whole again after a write that failed. */
static void event_file_cut(const event_file *f)
{
    const int cause = errno;
    (void)!ftruncate(f->fd, f->size);
    (void)lseek(f->fd, f->size, SEEK_SET);
    errno = cause;
}

/* A name that no other process and no other logger of this one takes; names sort by time, which is how readers
 * order them. */
static tutti_status open_file(event_file *f, tutti_error *err)
{
    char host[256] = "host";
    (void)gethostname(host, sizeof host - 1);
    make_folders(f->folder);
    for (int k = 0; f->fd < 0; k++) {
        (void)snprintf(f->path, sizeof f->path, "%s/events.out.tfevents.%010lld.%s.%ld.%d",
                       f->folder, (long long)time(NULL), host, (long)getpid(), k);
        f->fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && errno != EEXIST)
            return fail_io(f, err);
    }
    synced_name(f->path);
    return TUTTI_OK;
}

/* Its first record. */
static tutti_status begin_file(event_file *f, tutti_error *err)
{
    struct timespec now;
    bytes first = {0};
    tutti_status s = TUTTI_OK;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    event_file_version(&first, (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    if (first.failed)
        s = tutti_fail(err, TUTTI_E_NOMEM, "tensorboard: no memory");
    else if (!write_all(f->fd, first.data, first.size)) {
        s = fail_io(f, err);
        event_file_cut(f);
    } else
        f->size = (int64_t)first.size;
    free(first.data);
    return s;
}

tutti_status event_file_add(event_file *f, const outbox_record *records, uint32_t n,
                            tutti_error *err)
{
    tutti_status s = f->fd < 0 ? open_file(f, err) : TUTTI_OK;
    if (!s && f->size == 0)
        s = begin_file(f, err);
    if (s)
        return s;
    int64_t size = f->size;
    bool written = true;
    for (uint32_t k = 0; k < n && written; k++) {
        written = write_all(f->fd, records[k].data, records[k].size);
        size += (int64_t)records[k].size;
    }
    if (!written || (fsync(f->fd) != 0 && errno != EINVAL)) {
        s = fail_io(f, err);
        event_file_cut(f);
        return s;
    }
    f->size = size;
    return TUTTI_OK;
}

void event_file_close(event_file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
    f->fd = -1;
}
