/* mds_fuzz.c - any bytes as an MDS set, the index first, then a zero and the shard: an error, or fields that lie
 * inside the shard. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_file.h"
#include "json_mutator.h"

#include "datasets/mds/shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[2 * FUZZ_PATH];
    mds_set set = {0};
    volatile unsigned char sum = 0;
    tutti_error err = TUTTI_ERROR_INIT;
    const uint8_t *zero = memchr(data, 0, size);
    const size_t index = zero ? (size_t)(zero - data) : size;
    fuzz_file("shard.0.mds", zero ? zero + 1 : data, zero ? size - index - 1 : 0, path);
    fuzz_file("index.json", data, index, path);
    tutti_status s = mds_add(&set, fuzz_folder(), NULL, &err);
    if (s && !err.text[0])
        abort();
    json_tell(!json_error_is(err.text, "index.json"), s == TUTTI_OK);
    mds_seal(&set);
    for (int64_t k = 0; !s && k < set.samples && k < 64; k++) {
        mds_row row;
        if (mds_sample(&set, k, &row, &err))
            break;
        for (uint32_t c = 0; c < set.ncolumns; c++)
            for (uint64_t b = 0; b < row.fields[c].size; b++)
                sum = (unsigned char)(sum + row.fields[c].data[b]);
        mds_done(&set, k, &row);
    }
    mds_close(&set);
    return 0;
}
