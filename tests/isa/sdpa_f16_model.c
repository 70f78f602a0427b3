/* sdpa_f16_model.c - attention in f16 by level: at all of them that with a model of AMX-FP16, since the test asks for AVX-512. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sdpa/sdpa.h"

extern const char sdpa_run_f16_model[], sdpa_grad_run_f16_model[];
TUTTI_ISA_VARIANTS(sdpa_run_f16);
TUTTI_ISA_VARIANTS(sdpa_grad_run_f16);
const tutti_isa_table sdpa_run_f16_isa = {{sdpa_run_f16_model}};
const tutti_isa_table sdpa_grad_run_f16_isa = {{sdpa_grad_run_f16_model}};
