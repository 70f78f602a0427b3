/* parts.c - the files of a shard in memory: mapped or inflated, verified, closed again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"
#include "inflate.h"
#include "shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tutti_status part_verify(const mds_file *f, const void *data, tutti_error *err)
{
    char have[MDS_DIGEST_SIZE];
    if (!f->hash ||
        (mds_digest(f->hash_kind, data, f->bytes, have) && !strcasecmp(have, f->hash)))
        return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: its %s is %s, the index says %s", f->path,
                      f->hash_kind, have, f->hash);
}

static tutti_status wrong_size(const char *path, off_t size, uint64_t want, tutti_error *err)
{
    return tutti_fail(err, TUTTI_E_FORMAT, "%s: has %llu bytes, the index says %llu", path,
                      (unsigned long long)size, (unsigned long long)want);
}

static tutti_status map_file(const char *path, uint64_t want, const unsigned char **ret_data,
                             tutti_error *err)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe does not wait */
    tutti_status s = TUTTI_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        s = tutti_fail(err, TUTTI_E_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        s = tutti_fail(err, TUTTI_E_FORMAT, "%s: is no regular file", path);
    else if ((uint64_t)st.st_size != want)
        s = wrong_size(path, st.st_size, want, err);
    else {
        void *map = mmap(NULL, (size_t)want, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            s = tutti_fail(err, TUTTI_E_IO, "%s: cannot be mapped: %s", path, strerror(errno));
        else
            *ret_data = map;
    }
    if (fd >= 0)
        (void)close(fd);
    return s;
}

static tutti_status part_inflate(mds_set *set, const mds_shard *s, mds_part *p,
                                 const unsigned char *zip, tutti_error *err)
{
    char why[INFLATE_WHY_SIZE];
    unsigned char *raw = malloc(p->raw.bytes);
    if (!raw)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for %llu bytes", p->zip.path,
                          (unsigned long long)p->raw.bytes);
    const tutti_status status =
        inflate_bytes(s->zip_kind, zip, p->zip.bytes, raw, p->raw.bytes, why);
    if (status) {
        free(raw);
        return tutti_fail(err, status, "%s: %s", p->zip.path, why);
    }
    p->data = raw;
    p->size = p->raw.bytes;
    (void)__atomic_fetch_add(&set->inflated, p->size, __ATOMIC_RELAXED);
    return TUTTI_OK;
}

/* Why the bytes of a mapped file are wrong: it may have become shorter since, and zeros follow its end in a page. */
static tutti_status name_size(const mds_file *f, tutti_status status, tutti_error *err)
{
    struct stat now;
    const int shorter = status == TUTTI_E_FORMAT && stat(f->path, &now) == 0 &&
                        (uint64_t)now.st_size != f->bytes;
    return shorter ? wrong_size(f->path, now.st_size, f->bytes, err) : status;
}

/* An uncompressed copy is used when it is there, as Streaming does. */
static tutti_status part_load(mds_set *set, const mds_shard *s, mds_part *p, tutti_error *err)
{
    const int zipped = p->zip.path && access(p->raw.path, F_OK) != 0;
    const mds_file *f = zipped ? &p->zip : &p->raw;
    const unsigned char *data = NULL;
    tutti_status status = map_file(f->path, f->bytes, &data, err);
    if (status == TUTTI_OK && set->verify && !p->verified)
        status = part_verify(f, data, err);
    p->verified = status == TUTTI_OK;
    if (status == TUTTI_OK && !zipped) {
        p->data = data;
        p->size = f->bytes;
        p->mapped = 1;
        return TUTTI_OK;
    }
    if (status == TUTTI_OK)
        status = part_inflate(set, s, p, data, err);
    if (data)
        (void)munmap((void *)(uintptr_t)data, (size_t)f->bytes);
    return name_size(f, status, err);
}

static void parts_unload(mds_set *set, mds_shard *s)
{
    for (int k = 0; k < MDS_PARTS; k++) {
        mds_part *p = &s->part[k];
        if (p->mapped)
            (void)munmap((void *)(uintptr_t)p->data, (size_t)p->size);
        else if (p->data) {
            free((void *)(uintptr_t)p->data);
            (void)__atomic_fetch_sub(&set->inflated, p->size, __ATOMIC_RELAXED);
        }
        p->data = NULL;
        p->mapped = 0;
    }
}

tutti_status mds_parts_load(mds_set *set, mds_shard *s, tutti_error *err)
{
    tutti_status status = TUTTI_OK;
    for (int k = 0; status == TUTTI_OK && k < MDS_PARTS && s->part[k].raw.path; k++)
        status = part_load(set, s, &s->part[k], err);
    if (status)
        parts_unload(set, s);
    return status;
}

void mds_shard_unload(mds_set *set, mds_shard *s)
{
    if (s->part[MDS_DATA].data)
        (void)__atomic_fetch_sub(&set->nopen, 1, __ATOMIC_RELAXED);
    parts_unload(set, s);
}

mds_shard *mds_shard_of(mds_set *set, int64_t index)
{
    uint64_t low = 0, high = set->nshards;
    while (high - low > 1) {
        const uint64_t mid = (low + high) / 2;
        if (set->shards[mid].first <= index)
            low = mid;
        else
            high = mid;
    }
    return &set->shards[low];
}

const char *mds_shard_path(const mds_shard *s)
{
    return s->part[MDS_DATA].raw.path;
}
