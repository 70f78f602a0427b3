/* absent.c - a build without protobuf-c writes no ONNX files, and says so. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "export/onnx.h"

tutti_status onnx_export(net *n, const char *path, const onnx_options *o,
                         onnx_report *ret_report, tutti_error *err)
{
    (void)n, (void)o, (void)ret_report;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "%s: this program was built without protobuf-c, which writes ONNX files "
                      "(Debian: libprotobuf-c-dev and protobuf-c-compiler)",
                      path);
}
