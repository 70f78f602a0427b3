/* gpus.h - an H100 and an A100 as cuDNN wants them described (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CUDA_PLANNING_GPUS_H
#define TESTS_CUDA_PLANNING_GPUS_H

static const char h100[] =
    "{\"deviceName\": \"NVIDIA H100 80GB HBM3\", \"deviceVer\": 900, \"driverVer\": 13000, "
    "\"cudaDeviceId\": 0, \"pciDeviceId\": 0, \"multiProcessorCount\": 132, \"warpSize\": 32, "
    "\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64], "
    "\"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, \"maxCtasPerSM\": 32, "
    "\"regsPerBlock\": 65536, \"maxRegistersPerSM\": 65536, "
    "\"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": 232448, "
    "\"reservedSharedMemoryPerBlock\": 1024, \"smClockRateKHz\": 1980000, "
    "\"memClockRateKHz\": 2619000, \"l2CacheSize\": 52428800, \"totalGlobalMem\": 85520809984, "
    "\"isTccDriver\": 0, \"supportCoopLaunch\": 1}";

static const char a100[] =
    "{\"deviceName\": \"NVIDIA A100-SXM4-80GB\", \"deviceVer\": 800, \"driverVer\": 13000, "
    "\"cudaDeviceId\": 0, \"pciDeviceId\": 0, \"multiProcessorCount\": 108, \"warpSize\": 32, "
    "\"maxGridSize\": [2147483647, 65535, 65535], \"maxBlockSize\": [1024, 1024, 64], "
    "\"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, \"maxCtasPerSM\": 32, "
    "\"regsPerBlock\": 65536, \"maxRegistersPerSM\": 65536, "
    "\"maxSharedMemoryPerBlock\": 49152, \"maxSharedMemoryPerBlockOptin\": 166912, "
    "\"reservedSharedMemoryPerBlock\": 1024, \"smClockRateKHz\": 1410000, "
    "\"memClockRateKHz\": 1593000, \"l2CacheSize\": 41943040, \"totalGlobalMem\": 85094825984, "
    "\"isTccDriver\": 0, \"supportCoopLaunch\": 1}";

#endif
