/* value.h - inputs other than images: arrays of NumPy, texts, members of JSON objects. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_WEBDATASET_VALUE_H
#define PLUGIN_WEBDATASET_VALUE_H

#include "tutti/tensor.h"

typedef enum wds_kind {
    WDS_IMAGE, /* any ending but these */
    WDS_ARRAY, /* npy: its dtype and shape; uint32 is upcast to i64 */
    WDS_TEXT,  /* txt: its bytes, u8 (N) */
    WDS_JSON /* json: of the member a number f32 (), a list of numbers f32 (N), a text's bytes u8 (N) */
} wds_kind;

wds_kind wds_kind_of(const char *ending);

/* A file as a tensor: `to` NULL asks for its shape alone.  `name` begins sentences, `key` is the member of a JSON object.
 * Errors: E_FORMAT, E_RANGE it does not fit into `capacity` bytes, E_NOMEM, and what an array is refused for.  [any] */
TUTTI_NODISCARD tutti_status wds_value(wds_kind kind, const char *name, const char *key,
                                       const uint8_t *data, uint64_t size, tutti_desc *ret_desc,
                                       void *to, uint64_t capacity, tutti_error *err);

#endif
