/* machine_peak.h - how many multiply-adds a second this CPU does from its registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CLI_MACHINE_PEAK_H
#define HOST_CLI_MACHINE_PEAK_H

/* Loops of multiply-adds whose operands stay in registers. */
enum {
    MACHINE_PEAK_F32,      /* f32 */
    MACHINE_PEAK_DOT,      /* pairs of bf16, sums in f32: vdpbf16ps */
    MACHINE_PEAK_AMX,      /* the same by tile registers: tdpbf16ps */
    MACHINE_PEAK_AMX_FP16, /* pairs of f16 by them: tdpfp16ps */
    MACHINE_PEAKS
};

/* The instruction of a loop at the level in use (TUTTI_ISA): "FMA of 512 bits"; NULL: there is none there. */
const char *machine_peak_name(int peak);

/* FLOPs a second of that loop, two for every product, on so many threads: the best of some rounds by the clock, a
 * tenth of a second.  0 where there is no such instruction. */
double machine_peak(int peak, int threads);

#endif
