/* cuda_fp16.h - nothing: NCCL's header includes it for C++. */
/* SPDX-License-Identifier: Apache-2.0 */
