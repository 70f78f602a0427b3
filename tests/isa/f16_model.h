/* f16_model.h - included before sources of kernels that are compiled once more: they find AMX-FP16's micro-kernel, with a
 * model of its instruction, on every CPU with AVX-512. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ISA_F16_MODEL_H
#define TESTS_ISA_F16_MODEL_H

/* What those sources define, beside what the kernels' library has. */
#define gemm_microkernel_f16 gemm_microkernel_f16_model
#define gemm_microkernel_f16_isa gemm_microkernel_f16_model_isa
#define gemm_microkernel_at gemm_microkernel_at_model
#define gemm_plan gemm_plan_model
#define matmul_cpu matmul_cpu_model
#define matmul_algorithms matmul_algorithms_model
#define matmul_act_grad_cpu matmul_act_grad_cpu_model
#define matmul_act_grad_algorithms matmul_act_grad_algorithms_model
#define matmul_tiles_prepare matmul_tiles_prepare_model
#define matmul_tiles_run matmul_tiles_run_model
#define matmul_packing matmul_packing_model
#define conv2d_bf16_here conv2d_bf16_here_model
#define conv2d_cpu conv2d_cpu_model
#define conv2d_grad_input_cpu conv2d_grad_input_cpu_model
#define conv2d_grad_weight_cpu conv2d_grad_weight_cpu_model
#define conv2d_forward_algorithms conv2d_forward_algorithms_model
#define conv2d_input_algorithms conv2d_input_algorithms_model
#define conv2d_weight_algorithms conv2d_weight_algorithms_model
#define conv2d_1x1_fit conv2d_1x1_fit_model
#define conv2d_1x1_create conv2d_1x1_create_model
#define conv2d_1x1_run conv2d_1x1_run_model
#define conv2d_1x1_destroy conv2d_1x1_destroy_model
#define conv2d_skips conv2d_skips_model
#define conv2d_align conv2d_align_model
#define conv2d_pick conv2d_pick_model
#define conv2d_spread conv2d_spread_model
#define conv2d_patches_fit conv2d_patches_fit_model
#define conv2d_patches_create conv2d_patches_create_model
#define conv2d_patches_run conv2d_patches_run_model
#define conv2d_patches_destroy conv2d_patches_destroy_model
#define conv2d_implicit_fits conv2d_implicit_fits_model
#define conv2d_implicit_create conv2d_implicit_create_model
#define conv2d_implicit_run conv2d_implicit_run_model
#define conv2d_implicit_destroy conv2d_implicit_destroy_model
#define sdpa_dtypes sdpa_dtypes_model
#define sdpa_forward sdpa_forward_model
#define sdpa_backward sdpa_backward_model
#define sdpa_run_f16_isa sdpa_run_f16_model_isa
#define sdpa_grad_run_f16_isa sdpa_grad_run_f16_model_isa
#define tutti_op_sdpa tutti_op_sdpa_model
#define tutti_op_sdpa_grad tutti_op_sdpa_grad_model
#define tutti_op_sdpa_packed tutti_op_sdpa_packed_model
#define tutti_op_sdpa_packed_grad tutti_op_sdpa_packed_grad_model

#endif
