/* cublaslt.c - a libcublasLt that checks what it is told and multiplies in f64. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cuda/libraries/cublaslt.h"
#include "misuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7 };
enum { WORKSPACE = 4096 }; /* what every algorithm asks for, and fills with NaN */
enum { OTHER = -1 };

typedef struct layout {
    uint32_t type;
    int32_t batch;
    uint64_t rows, columns;
    int64_t leading, offset;
} layout;

typedef struct desc {
    uint32_t compute, scale, epilogue;
    int32_t transpose_a, transpose_b, bias_type;
    void *bias;
    int32_t aux_type;
    int64_t aux_leading;
    void *aux;
} desc;

typedef struct preference {
    uint64_t workspace;
    uint32_t reduction, alignment[4];
} preference;

/* Who asks for several algorithms gets these, of which the first takes its time. */
enum { SLOW, QUICK, SLOWER, ALGORITHMS, SLOW_US = 2000 };

/* What a product is, all of it. */
typedef struct product {
    desc desc;
    layout a, b, d;
    float alpha, beta;
    const void *at_a, *at_b, *at_c;
    void *at_d, *workspace;
    uint64_t wait_us;
} product;

/* An algorithm is for one problem and for pointers of some alignment. */
typedef struct algorithm {
    uint64_t problem;
    uint32_t alignment[4];
    uint64_t number; /* SLOW ... */
    uint64_t unused[4];
} algorithm;
_Static_assert(sizeof(algorithm) == sizeof(lt_algo), "an algorithm fits");

#define LT_DECLARE(member, name, args) EXPORT uint32_t name args;
LT_FUNCTIONS(LT_DECLARE)
#undef LT_DECLARE
EXPORT size_t cublasLtGetVersion(void);

static int kind_of(uint32_t type)
{
    return type == LT_R_32F    ? NUMBER_F32
           : type == LT_R_16F  ? NUMBER_F16
           : type == LT_R_16BF ? NUMBER_BF16
                               : OTHER;
}

static int handles;

uint32_t cublasLtCreate(void **handle)
{
    if (!libraries_are_there())
        return NOT_INITIALIZED;
    handles++;
    *handle = &handles;
    return LT_SUCCESS;
}

uint32_t cublasLtDestroy(void *handle)
{
    (void)handle;
    handles--;
    return LT_SUCCESS;
}

static uint32_t keep(void **ret, const void *value, size_t bytes)
{
    *ret = malloc(bytes);
    if (!*ret)
        return ALLOC_FAILED;
    memcpy(*ret, value, bytes);
    return LT_SUCCESS;
}

static uint32_t drop(void *p)
{
    free(p);
    return LT_SUCCESS;
}

/* One settable number: where it lies and its bytes. */
typedef struct slot {
    uint32_t attribute;
    size_t at, bytes;
} slot;

static uint32_t set(void *object, const slot *slots, size_t n, uint32_t attribute,
                    const void *value, size_t bytes, const char *what)
{
    for (size_t k = 0; k < n; k++) {
        if (slots[k].attribute != attribute)
            continue;
        if (slots[k].bytes != bytes)
            return misuse(INVALID_VALUE,
                          "cublasLt: attribute %u of a %s has %zu bytes, not %zu", attribute,
                          what, slots[k].bytes, bytes);
        memcpy((char *)object + slots[k].at, value, bytes);
        return LT_SUCCESS;
    }
    return misuse(INVALID_VALUE, "cublasLt: a %s has no attribute %u", what, attribute);
}

uint32_t cublasLtMatmulDescCreate(void **ret, uint32_t compute, uint32_t scale)
{
    const desc d = {.compute = compute,
                    .scale = scale,
                    .epilogue = LT_EPILOGUE_DEFAULT,
                    .bias_type = OTHER,
                    .aux_type = OTHER};
    return keep(ret, &d, sizeof d);
}

uint32_t cublasLtMatmulDescDestroy(void *d)
{
    return drop(d);
}

uint32_t cublasLtMatmulDescSetAttribute(void *d, uint32_t attribute, const void *value,
                                        size_t bytes)
{
    static const slot slots[] = {
        {LT_DESC_TRANSA, offsetof(desc, transpose_a), 4},
        {LT_DESC_TRANSB, offsetof(desc, transpose_b), 4},
        {LT_DESC_EPILOGUE, offsetof(desc, epilogue), 4},
        {LT_DESC_BIAS_POINTER, offsetof(desc, bias), sizeof(void *)},
        {LT_DESC_BIAS_DATA_TYPE, offsetof(desc, bias_type), 4},
        {LT_DESC_AUX_POINTER, offsetof(desc, aux), sizeof(void *)},
        {LT_DESC_AUX_LEADING, offsetof(desc, aux_leading), 8},
        {LT_DESC_AUX_DATA_TYPE, offsetof(desc, aux_type), 4},
    };
    return set(d, slots, sizeof slots / sizeof *slots, attribute, value, bytes, "product");
}

uint32_t cublasLtMatrixLayoutCreate(void **ret, uint32_t type, uint64_t rows, uint64_t columns,
                                    int64_t leading)
{
    const layout l = {
        .type = type, .batch = 1, .rows = rows, .columns = columns, .leading = leading};
    if (kind_of(type) == OTHER || leading < (int64_t)rows || !rows || !columns)
        return misuse(
            INVALID_VALUE,
            "cublasLt: a matrix of type %u with %llu x %llu and leading dimension %lld", type,
            (unsigned long long)rows, (unsigned long long)columns, (long long)leading);
    return keep(ret, &l, sizeof l);
}

uint32_t cublasLtMatrixLayoutDestroy(void *l)
{
    return drop(l);
}

uint32_t cublasLtMatrixLayoutSetAttribute(void *l, uint32_t attribute, const void *value,
                                          size_t bytes)
{
    static const slot slots[] = {{LT_LAYOUT_BATCH_COUNT, offsetof(layout, batch), 4},
                                 {LT_LAYOUT_BATCH_OFFSET, offsetof(layout, offset), 8}};
    return set(l, slots, 2, attribute, value, bytes, "matrix");
}

uint32_t cublasLtMatmulPreferenceCreate(void **ret)
{
    const preference p = {.reduction = 7, .alignment = {256, 256, 256, 256}};
    return keep(ret, &p, sizeof p);
}

uint32_t cublasLtMatmulPreferenceDestroy(void *p)
{
    return drop(p);
}

uint32_t cublasLtMatmulPreferenceSetAttribute(void *p, uint32_t attribute, const void *value,
                                              size_t bytes)
{
    static const slot slots[] = {
        {LT_PREF_MAX_WORKSPACE, offsetof(preference, workspace), 8},
        {LT_PREF_REDUCTION_MASK, offsetof(preference, reduction), 4},
        {LT_PREF_ALIGNMENT_A, offsetof(preference, alignment[0]), 4},
        {LT_PREF_ALIGNMENT_B, offsetof(preference, alignment[1]), 4},
        {LT_PREF_ALIGNMENT_C, offsetof(preference, alignment[2]), 4},
        {LT_PREF_ALIGNMENT_D, offsetof(preference, alignment[3]), 4},
    };
    return set(p, slots, sizeof slots / sizeof *slots, attribute, value, bytes, "search");
}

/* ---- the problem ---- */

static const char *wrong_shape(const product *p)
{
    const layout *a = &p->a, *b = &p->b, *d = &p->d;
    const uint64_t m = p->desc.transpose_a ? a->columns : a->rows;
    const uint64_t k = p->desc.transpose_a ? a->rows : a->columns;
    const uint64_t k_b = p->desc.transpose_b ? b->columns : b->rows;
    const uint64_t n = p->desc.transpose_b ? b->rows : b->columns;
    if (m != d->rows || n != d->columns || k != k_b)
        return "matrices whose shapes do not fit";
    if (a->batch != d->batch || b->batch != d->batch || d->batch < 1)
        return "batches of different lengths";
    if (d->batch > 1 && d->offset < d->leading * (int64_t)d->columns)
        return "results on top of each other";
    return NULL;
}

static bool has(const product *p, uint32_t bit)
{
    return p->desc.epilogue != LT_EPILOGUE_DEFAULT && (p->desc.epilogue & bit) == bit;
}

/* The factor whose sums go to the bias's place, 'A' or 'B'; 0: there are none. */
static char sums_of(const product *p)
{
    return p->desc.epilogue == LT_EPILOGUE_BGRADA   ? 'A'
           : p->desc.epilogue == LT_EPILOGUE_BGRADB ? 'B'
                                                    : 0;
}

/* NVIDIA's documentation does not say which orders of a factor have such sums; here it is those that
 * frameworks use, of a weight's gradient. */
static bool has_sums(const product *p)
{
    return sums_of(p) == 'A' ? !p->desc.transpose_a : !sums_of(p) || p->desc.transpose_b;
}

/* A bit for each element instead of what GELU is taken of. */
static bool has_mask(const product *p)
{
    return has(p, LT_EPILOGUE_RELU | LT_EPILOGUE_AUX) || p->desc.epilogue == LT_EPILOGUE_DRELU;
}

static uint64_t aux_bytes(const product *p)
{
    const uint64_t elements = (uint64_t)p->desc.aux_leading * p->d.columns;
    return has_mask(p) ? elements / 8 : elements * number_size(kind_of(p->d.type));
}

static const char *wrong_epilogue(const product *p)
{
    static const uint32_t known[] = {LT_EPILOGUE_DEFAULT,
                                     LT_EPILOGUE_BIAS,
                                     LT_EPILOGUE_RELU,
                                     LT_EPILOGUE_RELU | LT_EPILOGUE_BIAS,
                                     LT_EPILOGUE_GELU,
                                     LT_EPILOGUE_GELU | LT_EPILOGUE_BIAS,
                                     LT_EPILOGUE_GELU | LT_EPILOGUE_AUX,
                                     LT_EPILOGUE_GELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BIAS,
                                     LT_EPILOGUE_RELU | LT_EPILOGUE_AUX,
                                     LT_EPILOGUE_RELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BIAS,
                                     LT_EPILOGUE_DRELU,
                                     LT_EPILOGUE_DGELU,
                                     LT_EPILOGUE_BGRADA,
                                     LT_EPILOGUE_BGRADB};
    const desc *d = &p->desc;
    bool is = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        is = is || d->epilogue == known[k];
    if (!is)
        return "an epilogue that it does not have";
    if (sums_of(p) && p->d.batch != 1)
        return "sums of several matrices";
    if ((has(p, LT_EPILOGUE_BIAS) || sums_of(p)) &&
        (!d->bias || d->bias_type != (int32_t)p->d.type))
        return "a bias without place, or of another type than the result";
    if (has_mask(p) && (!d->aux || d->aux_leading % 128 || (uintptr_t)d->aux % 16 ||
                        d->aux_leading < (int64_t)p->d.rows || p->d.batch != 1))
        return "a mask without place, or with odd rows";
    if (has(p, LT_EPILOGUE_AUX) && !has_mask(p) &&
        (!d->aux || d->aux_type != (int32_t)p->d.type || d->aux_leading % 8 ||
         d->aux_leading < (int64_t)p->d.rows || p->d.batch != 1))
        return "what GELU is taken of without place, of another type, or with odd rows";
    return NULL;
}

/* NVIDIA's table of types, as far as it is used. */
static const char *wrong_type(const product *p)
{
    const desc *d = &p->desc;
    const uint32_t type = p->a.type;
    const bool f32 = type == LT_R_32F;
    if (d->scale != LT_R_32F ||
        (d->compute != LT_COMPUTE_32F && !(f32 && d->compute == LT_COMPUTE_32F_FAST_TF32)))
        return "sums in a type that does not go with the factors";
    if (p->b.type != type || (p->d.type != type && p->d.type != LT_R_32F))
        return "a combination of types that no kernel has";
    return wrong_epilogue(p);
}

/* The bias may move; everything else belongs to the algorithm. */
static uint64_t hash(const product *p)
{
    const uint64_t words[] = {p->desc.compute,
                              p->desc.epilogue,
                              (uint64_t)p->desc.aux_leading,
                              (uint64_t)p->desc.transpose_a,
                              (uint64_t)p->desc.transpose_b,
                              p->a.type,
                              p->b.type,
                              p->d.type,
                              p->a.rows,
                              p->a.columns,
                              (uint64_t)p->a.leading,
                              (uint64_t)p->a.offset,
                              p->b.rows,
                              p->b.columns,
                              (uint64_t)p->b.leading,
                              (uint64_t)p->b.offset,
                              p->d.rows,
                              p->d.columns,
                              (uint64_t)p->d.leading,
                              (uint64_t)p->d.offset,
                              (uint64_t)p->d.batch};
    uint64_t h = 14695981039346656037u;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        h = (h ^ words[k]) * 1099511628211u;
    return h;
}

uint32_t cublasLtMatmulAlgoGetHeuristic(void *handle, void *d, void *a, void *b, void *c,
                                        void *y, void *pref, int wanted, lt_heuristic *results,
                                        int *ret_count)
{
    const preference *want = pref;
    const product p = {
        .desc = *(desc *)d, .a = *(layout *)a, .b = *(layout *)b, .d = *(layout *)y};
    algorithm algo = {.problem = hash(&p)};
    const char *wrong = wrong_shape(&p);
    if (wrong || handle != &handles || memcmp(c, y, sizeof(layout)) != 0 || wanted < 1)
        return misuse(INVALID_VALUE, "cublasLt: %s",
                      wrong ? wrong : "a search with bad arguments");
    *ret_count = 0;
    if ((wrong = wrong_type(&p)) != NULL)
        return misuse(LT_NOT_SUPPORTED, "cublasLt: %s", wrong);
    if (want->workspace < WORKSPACE || !has_sums(&p))
        return LT_NOT_SUPPORTED;
    memcpy(algo.alignment, want->alignment, sizeof algo.alignment);
    *ret_count = wanted < ALGORITHMS ? wanted : ALGORITHMS;
    for (int k = 0; k < *ret_count; k++) {
        algo.number = wanted == 1 ? QUICK : (uint64_t)k;
        memcpy(&results[k].algo, &algo, sizeof algo);
        results[k].workspace = WORKSPACE;
        results[k].state = LT_SUCCESS;
    }
    return LT_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return 130000;
}

/* An algorithm is its number here, and has neither tiles nor stages to tell of. */
uint32_t cublasLtMatmulAlgoConfigGetAttribute(const lt_algo *algo, uint32_t attribute,
                                              void *value, size_t bytes, size_t *ret_bytes)
{
    algorithm known;
    memcpy(&known, algo, sizeof known);
    const uint32_t number = (uint32_t)known.number;
    if (bytes != sizeof number || known.number >= ALGORITHMS)
        return misuse(INVALID_VALUE, "cublasLt: an attribute of no algorithm");
    if (attribute != LT_ALGO_ID)
        return LT_NOT_SUPPORTED;
    memcpy(value, &number, sizeof number);
    *ret_bytes = sizeof number;
    return LT_SUCCESS;
}

uint32_t cublasLtMatmulAlgoCheck(void *handle, void *d, void *a, void *b, void *c, void *y,
                                 const lt_algo *algo, lt_heuristic *ret_result)
{
    const product p = {
        .desc = *(desc *)d, .a = *(layout *)a, .b = *(layout *)b, .d = *(layout *)y};
    algorithm known;
    memcpy(&known, algo, sizeof known);
    if (handle != &handles || memcmp(c, y, sizeof(layout)) != 0)
        return misuse(INVALID_VALUE, "cublasLt: a check with bad arguments");
    if (known.problem != hash(&p) || known.number >= ALGORITHMS)
        return INVALID_VALUE;
    ret_result->algo = *algo;
    ret_result->workspace = WORKSPACE;
    ret_result->state = LT_SUCCESS;
    return LT_SUCCESS;
}

/* ---- the product ---- */

static uint64_t bytes_of(const layout *l)
{
    const int64_t elements =
        l->offset * (l->batch - 1) + l->leading * ((int64_t)l->columns - 1) + (int64_t)l->rows;
    return (uint64_t)elements * number_size(kind_of(l->type));
}

static double tanh_gelu(double x)
{
    return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double tanh_gelu_slope(double x)
{
    const double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
    return 0.5 * (1.0 + t) +
           0.5 * x * (1.0 - t * t) * 0.7978845608028654 * (1.0 + 3.0 * 0.044715 * x * x);
}

/* TUTTI_CUDA_MASKS=1: bytes have their first bit at the top. */
static unsigned bit_of(int64_t at)
{
    const char *value = getenv("TUTTI_CUDA_MASKS");
    const bool reversed = value && strcmp(value, "1") == 0;
    return 1u << (reversed ? 7 - at % 8 : at % 8);
}

/* The part of ReLU: its mask is written or read. */
static double mask(const product *p, double sum, int64_t at)
{
    unsigned char *byte = (unsigned char *)p->desc.aux + at / 8;
    if (p->desc.epilogue == LT_EPILOGUE_DRELU)
        return *byte & bit_of(at) ? sum : 0.0;
    *byte = (unsigned char)(sum > 0.0 ? *byte | bit_of(at) : *byte & ~bit_of(at));
    return sum > 0.0 ? sum : 0.0;
}

/* From a sum to the result in row r, column c. */
static double finish(const product *p, double sum, int64_t r, int64_t c)
{
    const int kd = kind_of(p->d.type);
    const int64_t aux = c * p->desc.aux_leading + r;
    if (has(p, LT_EPILOGUE_BIAS))
        sum += number_get(p->desc.bias, kd, r);
    if (has_mask(p))
        return mask(p, sum, aux);
    if (p->desc.epilogue == LT_EPILOGUE_DGELU)
        return sum * tanh_gelu_slope(number_get(p->desc.aux, kd, aux));
    if (has(p, LT_EPILOGUE_AUX))
        number_set(p->desc.aux, kd, aux, sum);
    if (has(p, LT_EPILOGUE_RELU))
        return sum > 0.0 ? sum : 0.0;
    return has(p, LT_EPILOGUE_GELU) ? tanh_gelu(sum) : sum;
}

/* Of `count` rows or columns, `step` apart, over `terms` elements. */
static void add_up(const product *p, const void *at, int kind, int64_t count, int64_t step,
                   int64_t terms, int64_t next)
{
    for (int64_t i = 0; i < count; i++) {
        double sum = 0.0;
        for (int64_t k = 0; k < terms; k++)
            sum += number_get(at, kind, i * step + k * next);
        number_set(p->desc.bias, kind_of(p->d.type), i, sum);
    }
}

static void multiply(void *data)
{
    const product *p = data;
    const int ka = kind_of(p->a.type), kb = kind_of(p->b.type), kd = kind_of(p->d.type);
    const int64_t a_row = p->desc.transpose_a ? p->a.leading : 1;
    const int64_t a_col = p->desc.transpose_a ? 1 : p->a.leading;
    const int64_t b_row = p->desc.transpose_b ? p->b.leading : 1;
    const int64_t b_col = p->desc.transpose_b ? 1 : p->b.leading;
    const int64_t terms = (int64_t)(p->desc.transpose_a ? p->a.rows : p->a.columns);
    memset(p->workspace, 0xFF, WORKSPACE);
    if (p->wait_us)
        (void)nanosleep(&(struct timespec){0, (long)p->wait_us * 1000}, NULL);
    if (sums_of(p) == 'A')
        add_up(p, p->at_a, ka, (int64_t)p->d.rows, a_row, terms, a_col);
    else if (sums_of(p))
        add_up(p, p->at_b, kb, (int64_t)p->d.columns, b_col, terms, b_row);
    for (int64_t i = 0; i < p->d.batch; i++) {
        for (int64_t c = 0; c < (int64_t)p->d.columns; c++) {
            for (int64_t r = 0; r < (int64_t)p->d.rows; r++) {
                const int64_t at = i * p->d.offset + c * p->d.leading + r;
                double sum = 0.0;
                for (int64_t k = 0; k < terms; k++)
                    sum += number_get(p->at_a, ka, i * p->a.offset + r * a_row + k * a_col) *
                           number_get(p->at_b, kb, i * p->b.offset + k * b_row + c * b_col);
                sum *= (double)p->alpha;
                if (p->beta != 0.0f)
                    sum += (double)p->beta * number_get(p->at_c, kd, at);
                number_set(p->at_d, kd, at, finish(p, sum, r, c));
            }
        }
    }
}

static const char *wrong_place(const product *p, const algorithm *algo, const void *c,
                               size_t workspace_bytes)
{
    const void *const at[] = {p->at_a, p->at_b, c, p->at_d};
    for (int k = 0; k < 4; k++)
        if ((uintptr_t)at[k] % algo->alignment[k])
            return "a matrix that is less aligned than the search was told";
    if (!tutti_cuda_standin.is_device(p->at_a, bytes_of(&p->a)) ||
        !tutti_cuda_standin.is_device(p->at_b, bytes_of(&p->b)) ||
        !tutti_cuda_standin.is_device(p->at_d, bytes_of(&p->d)))
        return "a matrix that is not in the device's memory";
    if (p->beta != 0.0f && !tutti_cuda_standin.is_device(c, bytes_of(&p->d)))
        return "a matrix to add that is not in the device's memory";
    if (has(p, LT_EPILOGUE_AUX) && !tutti_cuda_standin.is_device(p->desc.aux, aux_bytes(p)))
        return "what GELU is taken of, or a mask, not in the device's memory";
    if (sums_of(p) && !tutti_cuda_standin.is_device(
                          p->desc.bias, (sums_of(p) == 'A' ? p->d.rows : p->d.columns) *
                                            number_size(kind_of(p->d.type))))
        return "sums that do not go to the device's memory";
    if (has(p, LT_EPILOGUE_BIAS) &&
        !tutti_cuda_standin.is_device(p->desc.bias,
                                      p->d.rows * number_size(kind_of(p->d.type))))
        return "a bias that is not in the device's memory";
    if (workspace_bytes < WORKSPACE || (uintptr_t)p->workspace % 16 ||
        !tutti_cuda_standin.is_device(p->workspace, WORKSPACE))
        return "too little workspace";
    return NULL;
}

uint32_t cublasLtMatmul(void *handle, void *d, const void *alpha, const void *a, void *a_layout,
                        const void *b, void *b_layout, const void *beta, const void *c,
                        void *c_layout, void *y, void *d_layout, const lt_algo *algo,
                        void *workspace, size_t workspace_bytes, void *stream)
{
    static const uint64_t waits[ALGORITHMS] = {[SLOW] = SLOW_US, [SLOWER] = 2 * SLOW_US};
    product p = {.desc = *(desc *)d,
                 .a = *(layout *)a_layout,
                 .b = *(layout *)b_layout,
                 .d = *(layout *)d_layout,
                 .alpha = *(const float *)alpha,
                 .beta = *(const float *)beta,
                 .at_a = a,
                 .at_b = b,
                 .at_c = c,
                 .at_d = y,
                 .workspace = workspace};
    char what[96];
    algorithm chosen;
    memcpy(&chosen, algo, sizeof chosen);
    if (handle != &handles || memcmp(c_layout, d_layout, sizeof(layout)) != 0)
        return misuse(INVALID_VALUE, "cublasLt: a product with bad arguments");
    if (chosen.problem != hash(&p) || chosen.number >= ALGORITHMS)
        return misuse(INVALID_VALUE, "cublasLt: an algorithm of another problem");
    const char *wrong = wrong_place(&p, &chosen, c, workspace_bytes);
    if (wrong)
        return misuse(INVALID_VALUE, "cublasLt: %s", wrong);
    p.wait_us = waits[chosen.number];
    (void)snprintf(what, sizeof what, "cublasLtMatmul %llux%llu batch %d epilogue %u%s by %d",
                   (unsigned long long)p.d.columns, (unsigned long long)p.d.rows, p.d.batch,
                   p.desc.epilogue, p.beta != 0.0f ? " added" : "", (int)chosen.number);
    const standin_call call = {multiply, &p, sizeof p, what, NULL};
    return tutti_cuda_standin.enqueue(stream, &call) ? INVALID_VALUE : LT_SUCCESS;
}
