/* code_format.h - files of device code: a header, an entry for each image, then the images. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_CODE_FORMAT_H
#define HOST_DEVICE_CUDA_CODE_FORMAT_H

#include <stdint.h>

#define CODE_MAGIC "tutticc1"
#define CODE_STANDIN "emulated.code" /* what the stand-in reads: each image is its own name */

enum { CODE_MOST_IMAGES = 4096, CODE_ALIGN = 64 };

/* In the bytes of the machine that writes and reads it. */
typedef struct code_header {
    char magic[8];
    uint32_t capability; /* 90; 0: for the stand-in */
    uint32_t count;      /* of entries, which follow */
} code_header;

typedef struct code_entry {
    char name[64];   /* "kernels/exp", ended by a 0 */
    char sha256[64]; /* of the image, in hexadecimal digits */
    uint64_t offset; /* from the file's beginning, a multiple of CODE_ALIGN */
    uint64_t bytes;
} code_entry;

/* A file that belongs to this build: SHA-256 of its header and entries in hexadecimal digits. */
typedef struct code_id {
    int capability;
    const char *sha256; /* NULL ends the list */
} code_id;

#endif
