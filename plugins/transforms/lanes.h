/* lanes.h - loops over pixels at the width of the machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_TRANSFORMS_LANES_H
#define PLUGIN_TRANSFORMS_LANES_H

/* One copy of the function for each instruction set, chosen when the plugin is loaded.  AVX2 is named
 * without FMA, so that floating point comes out the same from all. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) &&                         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LANES __attribute__((target_clones("avx2", "default")))
#else
#define LANES
#endif

#endif
