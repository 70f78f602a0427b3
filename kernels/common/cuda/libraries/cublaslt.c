/* cublaslt.c - finding cuBLASLt and opening it, once for each device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/cublaslt.h"
#include "common/cuda/libraries/symbols.h"

#include "tutti/tensor.h"

#include <stdlib.h>
#include <string.h>

static void destroy(void *object)
{
    cublaslt *lt = object;
    if (lt && lt->handle)
        (void)lt->destroy(lt->handle);
    free(lt);
}

static tutti_status make(const tutti_cuda_v1 *cuda, void **ret_object, tutti_error *err)
{
    static const cuda_symbol functions[] = {
#define LT_ENTRY(member, name, args) {#name, offsetof(cublaslt, member)},
        LT_FUNCTIONS(LT_ENTRY)
#undef LT_ENTRY
    };
    cublaslt *lt = calloc(1, sizeof *lt);
    if (!lt)
        return tutti_fail(err, TUTTI_E_NOMEM, "cuBLASLt: no memory for its functions");
    tutti_status s = cuda_symbols(cuda->ctx, cuda->symbol, "cublasLt", functions,
                                  sizeof functions / sizeof *functions, lt, err);
    if (!s) {
        size_t (*version)(void) = NULL;
        void *symbol = NULL;
        s = cuda->symbol(cuda->ctx, "cublasLt", "cublasLtGetVersion", &symbol, err);
        memcpy(&version, &symbol, sizeof symbol);
        lt->version = version ? version() : 0;
    }
    if (!s) {
        const uint32_t status = lt->create(&lt->handle);
        if (status)
            s = tutti_fail(err, TUTTI_E_FAIL, "cuBLASLt: cublasLtCreate failed with %u",
                           status);
    }
    if (s) {
        destroy(lt);
        return s;
    }
    *ret_object = lt;
    return TUTTI_OK;
}

tutti_status cublaslt_of(const tutti_cuda_v1 *cuda, const cublaslt **ret_lt, tutti_error *err)
{
    static const char key = 0;
    void *object = NULL;
    const tutti_status s = cuda->object(cuda->ctx, &key, make, destroy, &object, err);
    if (!s)
        *ret_lt = object;
    return s;
}
