/* handed_over.c - data that one thread hands to another by a C11 atomic of order ORDER, or under a lock; for
 * helgrind_test.sh. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_ready;
static bool is_locked_ready;
static volatile int data; /* as wide as it is */

/* Gives the data, if asked to; whether it is there. */
static bool hand_over(bool give)
{
#ifdef ORDER
    if (give)
        atomic_store_explicit(&is_ready, true,
                              ORDER == memory_order_acquire ? memory_order_release : ORDER);
    return atomic_load_explicit(&is_ready, ORDER);
#else
    (void)is_ready;
    (void)pthread_mutex_lock(&lock);
    is_locked_ready = is_locked_ready || give;
    const bool is_there = is_locked_ready;
    (void)pthread_mutex_unlock(&lock);
    return is_there;
#endif
}

static void *giver(void *unused)
{
    data = 42;
    (void)hand_over(true);
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, giver, NULL) != 0)
        return 2;
    while (!hand_over(false))
        (void)sched_yield();
    const int got = data;
    (void)pthread_join(thread, NULL);
    return got == 42 ? 0 : 1;
}
