/* shared.c - what the ranks of a communicator share: a folder with a mapped file and messages. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl_standin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 300 };

bool shared_name(nccl_id *ret_id)
{
    static unsigned made;
    const char *where = getenv("TMPDIR");
    memset(ret_id, 0, sizeof *ret_id);
    return snprintf(ret_id->bytes, sizeof ret_id->bytes, "%s/tutti_nccl_%d_%u",
                    where ? where : "/tmp", (int)getpid(), made++) < (int)sizeof ret_id->bytes;
}

shared *shared_open(const char *folder)
{
    char path[PATH_BYTES];
    (void)mkdir(folder, 0700); /* by the rank that comes first */
    (void)snprintf(path, sizeof path, "%s/shared", folder);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    void *s = ftruncate(file, sizeof(shared)) == 0
                  ? mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                  : MAP_FAILED;
    (void)close(file);
    return s == MAP_FAILED ? NULL : s;
}

static void name_message(char *path, const char *folder, int from, int to, unsigned number)
{
    (void)snprintf(path, PATH_BYTES, "%s/%d-%d-%u", folder, from, to, number);
}

/* Messages that nobody has read, of an operation that was given up. */
static void remove_messages(const shared *s, const char *folder, int size)
{
    char path[PATH_BYTES];
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++)
            for (unsigned k = 0; k < atomic_load(&s->sent[from][to]); k++) {
                name_message(path, folder, from, to, k);
                (void)unlink(path);
            }
}

void shared_close(shared *s, const char *folder, int rank, int size)
{
    char path[PATH_BYTES];
    int left = 0;
    atomic_store(&s->ranks[rank].left, 1);
    for (int k = 0; k < size; k++)
        left += atomic_load(&s->ranks[k].left);
    if (left == size) {
        remove_messages(s, folder, size);
        (void)snprintf(path, sizeof path, "%s/shared", folder);
        (void)unlink(path);
        (void)rmdir(folder);
    }
    (void)munmap(s, sizeof *s);
}

bool shared_write(const char *folder, int from, int to, unsigned number, const void *data,
                  size_t bytes)
{
    char path[PATH_BYTES];
    name_message(path, folder, from, to, number);
    FILE *file = fopen(path, "wb");
    const bool written = file && fwrite(data, 1, bytes, file) == bytes;
    return (file && fclose(file) == 0) && written;
}

size_t shared_read(const char *folder, int from, int to, unsigned number, void *data,
                   size_t bytes)
{
    char path[PATH_BYTES];
    struct stat about;
    name_message(path, folder, from, to, number);
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &about) != 0)
        return SIZE_MAX;
    const size_t read = fread(data, 1, bytes, file);
    (void)fclose(file);
    (void)unlink(path);
    return read < bytes ? read : (size_t)about.st_size;
}
