/* nvidia_headers.cc - our declarations of cuBLASLt, cuDNN and NVRTC against NVIDIA's; it compiles or not. */
/* SPDX-License-Identifier: Apache-2.0 */
#if __has_include(<cublasLt.h>) && __has_include(<cudnn_graph.h>) && __has_include(<nvrtc.h>)
#include <cublasLt.h>
#include <cudnn_graph.h>
#include <nvrtc.h>

#include "common/cuda/libraries/cublaslt.h"
#include "common/cuda/libraries/cudnn.h"
#include "common/cuda/libraries/nvrtc.h"

#include <type_traits>

namespace
{

/* Where NVIDIA has enums and pointers to structs of its own, ours are uint32_t and void *: the same for
 * the calling convention. */
template <class Ours, class Theirs> constexpr bool alike()
{
    if (std::is_pointer_v<Ours>)
        return std::is_pointer_v<Theirs>;
    return sizeof(Ours) == sizeof(Theirs) &&
           (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>)&&std::is_integral_v<Ours>;
}

template <class Ours, class Theirs> struct same_call : std::false_type {
};
template <class R1, class... A1, class R2, class... A2>
struct same_call<R1 (*)(A1...), R2 (*)(A2...)> {
    static constexpr bool check()
    {
        if constexpr (sizeof...(A1) != sizeof...(A2))
            return false;
        else
            return alike<R1, R2>() && (alike<A1, A2>() && ...);
    }
    static constexpr bool value = check();
};

#define SAME_CALL_LT(member, name, args)                                                       \
    static_assert(same_call<decltype(cublaslt::member), decltype(&::name)>::value, #name);
LT_FUNCTIONS(SAME_CALL_LT)
#define SAME_CALL_CDNN(member, name, args)                                                     \
    static_assert(same_call<decltype(cdnn::member), decltype(&::name)>::value, #name);
CDNN_FUNCTIONS(SAME_CALL_CDNN)
#define SAME_CALL_NVRTC(member, name, args)                                                    \
    static_assert(same_call<decltype(nvrtc::member), decltype(&::name)>::value, #name);
NVRTC_FUNCTIONS(SAME_CALL_NVRTC)

#define SAME_VALUE_CDNN(name, value)                                                           \
    static_assert((int)CDNN_##name == (int)CUDNN_##name, #name);
CDNN_VALUES(SAME_VALUE_CDNN)

#define SAME_VALUE(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs)
SAME_VALUE(NVRTC_REFUSES_TEXT, NVRTC_ERROR_COMPILATION);
SAME_VALUE(NVRTC_NO_MEMORY, NVRTC_ERROR_OUT_OF_MEMORY);
SAME_VALUE(LT_SUCCESS, CUBLAS_STATUS_SUCCESS);
SAME_VALUE(LT_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
SAME_VALUE(LT_R_32F, CUDA_R_32F);
SAME_VALUE(LT_R_16F, CUDA_R_16F);
SAME_VALUE(LT_R_16BF, CUDA_R_16BF);
SAME_VALUE(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME_VALUE(LT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_VALUE(LT_OP_N, CUBLAS_OP_N);
SAME_VALUE(LT_OP_T, CUBLAS_OP_T);
SAME_VALUE(LT_ALGO_ID, CUBLASLT_ALGO_CONFIG_ID);
SAME_VALUE(LT_ALGO_TILE, CUBLASLT_ALGO_CONFIG_TILE_ID);
SAME_VALUE(LT_ALGO_SPLIT_K, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME_VALUE(LT_ALGO_STAGES, CUBLASLT_ALGO_CONFIG_STAGES_ID);
SAME_VALUE(LT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT);
SAME_VALUE(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME_VALUE(LT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
SAME_VALUE(LT_EPILOGUE_RELU | LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME_VALUE(LT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU);
SAME_VALUE(LT_EPILOGUE_GELU | LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME_VALUE(LT_EPILOGUE_GELU | LT_EPILOGUE_AUX, CUBLASLT_EPILOGUE_GELU_AUX);
SAME_VALUE(LT_EPILOGUE_GELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BIAS,
           CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
SAME_VALUE(LT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU);
SAME_VALUE(LT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DRELU);
SAME_VALUE(LT_EPILOGUE_RELU | LT_EPILOGUE_AUX, CUBLASLT_EPILOGUE_RELU_AUX);
SAME_VALUE(LT_EPILOGUE_RELU | LT_EPILOGUE_AUX | LT_EPILOGUE_BIAS,
           CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
SAME_VALUE(LT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADA);
SAME_VALUE(LT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADB);
SAME_VALUE(LT_DESC_AUX_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
SAME_VALUE(LT_DESC_AUX_LEADING, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
SAME_VALUE(LT_DESC_AUX_DATA_TYPE, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
static_assert(std::is_same_v<decltype(&::cublasLtGetVersion), size_t (*)()>, "version");
SAME_VALUE(LT_REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME_VALUE(LT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME_VALUE(LT_LAYOUT_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME_VALUE(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME_VALUE(LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME_VALUE(LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME_VALUE(LT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME_VALUE(LT_DESC_BIAS_DATA_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME_VALUE(LT_PREF_MAX_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME_VALUE(LT_PREF_REDUCTION_MASK, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME_VALUE(LT_PREF_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME_VALUE(LT_PREF_ALIGNMENT_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME_VALUE(LT_PREF_ALIGNMENT_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME_VALUE(LT_PREF_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(lt_algo) == sizeof(cublasLtMatmulAlgo_t), "lt_algo");
static_assert(sizeof(lt_heuristic) == sizeof(cublasLtMatmulHeuristicResult_t), "lt_heuristic");
static_assert(offsetof(lt_heuristic, workspace) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize),
              "workspace");
static_assert(offsetof(lt_heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state),
              "state");

} // namespace
extern const int nvidia_headers_are_here;
const int nvidia_headers_are_here = 1;
#else
extern const int nvidia_headers_are_here;
const int nvidia_headers_are_here = 0;
#endif
