/* pointwise_compile.c - pointwise fusion: the interpreter's text with expressions of plugins, compiled by NVRTC. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pointwise_fusion/pointwise_compile.h"
#include "common/cuda/libraries/nvrtc.h"
#include "pointwise_fusion/pointwise_fusion.h"
#include "pointwise_fusion/pointwise_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvrtc_prelude.cuh has these once more. */
_Static_assert(TUTTI_F32 == 1 && TUTTI_F16 == 3 && TUTTI_BF16 == 4,
               "dtypes of nvrtc_prelude.cuh");
_Static_assert(TUTTI_OP_MAX_IN == 16 && TUTTI_OP_MAX_OUT == 6, "limits of nvrtc_prelude.cuh");

typedef struct compiled {
    struct compiled *next;
    tutti_cuda_image image;
    void *code;
    uint32_t nops;
    const tutti_op *ops[FUSION_MAX_OPS];
    char name[200];
} compiled;

/* Of one device. */
typedef struct compiler {
    nvrtc nvrtc;
    compiled *all;
} compiler;

static void destroy(void *object)
{
    compiler *all = object;
    while (all->all) {
        compiled *next = all->all->next;
        free(all->all->code);
        free(all->all);
        all->all = next;
    }
    free(all);
}

static tutti_status make(const tutti_cuda_v1 *cuda, void **ret_object, tutti_error *err)
{
    compiler *all = calloc(1, sizeof *all);
    const tutti_status s =
        all ? nvrtc_load(cuda, &all->nvrtc, err)
            : tutti_fail(err, TUTTI_E_NOMEM, "pointwise_fusion: no memory for a compiler");
    if (s)
        free(all);
    else
        *ret_object = all;
    return s;
}

static tutti_status compiler_of(const tutti_cuda_v1 *cuda, compiler **ret, tutti_error *err)
{
    static const char key = 0;
    void *object = NULL;
    const tutti_status s = cuda->object(cuda->ctx, &key, make, destroy, &object, err);
    *ret = object;
    return s;
}

static const char *text_of(const tutti_op *op)
{
    const tutti_op_traits *t = TUTTI_HAS(op, tutti_op, traits) ? op->traits : NULL;
    return t && TUTTI_HAS(t, tutti_op_traits, pointwise_cuda) &&
                   t->pointwise == TUTTI_POINTWISE_CODE
               ? t->pointwise_cuda
               : NULL;
}

tutti_status pointwise_can_compile(const tutti_cuda_v1 *cuda, const tutti_op *op,
                                   tutti_error *err)
{
    compiler *ignored = NULL;
    if (!text_of(op))
        return tutti_fail(err, TUTTI_E_UNSUPPORTED, "pointwise_fusion: %s has no expression",
                          op->name);
    if (op->nin_min != op->nin_max || op->nin_max < 1 || op->nin_max > 3 ||
        op->attr_size > sizeof((fusion_instruction *)0)->attr)
        return tutti_fail(err, TUTTI_E_UNSUPPORTED,
                          "pointwise_fusion: %s has %u operands and %u bytes of attributes, "
                          "want 1 to 3 and 16 at most",
                          op->name, op->nin_max, op->attr_size);
    return compiler_of(cuda, &ignored, err);
}

/* The list of opcodes, behind the text of each operation; NULL: no memory. */
static char *whole_text(const tutti_op *const *ops, uint32_t nops)
{
    size_t bytes = 0;
    char *text = NULL;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return NULL;
    (void)fputs("#include \"pointwise_fusion/nvrtc_prelude.cuh\"\n"
                "#include \"common/cuda/device.cuh\"\n",
                f);
    for (uint32_t k = 0; k < nops; k++)
        (void)fprintf(f, "#line 1 \"%s\"\n%s\n", ops[k]->name, text_of(ops[k]));
    (void)fputs("#define POINTWISE_MORE(OP1, OP1_ATTR, OP2, OP2_ATTR, OP3, OP3_ATTR)", f);
    for (uint32_t k = 0; k < nops; k++)
        (void)fprintf(f, " OP%u%s(%s%s)", ops[k]->nin_max, ops[k]->attr_size ? "_ATTR" : "",
                      ops[k]->name, ops[k]->attr_size ? ", void" : "");
    (void)fputs("\n#include \"pointwise_fusion/pointwise_fusion.cu\"\n", f);
    const int failed = ferror(f);
    if (fclose(f) || failed) {
        free(text);
        return NULL;
    }
    return text;
}

static void name_them(compiled *c)
{
    size_t used = (size_t)snprintf(c->name, sizeof c->name, "pointwise_fusion with");
    for (uint32_t k = 0; k < c->nops && used < sizeof c->name; k++)
        used += (size_t)snprintf(c->name + used, sizeof c->name - used, "%s %s", k ? "," : "",
                                 c->ops[k]->name);
    c->image.name = c->name;
}

/* Into the compiler's list, in front. */
static tutti_status add(compiler *all, const tutti_cuda_v1 *cuda, const tutti_op *const *ops,
                        uint32_t nops, tutti_error *err)
{
    compiled *c = calloc(1, sizeof *c);
    char *text = c ? whole_text(ops, nops) : NULL;
    if (!text) {
        free(c);
        return tutti_fail(err, TUTTI_E_NOMEM, "pointwise_fusion: no memory for its text");
    }
    c->nops = nops;
    memcpy(c->ops, ops, nops * sizeof(const tutti_op *));
    name_them(c);
    const tutti_status s = nvrtc_compile(&all->nvrtc, cuda, c->name, text, pointwise_text,
                                         pointwise_text_count, &c->code, &c->image.bytes, err);
    free(text);
    if (s) {
        free(c);
        return s;
    }
    c->image.data = c->code;
    c->next = all->all;
    all->all = c;
    return TUTTI_OK;
}

tutti_status pointwise_compile(const tutti_op_call *c, const tutti_op *const *ops,
                               uint32_t nops, const tutti_cuda_image **ret_image,
                               tutti_error *err)
{
    compiler *all = NULL;
    const compiled *found = NULL;
    tutti_status s = compiler_of(c->cuda, &all, err);
    if (s)
        return s;
    for (found = all->all; found; found = found->next)
        if (found->nops == nops &&
            memcmp(found->ops, ops, nops * sizeof(const tutti_op *)) == 0)
            break;
    if (!found) {
        s = add(all, c->cuda, ops, nops, err);
        found = all->all;
    }
    if (s)
        return s;
    cuda_tell_library(c, "NVRTC", all->nvrtc.number, found->name);
    *ret_image = &found->image;
    return TUTTI_OK;
}
