/* nvrtc.c - NVRTC: finding it, and device code from text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/nvrtc.h"
#include "common/cuda/libraries/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADERS = 96, MAX_ARCHITECTURES = 64 };

static tutti_status check_architecture(const nvrtc *n, int32_t capability, tutti_error *err)
{
    int count = 0, all[MAX_ARCHITECTURES];
    if (n->narchitectures(&count) || count > MAX_ARCHITECTURES || n->architectures(all))
        return tutti_fail(err, TUTTI_E_FAIL, "NVRTC %s does not list its architectures",
                          n->text);
    for (int k = 0; k < count; k++)
        if (all[k] == capability)
            return TUTTI_OK;
    return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                      "NVRTC %s does not compile for compute capability %d.%d", n->text,
                      capability / 10, capability % 10);
}

/* What the compiler wrote, up to the end of its first line that has an error. */
static tutti_status refused(const nvrtc *n, struct _nvrtcProgram *program, const char *what,
                            tutti_error *err)
{
    size_t bytes = 0;
    char *log = n->log_size(program, &bytes) || !bytes ? NULL : calloc(1, bytes + 1);
    if (log && n->log(program, log))
        *log = '\0';
    const char *first = log ? strstr(log, "error: ") : NULL;
    while (first && first > log && first[-1] != '\n')
        first--;
    (void)tutti_fail(err, TUTTI_E_ARG, "%s: NVRTC %s refuses its text: %.*s", what, n->text,
                     first ? (int)strcspn(first, "\n") : 15, first ? first : "it does not say");
    free(log);
    return TUTTI_E_ARG;
}

static tutti_status take_code(const nvrtc *n, struct _nvrtcProgram *program, const char *what,
                              void **ret_code, uint64_t *ret_bytes, tutti_error *err)
{
    size_t bytes = 0;
    if (n->cubin_size(program, &bytes) || !bytes)
        return tutti_fail(err, TUTTI_E_FAIL, "%s: NVRTC %s gives no code", what, n->text);
    char *code = malloc(bytes);
    if (!code)
        return tutti_fail(err, TUTTI_E_NOMEM, "%s: no memory for its device code", what);
    if (n->cubin(program, code)) {
        free(code);
        return tutti_fail(err, TUTTI_E_FAIL, "%s: NVRTC %s gives no code", what, n->text);
    }
    *ret_code = code;
    *ret_bytes = bytes;
    return TUTTI_OK;
}

tutti_status nvrtc_compile(const nvrtc *n, const tutti_cuda_v1 *cuda, const char *what,
                           const char *text, const nvrtc_header *headers, uint32_t nheaders,
                           void **ret_code, uint64_t *ret_bytes, tutti_error *err)
{
    const char *names[MAX_HEADERS], *texts[MAX_HEADERS];
    struct _nvrtcProgram *program = NULL;
    char architecture[40];
    const char *const options[] = {architecture, "--std=c++17", "--fmad=true"};
    if (nheaders > MAX_HEADERS)
        return tutti_fail(err, TUTTI_E_RANGE, "%s: %u headers, want %d at most", what, nheaders,
                          MAX_HEADERS);
    for (uint32_t k = 0; k < nheaders; k++) {
        names[k] = headers[k].name;
        texts[k] = headers[k].text;
    }
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d",
                   cuda->capability);
    unsigned code = n->create(&program, text, what, (int)nheaders, texts, names);
    if (!code)
        code = n->compile(program, sizeof options / sizeof *options, options);
    tutti_status s = TUTTI_OK;
    if (code == NVRTC_REFUSES_TEXT)
        s = refused(n, program, what, err);
    else if (code == NVRTC_NO_MEMORY)
        s = tutti_fail(err, TUTTI_E_NOMEM, "%s: NVRTC %s has no memory", what, n->text);
    else if (code)
        s = tutti_fail(err, TUTTI_E_FAIL, "%s: NVRTC %s failed with %u", what, n->text, code);
    if (!s)
        s = take_code(n, program, what, ret_code, ret_bytes, err);
    if (program)
        (void)n->destroy(&program);
    return s;
}

/* Compiles next to nothing: NVRTC opens a part of itself when it first compiles. */
static tutti_status try_it(const nvrtc *n, const tutti_cuda_v1 *cuda, tutti_error *err)
{
    void *code = NULL;
    uint64_t bytes = 0;
    const tutti_status s =
        nvrtc_compile(n, cuda, "no code", "typedef int nothing;", NULL, 0, &code, &bytes, err);
    free(code);
    return s;
}

tutti_status nvrtc_load(const tutti_cuda_v1 *cuda, nvrtc *ret, tutti_error *err)
{
    static const cuda_symbol functions[] = {
#define NVRTC_ENTRY(member, name, args) {#name, offsetof(nvrtc, member)},
        NVRTC_FUNCTIONS(NVRTC_ENTRY)
#undef NVRTC_ENTRY
    };
    int major = 0, minor = 0;
    const tutti_status s = cuda_symbols(cuda->ctx, cuda->symbol, "nvrtc", functions,
                                        sizeof functions / sizeof *functions, ret, err);
    if (s)
        return s;
    if (ret->version(&major, &minor))
        return tutti_fail(err, TUTTI_E_FAIL, "NVRTC: nvrtcVersion failed");
    ret->number = (uint64_t)major * 10000 + (uint64_t)minor * 100;
    (void)cuda_version_text(ret->number, ret->text);
    const tutti_status knows = check_architecture(ret, cuda->capability, err);
    return knows ? knows : try_it(ret, cuda, err);
}
