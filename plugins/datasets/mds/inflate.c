/* inflate.c - one function a compression, by the library that this build has for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "inflate.h"

#include <stdio.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>
#if MDS_HAS_BROTLI
#include <brotli/decode.h>
#endif
#if MDS_HAS_BZIP2
#include <bzlib.h>
#endif
#if MDS_HAS_SNAPPY
#include <snappy-c.h>
#endif

enum { PIECE = 1 << 30 }; /* zlib and bzip2 count in 32 bits */

/* What they return: bytes that were written, which are those wanted if all went well; -1: the bytes are broken. */
typedef int64_t inflater(const uint8_t *zip, uint64_t zip_size, uint8_t *raw,
                         uint64_t raw_size);

static int64_t inflate_zstd(const uint8_t *zip, uint64_t zip_size, uint8_t *raw,
                            uint64_t raw_size)
{
    const size_t n = ZSTD_decompress(raw, raw_size, zip, zip_size);
    return ZSTD_isError(n) ? -1 : (int64_t)n;
}

/* The file may be of several members. */
static int64_t inflate_gzip(const uint8_t *zip, uint64_t zip_size, uint8_t *raw,
                            uint64_t raw_size)
{
    uint64_t in = 0, out = 0;
    z_stream z = {0};
    int r = inflateInit2(&z, MAX_WBITS + 16);
    while (r == Z_OK && in < zip_size) {
        const uInt give = (uInt)(zip_size - in < PIECE ? zip_size - in : PIECE);
        const uInt room = (uInt)(raw_size - out < PIECE ? raw_size - out : PIECE);
        z.next_in = (Bytef *)(uintptr_t)(zip + in);
        z.avail_in = give;
        z.next_out = raw + out;
        z.avail_out = room;
        r = inflate(&z, Z_NO_FLUSH);
        in += give - z.avail_in;
        out += room - z.avail_out;
        if (r == Z_STREAM_END && in < zip_size)
            r = inflateReset(&z);
    }
    (void)inflateEnd(&z);
    return r == Z_STREAM_END ? (int64_t)out : -1;
}

#if MDS_HAS_BZIP2
static int64_t inflate_bzip2(const uint8_t *zip, uint64_t zip_size, uint8_t *raw,
                             uint64_t raw_size)
{
    uint64_t in = 0, out = 0;
    int r = BZ_OK;
    while (r == BZ_OK && in < zip_size) { /* a stream each time round */
        bz_stream z = {0};
        r = BZ2_bzDecompressInit(&z, 0, 0);
        while (r == BZ_OK) {
            const unsigned give = (unsigned)(zip_size - in < PIECE ? zip_size - in : PIECE);
            const unsigned room = (unsigned)(raw_size - out < PIECE ? raw_size - out : PIECE);
            z.next_in = (char *)(uintptr_t)(zip + in);
            z.avail_in = give;
            z.next_out = (char *)raw + out;
            z.avail_out = room;
            r = BZ2_bzDecompress(&z);
            in += give - z.avail_in;
            out += room - z.avail_out;
            if (r == BZ_OK && give == z.avail_in && room == z.avail_out)
                r = BZ_UNEXPECTED_EOF;
        }
        (void)BZ2_bzDecompressEnd(&z);
        r = r == BZ_STREAM_END ? BZ_OK : BZ_DATA_ERROR;
    }
    return r == BZ_OK ? (int64_t)out : -1;
}
#else
#define inflate_bzip2 NULL
#endif

#if MDS_HAS_BROTLI
static int64_t inflate_brotli(const uint8_t *zip, uint64_t zip_size, uint8_t *raw,
                              uint64_t raw_size)
{
    size_t size = raw_size;
    return BrotliDecoderDecompress(zip_size, zip, &size, raw) == BROTLI_DECODER_RESULT_SUCCESS
               ? (int64_t)size
               : -1;
}
#else
#define inflate_brotli NULL
#endif

#if MDS_HAS_SNAPPY
/* The block format, without frames. */
static int64_t inflate_snappy(const uint8_t *zip, uint64_t zip_size, uint8_t *raw,
                              uint64_t raw_size)
{
    size_t size = raw_size;
    return snappy_uncompress((const char *)zip, zip_size, (char *)raw, &size) == SNAPPY_OK
               ? (int64_t)size
               : -1;
}
#else
#define inflate_snappy NULL
#endif

static const struct {
    const char *kind;
    inflater *run; /* NULL: this build is without */
    const char *library, *package;
} kinds[] = {
    {"zstd", inflate_zstd, "libzstd", "libzstd-dev"},
    {"gz", inflate_gzip, "zlib", "zlib1g-dev"},
    {"bz2", inflate_bzip2, "libbz2", "libbz2-dev"},
    {"br", inflate_brotli, "libbrotlidec", "libbrotli-dev"},
    {"snappy", inflate_snappy, "libsnappy", "libsnappy-dev"},
};

tutti_status inflate_bytes(const char *kind, const void *zip, uint64_t zip_size, void *raw,
                           uint64_t raw_size, char why[INFLATE_WHY_SIZE])
{
    const size_t name = strcspn(kind, ":");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strlen(kinds[k].kind) != name || memcmp(kinds[k].kind, kind, name) != 0)
            continue;
        if (!kinds[k].run) {
            (void)snprintf(why, INFLATE_WHY_SIZE,
                           "is compressed by %s, and this build is without %s (Debian's %s)",
                           kind, kinds[k].library, kinds[k].package);
            return TUTTI_E_UNSUPPORTED;
        }
        if (kinds[k].run(zip, zip_size, raw, raw_size) == (int64_t)raw_size)
            return TUTTI_OK;
        (void)snprintf(why, INFLATE_WHY_SIZE,
                       "cannot be inflated: it is not %llu bytes compressed by %s",
                       (unsigned long long)raw_size, kind);
        return TUTTI_E_FORMAT;
    }
    (void)snprintf(why, INFLATE_WHY_SIZE,
                   "is compressed by %s; want br, bz2, gz, snappy or zstd", kind);
    return TUTTI_E_UNSUPPORTED;
}
