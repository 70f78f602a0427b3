/* digest.c - hashes by OpenSSL and xxHash. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include "../../common/whole_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <xxhash.h>

_Static_assert(MDS_DIGEST_SIZE > 2 * EVP_MAX_MD_SIZE, "a digest fits");

enum { PIECE = 1 << 18 };

/* One of them is there. */
typedef struct hasher {
    XXH32_state_t *x32;
    XXH64_state_t *x64;
    XXH3_state_t *x3;
    XXH3_state_t *x128;
    EVP_MD_CTX *evp;
} hasher;

static int open_evp(hasher *h, const char *kind)
{
    char name[32]; /* hashlib's sha3_256 is OpenSSL's sha3-256 */
    (void)snprintf(name, sizeof name, "%s",
                   strcmp(kind, "blake2s") == 0   ? "blake2s256"
                   : strcmp(kind, "blake2b") == 0 ? "blake2b512"
                                                  : kind);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    const EVP_MD *md = EVP_get_digestbyname(name);
    h->evp = md ? EVP_MD_CTX_new() : NULL;
    return h->evp && EVP_DigestInit_ex(h->evp, md, NULL) == 1;
}

static int hasher_open(hasher *h, const char *kind)
{
    memset(h, 0, sizeof *h);
    if (strcmp(kind, "xxh32") == 0)
        return (h->x32 = XXH32_createState()) && XXH32_reset(h->x32, 0) == XXH_OK;
    if (strcmp(kind, "xxh64") == 0)
        return (h->x64 = XXH64_createState()) && XXH64_reset(h->x64, 0) == XXH_OK;
    if (strcmp(kind, "xxh3_64") == 0)
        return (h->x3 = XXH3_createState()) && XXH3_64bits_reset(h->x3) == XXH_OK;
    if (strcmp(kind, "xxh128") == 0 || strcmp(kind, "xxh3_128") == 0)
        return (h->x128 = XXH3_createState()) && XXH3_128bits_reset(h->x128) == XXH_OK;
    return open_evp(h, kind);
}

static int hasher_add(hasher *h, const void *data, uint64_t size)
{
    if (h->x32)
        return XXH32_update(h->x32, data, size) == XXH_OK;
    if (h->x64)
        return XXH64_update(h->x64, data, size) == XXH_OK;
    if (h->x3)
        return XXH3_64bits_update(h->x3, data, size) == XXH_OK;
    if (h->x128)
        return XXH3_128bits_update(h->x128, data, size) == XXH_OK;
    return EVP_DigestUpdate(h->evp, data, size) == 1;
}

static int hasher_text(hasher *h, char ret[MDS_DIGEST_SIZE])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (h->x32)
        return snprintf(ret, 9, "%08x", XXH32_digest(h->x32));
    if (h->x64)
        return snprintf(ret, 17, "%016llx", (unsigned long long)XXH64_digest(h->x64));
    if (h->x3)
        return snprintf(ret, 17, "%016llx", (unsigned long long)XXH3_64bits_digest(h->x3));
    if (h->x128) {
        const XXH128_hash_t all = XXH3_128bits_digest(h->x128);
        return snprintf(ret, 33, "%016llx%016llx", (unsigned long long)all.high64,
                        (unsigned long long)all.low64);
    }
    if (EVP_DigestFinal_ex(h->evp, bytes, &n) != 1)
        return 0;
    for (unsigned k = 0; k < n; k++)
        (void)snprintf(ret + 2 * k, 3, "%02x", bytes[k]);
    return 1;
}

static void hasher_close(hasher *h)
{
    (void)XXH32_freeState(h->x32);
    (void)XXH64_freeState(h->x64);
    (void)XXH3_freeState(h->x3);
    (void)XXH3_freeState(h->x128);
    EVP_MD_CTX_free(h->evp);
}

int mds_digest(const char *kind, const void *data, uint64_t size, char ret[MDS_DIGEST_SIZE])
{
    hasher h;
    const int done =
        hasher_open(&h, kind) && hasher_add(&h, data, size) && hasher_text(&h, ret);
    hasher_close(&h);
    return done;
}

int mds_digest_file(const char *kind, int fd, uint64_t size, char ret[MDS_DIGEST_SIZE],
                    uint64_t *ret_read)
{
    hasher h;
    unsigned char *piece = malloc(PIECE);
    int good = hasher_open(&h, kind) && piece, why = 0;
    uint64_t at = 0;
    *ret_read = size;
    while (good && at < size) {
        const size_t want = size - at < PIECE ? (size_t)(size - at) : PIECE;
        const size_t n = whole_read(fd, piece, want, (int64_t)at);
        at += n;
        if (n < want) {
            why = errno;
            *ret_read = at;
            break;
        }
        good = hasher_add(&h, piece, n);
    }
    good = good && *ret_read == size && hasher_text(&h, ret);
    hasher_close(&h);
    free(piece);
    errno = why;
    return good;
}
