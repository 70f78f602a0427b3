/* bytes.c - reading a held file, sealing it in memory, SHA-256. */
/* SPDX-License-Identifier: Apache-2.0 */
/* EVP_Digest, which is to take the place of SHA256_Init, allocates when it is first called, and libcrypto crashes where
 * that fails. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "plugin/trust/bytes.h"
#include "base/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MFD_EXEC /* Linux 6.3: executable memory is asked for by name */
#define MFD_EXEC 0x0010U
#endif

/* `size` bytes at the file's begin. */
static tutti_status read_all(const held *file, unsigned char *to, size_t size, tutti_error *err)
{
    if (whole_read(file->fd, to, size, 0) != size)
        return errno ? tutti_fail(err, TUTTI_E_IO, "%s: %s", file->path, strerror(errno))
                     : tutti_fail(err, TUTTI_E_TRUST,
                                  "%s: the file has changed since it was judged", file->path);
    return trust_same(file, &file->mark, err);
}

tutti_status bytes_read(const held *file, size_t limit, bytes *ret, tutti_error *err)
{
    const size_t size = (size_t)file->mark.size;
    if (size > limit)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: larger than the limit of %zu bytes",
                          file->path, limit);
    unsigned char *data = malloc(size + 1);
    if (!data)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory to judge it", file->path);
    const tutti_status status = read_all(file, data, size, err);
    if (status) {
        free(data);
        return status;
    }
    data[size] = '\0';
    *ret = (bytes){data, size, -1};
    return TUTTI_OK;
}

/* Memory with a name that /proc/<pid>/maps shows. */
static int make_memory(const char *path)
{
    char name[200];
    const char *slash = strrchr(path, '/');
    (void)snprintf(name, sizeof name, "tutti:%s", slash ? slash + 1 : path);
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    return fd >= 0 || errno != EINVAL ? fd
                                      : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* The limit of files holds for this memory too, and its sentence names it: the plugin's file is not what is too large. */
static tutti_status no_memory(const held *file, const char *what, tutti_error *err)
{
    const int why = errno;
    struct rlimit most;
    if (why == EFBIG && getrlimit(RLIMIT_FSIZE, &most) == 0)
        return tutti_fail(err, TUTTI_E_NOMEM,
                          "%s: no memory to load it from: it has %llu bytes, and the limit of "
                          "file sizes (ulimit -f) is %llu",
                          file->path, (unsigned long long)file->mark.size,
                          (unsigned long long)most.rlim_cur);
    const bool lacks = why == ENOMEM || why == ENOSPC;
    return tutti_fail(err, lacks ? TUTTI_E_NOMEM : TUTTI_E_IO,
                      "%s: no memory to load it from: %s: %s", file->path, what, strerror(why));
}

/* The memory is filled through a view that is gone before it is sealed. */
static tutti_status fill(const held *file, int fd, size_t size, tutti_error *err)
{
    if (ftruncate(fd, (off_t)size) != 0 ||
        (errno = posix_fallocate(fd, 0, (off_t)size)) != 0) /* else a full /dev/shm is SIGBUS */
        return no_memory(file, "ftruncate", err);
    unsigned char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (to == MAP_FAILED)
        return no_memory(file, "mmap", err);
    const tutti_status status = read_all(file, to, size, err);
    (void)munmap(to, size);
    return status;
}

tutti_status bytes_seal(const held *file, bytes *ret, tutti_error *err)
{
    const size_t size = (size_t)file->mark.size;
    if (!size)
        return tutti_fail(err, TUTTI_E_FORMAT, "%s: an empty file", file->path);
    const int fd = make_memory(file->path);
    if (fd < 0)
        return no_memory(file, "memfd_create", err);
    tutti_status status = fill(file, fd, size, err);
    void *data = MAP_FAILED;
    if (!status &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        status = no_memory(file, "F_ADD_SEALS", err);
    if (!status && (data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        status = no_memory(file, "mmap", err);
    if (status) {
        (void)close(fd);
        return status;
    }
    *ret = (bytes){data, size, fd};
    return TUTTI_OK;
}

void bytes_free(bytes *b)
{
    if (b->data && b->fd >= 0) {
        (void)munmap(b->data, b->size);
        (void)close(b->fd);
    } else
        free(b->data);
    *b = (bytes){NULL, 0, -1};
}

tutti_status bytes_sha256(const bytes *b, const char *path, char *hex, tutti_error *err)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX context;
    if (!SHA256_Init(&context) || !SHA256_Update(&context, b->data, b->size) ||
        !SHA256_Final(digest, &context))
        return tutti_fail(err, TUTTI_E_FAIL, "%s: no SHA-256 from libcrypto", path);
    for (unsigned k = 0; k < sizeof digest; k++)
        (void)snprintf(hex + 2 * k, 3, "%02x", digest[k]);
    return TUTTI_OK;
}
