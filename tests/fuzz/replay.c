/* replay.c - the main program of a fuzzer where libFuzzer is not: FUZZER FOLDER runs it on each file of the folder. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Mutators call this one of libFuzzer's; a replay has no mutations. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    (void)data;
    (void)max_size;
    return size;
}

/* The bytes of a file, in a block of just their size, so that a sanitizer sees a read behind them. */
static uint8_t *read_input(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rbe");
    struct stat s;
    uint8_t *data =
        file && fstat(fileno(file), &s) == 0 ? malloc((size_t)s.st_size + !s.st_size) : NULL;
    const int good = data && fread(data, 1, (size_t)s.st_size, file) == (size_t)s.st_size;
    if (file)
        (void)fclose(file);
    if (!good) {
        free(data);
        return NULL;
    }
    *ret_size = (size_t)s.st_size;
    return data;
}

int main(int argc, char **argv)
{
    char path[PATH_MAX];
    size_t inputs = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        (void)fprintf(stderr, "%s: want a folder of inputs: %s\n", argv[0],
                      argc == 2 ? strerror(errno) : "one argument");
        return 2;
    }
    for (const struct dirent *e; (e = readdir(folder));) {
        size_t size = 0;
        if (e->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        uint8_t *data = read_input(path, &size);
        if (!data) {
            (void)fprintf(stderr, "%s: cannot be read: %s\n", path, strerror(errno));
            (void)closedir(folder);
            return 2;
        }
        (void)fprintf(stderr, "%s\n", path); /* the last one that is told has crashed it */
        (void)LLVMFuzzerTestOneInput(data, size);
        free(data);
        inputs++;
    }
    (void)closedir(folder);
    (void)printf("%zu inputs\n", inputs);
    return 0;
}
