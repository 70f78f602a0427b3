/* encoding.h - what Streaming's column encodings say, and columns as tensors. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_MDS_ENCODING_H
#define PLUGIN_MDS_ENCODING_H

#include "../common/image.h"
#include "shard.h"

typedef enum mds_kind {
    MDS_NUMBER, /* int, int8 to int64, uint8 to uint64, float16 to float64: little endian */
    MDS_DIGITS, /* str_int, str_float, str_decimal: a number in words */
    MDS_TEXT,   /* bytes, str, json: the bytes as they are */
    MDS_ARRAY,  /* ndarray[:dtype[:shape]]; what is not given stands before the values */
    MDS_IMAGE,  /* jpeg, png */
    MDS_PIL,    /* u32 width, height, length of mode; mode; pixels */
    MDS_LIST    /* list[pil], list[jpeg], list[png], jpeg_array: u32 count, u32 sizes, images */
} mds_kind;

typedef struct mds_encoding {
    int32_t kind;    /* mds_kind */
    int32_t stored;  /* NUMBER, ARRAY: code of the stored dtype; 0: in each sample */
    int32_t integer; /* NUMBER, DIGITS: a whole number */
    int32_t dims;    /* ARRAY: dimensions; 0: in each sample */
    int64_t dim[TUTTI_MAX_RANK];
    int32_t element; /* LIST: MDS_IMAGE or MDS_PIL */
    int32_t skip;    /* LIST: bytes before the count */
} mds_encoding;

/* Errors: E_UNSUPPORTED (pickle, and names that Streaming does not have), with `why`. */
TUTTI_NODISCARD tutti_status mds_encoding_parse(const char *text, mds_encoding *ret,
                                                char why[IMAGE_WHY_SIZE]);
/* Bytes of every sample, or -1 when they differ. */
int64_t mds_encoding_bytes(const mds_encoding *e);
/* Whether the values of an ARRAY whose dtype is known are whole numbers. */
int mds_encoding_is_whole(const mds_encoding *e);

/* Whole numbers as they are stored, one after the other. */
typedef struct mds_values {
    const unsigned char *data;
    int64_t count;
    int32_t bytes; /* of one: 1, 2, 4, 8 */
    int32_t is_signed;
} mds_values;

/* Those of an ARRAY, whatever its shape.  E_FORMAT, with `why`: also where they are floats.  [any] */
TUTTI_NODISCARD tutti_status mds_encoding_values(const mds_encoding *e, const mds_field *f,
                                                 mds_values *ret, char why[IMAGE_WHY_SIZE]);
/* The whole field as numbers of the dtype with that code. */
mds_values mds_values_of(int32_t stored, const mds_field *f);
/* Value k; -1 where it is larger than an i64.  [any] */
int64_t mds_values_at(const mds_values *v, int64_t k);

/* The shape that a field becomes, without decoding it: NUMBER and DIGITS a scalar (i64 if whole,
 * else f32), TEXT u8 (N), ARRAY as stored (uint32 is upcast to i64), images u8 (H, W, C), lists of
 * images u8 (N, H, W, C).  Errors: E_FORMAT, E_NOMEM, with `why`.  [any] */
TUTTI_NODISCARD tutti_status mds_encoding_shape(const mds_encoding *e, image_pool *pool,
                                                const mds_field *f, tutti_desc *ret_desc,
                                                char why[IMAGE_WHY_SIZE]);
/* Decodes a field of that shape; `data` has room for it.  Errors as above.  [any] */
TUTTI_NODISCARD tutti_status mds_encoding_decode(const mds_encoding *e, image_pool *pool,
                                                 const mds_field *f, const tutti_desc *desc,
                                                 void *data, char why[IMAGE_WHY_SIZE]);

#endif
