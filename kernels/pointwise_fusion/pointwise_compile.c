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

/* By its text: operations come and go with the nets that use them. */
typedef struct compiled {
    struct compiled *next;
    tutti_cuda_image image;
    char *text;
    void *code;
    char name[200];
} compiled;

/* Of one device. */
typedef struct compiler {
    nvrtc nvrtc;
    compiled *all;
} compiler;

static void compiled_free(compiled *c)
{
    if (!c)
        return;
    free(c->text);
    free(c->code);
    free(c);
}

static void destroy(void *object)
{
    compiler *all = object;
    while (all->all) {
        compiled *next = all->all->next;
        compiled_free(all->all);
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
    if (op->nin_min != op->nin_max || op->nin_max < 1 || op->nin_max > 3)
        return tutti_fail(err, TUTTI_E_ARG,
                          "pointwise_fusion: %s has %u to %u operands, want 1, 2 or 3 always",
                          op->name, op->nin_min, op->nin_max);
    if (op->attr_size > sizeof((fusion_instruction *)0)->attr)
        return tutti_fail(err, TUTTI_E_ARG,
                          "pointwise_fusion: %s has %u bytes of attributes, want 16 at most",
                          op->name, op->attr_size);
    return compiler_of(cuda, &ignored, err);
}

/* The operation's name without the plugin's, "id@version:name". */
static const char *own_name(const tutti_op *op)
{
    const char *colon = strrchr(op->name, ':');
    return colon ? colon + 1 : op->name;
}

/* Operation k is called more_k; its text is in a namespace of its own, so that no names of two plugins, or of a plugin
 * and the interpreter, are one. */
static void write_operation(FILE *f, const tutti_op *op, uint32_t k)
{
    static const char *const operands[] = {"", "x", "x, y", "x, y, z"};
    static const char *const typed[] = {"", "float x", "float x, float y",
                                        "float x, float y, float z"};
    (void)fprintf(f, "namespace more_%u\n{\n#line 1 \"%s\"\n%s\n}\n", k, op->name, text_of(op));
    (void)fprintf(f, "#line 1 \"pointwise_fusion\"\n");
    (void)fprintf(f, "__device__ static inline float more_%u_f32(%s%s)\n", k,
                  typed[op->nin_max], op->attr_size ? ", const void *attr" : "");
    (void)fprintf(f, "{\n    return more_%u::%s_f32(%s%s);\n}\n", k, own_name(op),
                  operands[op->nin_max], op->attr_size ? ", attr" : "");
}

/* The text of each operation, and the list of opcodes; NULL: no memory. */
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
        write_operation(f, ops[k], k);
    (void)fputs("#define POINTWISE_MORE(OP1, OP1_ATTR, OP2, OP2_ATTR, OP3, OP3_ATTR)", f);
    for (uint32_t k = 0; k < nops; k++)
        (void)fprintf(f, " OP%u%s(more_%u%s)", ops[k]->nin_max,
                      ops[k]->attr_size ? "_ATTR" : "", k, ops[k]->attr_size ? ", void" : "");
    (void)fputs("\n#include \"pointwise_fusion/pointwise_fusion.cu\"\n", f);
    const int failed = ferror(f);
    if (fclose(f) || failed) {
        free(text);
        return NULL;
    }
    return text;
}

static void name_it(compiled *c, const tutti_op *const *ops, uint32_t nops)
{
    size_t used = (size_t)snprintf(c->name, sizeof c->name, "pointwise_fusion with");
    for (uint32_t k = 0; k < nops && used < sizeof c->name; k++)
        used += (size_t)snprintf(c->name + used, sizeof c->name - used, "%s %s", k ? "," : "",
                                 ops[k]->name);
    c->image.name = c->name;
}

tutti_status pointwise_compile(const tutti_op_call *c, const tutti_op *const *ops,
                               uint32_t nops, const tutti_cuda_image **ret_image,
                               tutti_error *err)
{
    compiler *all = NULL;
    tutti_status s = compiler_of(c->cuda, &all, err);
    if (s)
        return s;
    compiled *one = calloc(1, sizeof *one);
    if (one)
        one->text = whole_text(ops, nops);
    if (!one || !one->text) {
        compiled_free(one);
        return tutti_fail(err, TUTTI_E_NOMEM, "pointwise_fusion: no memory for its text");
    }
    compiled *found = all->all;
    while (found && strcmp(found->text, one->text) != 0)
        found = found->next;
    if (!found) {
        name_it(one, ops, nops);
        s = nvrtc_compile(&all->nvrtc, c->cuda, one->name, one->text, pointwise_text,
                          pointwise_text_count, &one->code, &one->image.bytes, err);
    }
    if (s || found) {
        compiled_free(one);
    } else {
        one->image.data = one->code;
        one->next = all->all;
        all->all = found = one;
    }
    if (s)
        return s;
    cuda_tell_library(c, "NVRTC", all->nvrtc.number, found->name);
    *ret_image = &found->image;
    return TUTTI_OK;
}
