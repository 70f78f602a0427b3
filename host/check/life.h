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
/* A run of more batches, in long/, of which nothing is asked but what its calls leave behind: that shows after some two
 * dozen of them.  Not to fit such a run is no fault. */
void life_long(child *c, void *subject_);
/* The whole run once more with other settings, which `subject_`'s run has already: in when/.  Nothing begins where the
 * object refuses them; a crash is a failure of `life`, not to fit the run with them is none. */
void life_condition(child *c, void *subject_);

#endif
