/* nvrtc_prelude.cuh - what the C library and the SDK give device code, for NVRTC, which has neither. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned uint32_t;
typedef unsigned long long uint64_t;
#define INT32_MAX 2147483647
#define INFINITY __int_as_float(0x7F800000)
#define NAN __int_as_float(0x7FFFFFFF)
#define TUTTI_HD static inline __host__ __device__

/* pointwise_compile.c holds these to the SDK's. */
enum { TUTTI_F32 = 1, TUTTI_F16 = 3, TUTTI_BF16 = 4 };
#define TUTTI_OP_MAX_IN 16
#define TUTTI_OP_MAX_OUT 6
#endif
