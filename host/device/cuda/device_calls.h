/* device_calls.h - the entries of tutti_device_v1 and tutti_cuda_v1, and what files call of each other, by file. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_DEVICE_CUDA_DEVICE_CALLS_H
#define HOST_DEVICE_CUDA_DEVICE_CALLS_H

#include "device/cuda/cuda_device.h"

/* code.c */
tutti_status code_function(void *ctx, const tutti_cuda_image *image, const char *entry,
                           const uint32_t *sizes, uint32_t nargs, void **ret_function,
                           tutti_error *err);
tutti_status code_launch(void *ctx, const tutti_cuda_launch *l);
void code_unload(cuda_device *d);

/* launch.c */
tutti_status cuda_launch(void *device, void *on, const tutti_launch *l, tutti_error *err);
/* The device's step becomes *step, for what `on` is given from now on. */
tutti_status cuda_tell_step(cuda_device *d, stream *on, const tutti_step *step,
                            tutti_error *err);
tutti_status cuda_make_steps(cuda_device *d, tutti_error *err);
tutti_status cuda_object_of(void *ctx, const void *key,
                            tutti_status (*make)(const tutti_cuda_v1 *cuda, void **ret_object,
                                                 tutti_error *err),
                            void (*destroy)(void *object), void **ret_object, tutti_error *err);

/* memory.c */
tutti_status cuda_memory(void *device, uint64_t *ret_free, uint64_t *ret_total,
                         tutti_error *err);
tutti_status cuda_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err);
void cuda_release(void *device, void *memory);
tutti_status cuda_host_alloc(void *device, uint64_t bytes, void **ret_memory, tutti_error *err);
void cuda_host_release(void *device, void *memory);
tutti_status cuda_copy(void *device, void *on, void *to, const void *from, uint64_t bytes,
                       int32_t how, tutti_error *err);
tutti_status cuda_fill(void *device, void *on, void *memory, uint8_t byte, uint64_t bytes,
                       tutti_error *err);
/* Pinned memory with its event; `p` is zero. */
tutti_status cuda_pin(const cuda_device *d, uint64_t bytes, pinned *p, tutti_error *err);
void cuda_unpin(const cuda_device *d, pinned *p); /* zero is allowed */
void cuda_forget_smalls(cuda_device *d);          /* which are all done */

/* stream.c */
tutti_status cuda_stream_create(void *device, void **ret_stream, tutti_error *err);
void cuda_stream_destroy(void *device, void *on);
tutti_status cuda_event_create(void *device, void **ret_event, tutti_error *err);
void cuda_event_destroy(void *device, void *event);
tutti_status cuda_event_record(void *device, void *event, void *on, tutti_error *err);
tutti_status cuda_event_wait(void *device, void *on, void *event, tutti_error *err);
int32_t cuda_event_done(void *device, void *event);
tutti_status cuda_synchronise(void *device, void *on, tutti_error *err);
tutti_status cuda_step(void *device, tutti_error *err);

/* capture.c */
tutti_status cuda_capture_begin(void *device, void *on, tutti_error *err);
tutti_status cuda_capture_end(void *device, void *on, void **ret_graph, tutti_error *err);
tutti_status cuda_replay(void *device, void *on, void *graph, const tutti_step *step,
                         tutti_error *err);
uint64_t cuda_graph_nodes(void *device, void *graph);
void cuda_graph_destroy(void *device, void *graph);

/* profile.c: where TUTTI_CUDA_PROFILE names a file, each launch that is not gathered is timed, and closing the
 * device writes the sums there; launches of the first TUTTI_CUDA_PROFILE_AFTER steps are left out. */
tutti_status cuda_profile_open(cuda_device *d, tutti_error *err);
/* False: it is not timed, and has no end. */
bool cuda_profile_begin(cuda_device *d, stream *s, uint32_t mark);
void cuda_profile_end(cuda_device *d, stream *s);
void cuda_profile_step(cuda_device *d);    /* a step is enqueued */
void cuda_profile_release(cuda_device *d); /* what was enqueued may begin */
void cuda_profile_close(cuda_device *d);

/* blocks.c */
tutti_status cuda_block(void *device, void *on, int32_t part, const float *guard,
                        tutti_error *err);
void cuda_blocks_end(cuda_device *d); /* that which is open */

/* autotune_choices.c: tutti_cuda_v1's recall and keep. */
tutti_status cuda_recall(void *ctx, const char *key, char *ret_choice, uint64_t size);
tutti_status cuda_keep(void *ctx, const char *key, char *text, uint64_t size, tutti_error *err);

/* own.c: what the device code of own.cu does. */
tutti_status own_load(cuda_device *d, tutti_error *err);
tutti_status cuda_random(void *device, void *on, float *memory, uint64_t n,
                         const tutti_device_draw *draw, tutti_error *err);
tutti_status cuda_add(void *device, void *on, float *to, const float *from, uint64_t n,
                      tutti_error *err);
tutti_status cuda_clear_unless(void *device, void *on, const float *guard, void *memory,
                               uint64_t bytes, tutti_error *err);

#endif
