/* tar_fuzz.c - any bytes as a tar archive: files that lie inside it, then an end or an error. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "datasets/webdataset/tar.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[TAR_WHY_SIZE] = "";
    tar_reader r;
    tar_file file;
    int32_t s;
    tar_begin(&r, data, size);
    for (size_t files = 0; (s = tar_next(&r, &file, why)) > 0; files++)
        if (file.at > size || file.size > size - file.at ||
            !memchr(file.name, 0, TAR_NAME_SIZE) || files > size / 512)
            abort();
    if (s < 0 && !why[0])
        abort();
    return 0;
}
