/* set_writer.h - sets of MDS shards for tests, written from the format's description. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MDS_SET_WRITER_H
#define MDS_SET_WRITER_H

#include "folder_check.h"
#include "plugin_check.h"

#include <openssl/evp.h>
#include <png.h>
#include <stdio.h>
#include <turbojpeg.h>
#include <zstd.h>

enum { WRITER_ROOM = 1 << 16, WRITER_COLUMNS = 4, WRITER_SAMPLES = 40 };

/* A set of one shard.  Fill in the columns, add samples, write it, free nothing. */
typedef struct writer {
    char folder[FOLDER_SIZE];
    const char *names[WRITER_COLUMNS], *encodings[WRITER_COLUMNS];
    int sizes[WRITER_COLUMNS]; /* -1: differs */
    int ncolumns;
    int nsamples;
    uint8_t data[WRITER_ROOM]; /* samples, one after the other */
    uint32_t ends[WRITER_SAMPLES + 1];
    uint32_t used;
    /* choices */
    int zip;               /* compress; the raw file is not written */
    const char *hash;      /* instead of the true sha1 */
    const char *hash_kind; /* instead of sha1 */
    long claim;            /* samples in the index instead of the true number */
    int cut;               /* bytes left out at the end of the file */
    int copies;            /* how often the index lists the shard; 0: once */
} writer;

typedef struct bytes {
    const void *data;
    size_t size;
} bytes;

static inline void writer_start(writer *w)
{
    memset(w, 0, sizeof *w);
    w->claim = -1;
    folder_make(w->folder);
}

static inline void writer_column(writer *w, const char *name, const char *encoding, int size)
{
    w->names[w->ncolumns] = name;
    w->encodings[w->ncolumns] = encoding;
    w->sizes[w->ncolumns++] = size;
}

static inline void writer_put(writer *w, const void *data, size_t size)
{
    ck_assert(w->used + size <= sizeof w->data);
    memcpy(w->data + w->used, data, size);
    w->used += (uint32_t)size;
}

/* One sample: a field for every column. */
static inline void writer_sample(writer *w, const bytes *fields)
{
    for (int k = 0; k < w->ncolumns; k++) {
        const uint32_t size = (uint32_t)fields[k].size;
        if (w->sizes[k] < 0)
            writer_put(w, &size, 4);
    }
    for (int k = 0; k < w->ncolumns; k++)
        writer_put(w, fields[k].data, fields[k].size);
    w->ends[++w->nsamples] = w->used;
}

static inline void writer_file(const writer *w, const char *name, const void *data, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", w->folder, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, size, f), size);
    (void)fclose(f);
}

static inline void writer_info(const writer *w, FILE *f, const char *key, const char *name,
                               const void *data, size_t size)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    ck_assert(EVP_Digest(data, size, digest, &n, EVP_sha1(), NULL) == 1);
    (void)fprintf(f, "\"%s\": {\"basename\": \"%s\", \"bytes\": %zu, \"hashes\": {\"%s\": \"",
                  key, name, size, w->hash_kind ? w->hash_kind : "sha1");
    for (unsigned k = 0; !w->hash && k < n; k++)
        (void)fprintf(f, "%02x", digest[k]);
    (void)fprintf(f, "%s\"}}", w->hash ? w->hash : "");
}

static inline void writer_list(FILE *f, const char *key, const char *const *texts, int n)
{
    (void)fprintf(f, "\"%s\": [", key);
    for (int k = 0; k < n; k++)
        (void)fprintf(f, "%s\"%s\"", k ? ", " : "", texts[k]);
    (void)fprintf(f, "], ");
}

/* What the index says of the shard. */
static inline void writer_entry(const writer *w, FILE *f, bytes raw, bytes zip)
{
    (void)fprintf(f, "{\"format\": \"mds\", \"version\": 2, ");
    writer_list(f, "column_names", w->names, w->ncolumns);
    writer_list(f, "column_encodings", w->encodings, w->ncolumns);
    (void)fprintf(f, "\"column_sizes\": [");
    for (int k = 0; k < w->ncolumns; k++)
        (void)fprintf(f, w->sizes[k] < 0 ? "%snull" : "%s%d", k ? ", " : "", w->sizes[k]);
    (void)fprintf(f, "], \"samples\": %ld, \"hashes\": [\"sha1\"], \"compression\": %s, ",
                  w->claim >= 0 ? w->claim : (long)w->nsamples, w->zip ? "\"zstd:3\"" : "null");
    writer_info(w, f, "raw_data", "shard.0.mds", raw.data, raw.size);
    (void)fprintf(f, ", ");
    if (w->zip)
        writer_info(w, f, "zip_data", "shard.0.mds.zstd", zip.data, zip.size);
    else
        (void)fprintf(f, "\"zip_data\": null");
    (void)fprintf(f, "}");
}

/* Writes shard and index. */
static inline void writer_finish(writer *w)
{
    static uint8_t raw[WRITER_ROOM + 4096], zip[WRITER_ROOM + 8192];
    char path[128];
    const uint32_t n = (uint32_t)w->nsamples, header = 4 + 4 * (n + 1);
    memcpy(raw, &n, 4);
    for (uint32_t k = 0; k <= n; k++) {
        const uint32_t at = header + w->ends[k];
        memcpy(raw + 4 + 4 * k, &at, 4);
    }
    memcpy(raw + header, w->data, w->used);
    const size_t size = header + w->used;
    const size_t zipped = ZSTD_compress(zip, sizeof zip, raw, size, 3);
    if (w->zip)
        writer_file(w, "shard.0.mds.zstd", zip, zipped - (size_t)w->cut);
    else
        writer_file(w, "shard.0.mds", raw, size - (size_t)w->cut);
    (void)snprintf(path, sizeof path, "%s/index.json", w->folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    (void)fprintf(f, "{\"version\": 2, \"shards\": [");
    for (int k = 0; k == 0 || k < w->copies; k++) {
        (void)fprintf(f, "%s", k ? ", " : "");
        writer_entry(w, f, (bytes){raw, size}, (bytes){zip, zipped});
    }
    (void)fprintf(f, "]}");
    (void)fclose(f);
}

/* A picture of one colour, or grey, as a JPEG or PNG; lives until the next but three. */
static inline bytes set_picture(const char *kind, int width, int height, int channels,
                                int value)
{
    static uint8_t pixels[64 * 64 * 3], out[4][16384];
    static int turn;
    uint8_t *to = out[turn++ % 4];
    for (int k = 0; k < width * height * channels; k++)
        pixels[k] = (uint8_t)(value + 20 * (k % channels));
    if (strcmp(kind, "png") == 0) {
        png_image image = {.version = PNG_IMAGE_VERSION,
                           .width = (png_uint_32)width,
                           .height = (png_uint_32)height,
                           .format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB};
        png_alloc_size_t size = sizeof out[0];
        ck_assert(png_image_write_to_memory(&image, to, &size, 0, pixels, 0, NULL));
        return (bytes){to, size};
    }
    tjhandle tj = tjInitCompress();
    unsigned char *jpeg = to;
    unsigned long size = sizeof out[0];
    ck_assert_int_eq(
        tjCompress2(tj, pixels, width, 0, height, channels == 1 ? TJPF_GRAY : TJPF_RGB, &jpeg,
                    &size, channels == 1 ? TJSAMP_GRAY : TJSAMP_420, 95, TJFLAG_NOREALLOC),
        0);
    (void)tjDestroy(tj);
    return (bytes){to, size};
}

#endif
