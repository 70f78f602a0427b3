/* life.h - a training run with the object in it, watched, once more in two parts, and on a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CHECK_LIFE_H
#define HOST_CHECK_LIFE_H

#include "check/child.h"
#include "check/subject.h"

/* In a child each: the whole run, in folder whole/; the second half of it, in half/, taken up from the first one's
 * checkpoint, and compared with it; the run on the options' device, in device/, compared with the first one. */
void life_whole(child *c, void *subject_);
void life_half(child *c, void *subject_);
void life_device(child *c, void *subject_);
/* A run of more batches, in long/, that nothing is asked of but what its calls leave behind. */
void life_long(child *c, void *subject_);
/* The whole run once more with other settings, which `subject_`'s run has already: in when/.  Nothing begins where the
 * object refuses them. */
void life_condition(child *c, void *subject_);

#endif
