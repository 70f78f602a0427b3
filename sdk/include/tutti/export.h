/* export.h - tutti.export/1: the run's model in files of other programs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_EXPORT_H
#define TUTTI_EXPORT_H

#include "base.h"

#if TUTTI_USE_MINOR >= 1
TUTTI_C_BEGIN

#define TUTTI_EXPORT_V1 "tutti.export/1" /* since 1.1 */

/* A model in a file or folder of another program.  since 1.1 */
typedef struct tutti_export {
    uint32_t struct_size;
    uint32_t reserved; /* write 0 */
    const char *
        format; /* "onnx", a file of opset 17, or "huggingface", a folder with config.json and safetensors */
    const char *path; /* of the file, whose folder is there, or of the folder, which is made */
} tutti_export;

/* Of a run with a model.  since 1.1 */
typedef struct tutti_export_v1 {
    uint32_t struct_size;
    uint32_t reserved;
    void *ctx;
    /* Writes the model as it is evaluated, in f32, with the weights of now.  What is there is replaced; a failure leaves
     * an ONNX file as it was, and a folder without the new config.json.  One process of a run calls it.  [control]
     * Errors: E_ARG an unknown format; E_UNSUPPORTED names the operation or the model without a form there, or the
     * library that the host was built without; E_STATE an algorithm has made another model of it, for "huggingface", or
     * processes of a run have divided weights among them and this was not asked for when the plugin opened; E_IO. */
    tutti_status (*write)(void *ctx, const tutti_export *what, tutti_error *err);
} tutti_export_v1;

TUTTI_C_END
#endif
#endif
