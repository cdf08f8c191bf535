/* lab_sites.h - with ASX_LAB, calls say where they stand in the source, for the lines of a failure.
 *
 * Included by <asx/explore.h>. Every operation by which tasks can tell what others did is a macro
 * of its own name that notes the place, calls the function, and forgets the place when the call has
 * returned; parentheses around the name, or taking its address, reach the function as it is. What
 * the call is about is shown as it is written there.
 * Without ASX_LAB there is nothing here, and calls from files that were compiled without it are
 * shown without a line; so is a waker's.
 */
#ifndef ASX_LAB_SITES_H
#define ASX_LAB_SITES_H

#include <asx/blocking.h>
#include <asx/broadcast.h>
#include <asx/channel.h>
#include <asx/cx.h>
#include <asx/explore.h>
#include <asx/flow.h>
#include <asx/limit.h>
#include <asx/mpmc.h>
#include <asx/obligation.h>
#include <asx/oneshot.h>
#include <asx/oracle.h>
#include <asx/region.h>
#include <asx/stream.h>
#include <asx/supervisor.h>
#include <asx/sync.h>
#include <asx/task.h>
#include <asx/watch.h>

#ifdef ASX_LAB

#define ASX_LAB_AT_(call) asx_lab_left((asx_lab_enter(ASX_SITE), (call)))
/* What is operated on is the first argument, or the second of calls with a context, and shown as it
 * is written there. Of guards and permits it is known what they are of. */
#define ASX_LAB_FIRST_(first, ...) ASX_LAB_SITE_(#first)
#define ASX_LAB_SECOND_(first, second, ...) ASX_LAB_SITE_(#second)
#define ASX_LAB_ON_(function, ...)                                                                 \
    asx_lab_left((asx_lab_enter(ASX_LAB_FIRST_(__VA_ARGS__, 0)), (function(__VA_ARGS__))))
#define ASX_LAB_OF_(function, ...)                                                                 \
    asx_lab_left((asx_lab_enter(ASX_LAB_SECOND_(__VA_ARGS__, 0, 0)), (function(__VA_ARGS__))))

#define asx_channel_reserve(...) ASX_LAB_OF_(asx_channel_reserve, __VA_ARGS__)
#define asx_channel_try_reserve(...) ASX_LAB_OF_(asx_channel_try_reserve, __VA_ARGS__)
#define asx_channel_send(...) ASX_LAB_OF_(asx_channel_send, __VA_ARGS__)
#define asx_channel_try_send(...) ASX_LAB_OF_(asx_channel_try_send, __VA_ARGS__)
#define asx_channel_send_evict_oldest(...) ASX_LAB_OF_(asx_channel_send_evict_oldest, __VA_ARGS__)
#define asx_channel_recv(...) ASX_LAB_OF_(asx_channel_recv, __VA_ARGS__)
#define asx_channel_try_recv(...) ASX_LAB_OF_(asx_channel_try_recv, __VA_ARGS__)
#define asx_channel_recv_with_ack(...) ASX_LAB_OF_(asx_channel_recv_with_ack, __VA_ARGS__)
#define asx_channel_sender_clone(...) ASX_LAB_ON_(asx_channel_sender_clone, __VA_ARGS__)
#define asx_channel_sender_drop(...) ASX_LAB_ON_(asx_channel_sender_drop, __VA_ARGS__)
#define asx_channel_receiver_drop(...) ASX_LAB_ON_(asx_channel_receiver_drop, __VA_ARGS__)
#define asx_channel_reserve_tracked_at(...) ASX_LAB_OF_(asx_channel_reserve_tracked_at, __VA_ARGS__)
#define asx_send_permit_send(...) ASX_LAB_AT_(asx_send_permit_send(__VA_ARGS__))
#define asx_send_permit_abort(...) ASX_LAB_AT_(asx_send_permit_abort(__VA_ARGS__))
#define asx_tracked_permit_send(...) ASX_LAB_AT_(asx_tracked_permit_send(__VA_ARGS__))
#define asx_tracked_permit_abort(...) ASX_LAB_AT_(asx_tracked_permit_abort(__VA_ARGS__))
#define asx_ack_commit(...) ASX_LAB_AT_(asx_ack_commit(__VA_ARGS__))
#define asx_ack_nack(...) ASX_LAB_AT_(asx_ack_nack(__VA_ARGS__))
#define asx_mpmc_send(...) ASX_LAB_OF_(asx_mpmc_send, __VA_ARGS__)
#define asx_mpmc_try_send(...) ASX_LAB_OF_(asx_mpmc_try_send, __VA_ARGS__)
#define asx_mpmc_recv(...) ASX_LAB_OF_(asx_mpmc_recv, __VA_ARGS__)
#define asx_mpmc_try_recv(...) ASX_LAB_OF_(asx_mpmc_try_recv, __VA_ARGS__)
#define asx_mpmc_close(...) ASX_LAB_ON_(asx_mpmc_close, __VA_ARGS__)
#define asx_mpmc_sender_clone(...) ASX_LAB_ON_(asx_mpmc_sender_clone, __VA_ARGS__)
#define asx_mpmc_receiver_clone(...) ASX_LAB_ON_(asx_mpmc_receiver_clone, __VA_ARGS__)
#define asx_mpmc_sender_drop(...) ASX_LAB_ON_(asx_mpmc_sender_drop, __VA_ARGS__)
#define asx_mpmc_receiver_drop(...) ASX_LAB_ON_(asx_mpmc_receiver_drop, __VA_ARGS__)
#define asx_oneshot_send(...) ASX_LAB_ON_(asx_oneshot_send, __VA_ARGS__)
#define asx_oneshot_sender_drop(...) ASX_LAB_ON_(asx_oneshot_sender_drop, __VA_ARGS__)
#define asx_oneshot_recv(...) ASX_LAB_OF_(asx_oneshot_recv, __VA_ARGS__)
#define asx_oneshot_try_recv(...) ASX_LAB_OF_(asx_oneshot_try_recv, __VA_ARGS__)
#define asx_oneshot_receiver_drop(...) ASX_LAB_ON_(asx_oneshot_receiver_drop, __VA_ARGS__)
#define asx_broadcast_subscribe(...) ASX_LAB_ON_(asx_broadcast_subscribe, __VA_ARGS__)
#define asx_broadcast_send(...) ASX_LAB_ON_(asx_broadcast_send, __VA_ARGS__)
#define asx_broadcast_close(...) ASX_LAB_ON_(asx_broadcast_close, __VA_ARGS__)
#define asx_broadcast_recv(...) ASX_LAB_OF_(asx_broadcast_recv, __VA_ARGS__)
#define asx_broadcast_try_recv(...) ASX_LAB_OF_(asx_broadcast_try_recv, __VA_ARGS__)
#define asx_broadcast_receiver_drop(...) ASX_LAB_ON_(asx_broadcast_receiver_drop, __VA_ARGS__)
#define asx_watch_send(...) ASX_LAB_ON_(asx_watch_send, __VA_ARGS__)
#define asx_watch_get(...) ASX_LAB_ON_(asx_watch_get, __VA_ARGS__)
#define asx_watch_changed(...) ASX_LAB_OF_(asx_watch_changed, __VA_ARGS__)
#define asx_watch_close(...) ASX_LAB_ON_(asx_watch_close, __VA_ARGS__)
#define asx_mutex_lock_at(...) ASX_LAB_OF_(asx_mutex_lock_at, __VA_ARGS__)
#define asx_mutex_try_lock_at(...) ASX_LAB_OF_(asx_mutex_try_lock_at, __VA_ARGS__)
#define asx_mutex_recover_at(...) ASX_LAB_OF_(asx_mutex_recover_at, __VA_ARGS__)
#define asx_mutex_unlock(...) ASX_LAB_AT_(asx_mutex_unlock(__VA_ARGS__))
#define asx_rwlock_read_at(...) ASX_LAB_OF_(asx_rwlock_read_at, __VA_ARGS__)
#define asx_rwlock_write_at(...) ASX_LAB_OF_(asx_rwlock_write_at, __VA_ARGS__)
#define asx_rwlock_try_read_at(...) ASX_LAB_OF_(asx_rwlock_try_read_at, __VA_ARGS__)
#define asx_rwlock_try_write_at(...) ASX_LAB_OF_(asx_rwlock_try_write_at, __VA_ARGS__)
#define asx_rwlock_recover_at(...) ASX_LAB_OF_(asx_rwlock_recover_at, __VA_ARGS__)
#define asx_rwlock_unlock(...) ASX_LAB_AT_(asx_rwlock_unlock(__VA_ARGS__))
#define asx_semaphore_acquire_at(...) ASX_LAB_OF_(asx_semaphore_acquire_at, __VA_ARGS__)
#define asx_semaphore_try_acquire_at(...) ASX_LAB_OF_(asx_semaphore_try_acquire_at, __VA_ARGS__)
#define asx_semaphore_release(...) ASX_LAB_AT_(asx_semaphore_release(__VA_ARGS__))
#define asx_semaphore_release_some(...) ASX_LAB_AT_(asx_semaphore_release_some(__VA_ARGS__))
#define asx_semaphore_add(...) ASX_LAB_ON_(asx_semaphore_add, __VA_ARGS__)
#define asx_condition_wait(...) ASX_LAB_OF_(asx_condition_wait, __VA_ARGS__)
#define asx_condition_signal(...) ASX_LAB_ON_(asx_condition_signal, __VA_ARGS__)
#define asx_condition_broadcast(...) ASX_LAB_ON_(asx_condition_broadcast, __VA_ARGS__)
#define asx_notify_wait(...) ASX_LAB_OF_(asx_notify_wait, __VA_ARGS__)
#define asx_notify_one(...) ASX_LAB_ON_(asx_notify_one, __VA_ARGS__)
#define asx_notify_all(...) ASX_LAB_ON_(asx_notify_all, __VA_ARGS__)
#define asx_barrier_wait(...) ASX_LAB_OF_(asx_barrier_wait, __VA_ARGS__)
#define asx_once_call_at(...) ASX_LAB_OF_(asx_once_call_at, __VA_ARGS__)
#define asx_once_is_done(...) ASX_LAB_ON_(asx_once_is_done, __VA_ARGS__)
#define asx_spawn_at(...) ASX_LAB_AT_(asx_spawn_at(__VA_ARGS__))
#define asx_spawn_copy_at(...) ASX_LAB_AT_(asx_spawn_copy_at(__VA_ARGS__))
#define asx_spawn_poll_at(...) ASX_LAB_AT_(asx_spawn_poll_at(__VA_ARGS__))
#define asx_spawn_task_at(...) ASX_LAB_AT_(asx_spawn_task_at(__VA_ARGS__))
#define asx_spawn_poll_task_at(...) ASX_LAB_AT_(asx_spawn_poll_task_at(__VA_ARGS__))
#define asx_spawn_blocking_at(...) ASX_LAB_AT_(asx_spawn_blocking_at(__VA_ARGS__))
#define asx_blocking(...) ASX_LAB_AT_(asx_blocking(__VA_ARGS__))
#define asx_join(...) ASX_LAB_AT_(asx_join(__VA_ARGS__))
#define asx_join_all(...) ASX_LAB_AT_(asx_join_all(__VA_ARGS__))
#define asx_race_all(...) ASX_LAB_AT_(asx_race_all(__VA_ARGS__))
#define asx_first_ok(...) ASX_LAB_AT_(asx_first_ok(__VA_ARGS__))
#define asx_quorum(...) ASX_LAB_AT_(asx_quorum(__VA_ARGS__))
#define asx_hedge(...) ASX_LAB_AT_(asx_hedge(__VA_ARGS__))
#define asx_timeout(...) ASX_LAB_AT_(asx_timeout(__VA_ARGS__))
#define asx_retry(...) ASX_LAB_AT_(asx_retry(__VA_ARGS__))
#define asx_pipeline(...) ASX_LAB_AT_(asx_pipeline(__VA_ARGS__))
#define asx_map_reduce(...) ASX_LAB_AT_(asx_map_reduce(__VA_ARGS__))
#define asx_for_each(...) ASX_LAB_AT_(asx_for_each(__VA_ARGS__))
#define asx_rate_limiter_acquire(...) ASX_LAB_OF_(asx_rate_limiter_acquire, __VA_ARGS__)
#define asx_breaker_call(...) ASX_LAB_AT_(asx_breaker_call(__VA_ARGS__))
#define asx_supervise(...) ASX_LAB_AT_(asx_supervise(__VA_ARGS__))
#define asx_task_cancel(...) ASX_LAB_AT_(asx_task_cancel(__VA_ARGS__))
#define asx_task_link(...) ASX_LAB_AT_(asx_task_link(__VA_ARGS__))
#define asx_region_open_at(...) ASX_LAB_AT_(asx_region_open_at(__VA_ARGS__))
#define asx_region_open_in_at(...) ASX_LAB_AT_(asx_region_open_in_at(__VA_ARGS__))
#define asx_region_close(...) ASX_LAB_ON_(asx_region_close, __VA_ARGS__)
#define asx_region_close_with(...) ASX_LAB_ON_(asx_region_close_with, __VA_ARGS__)
#define asx_region_cancel(...) ASX_LAB_ON_(asx_region_cancel, __VA_ARGS__)
#define asx_checkpoint(...) ASX_LAB_AT_(asx_checkpoint(__VA_ARGS__))
#define asx_is_cancelled(...) (ASX_LAB_AT_((asx_status)asx_is_cancelled(__VA_ARGS__)) != ASX_OK)
#define asx_cx_cancel_reason(...) ASX_LAB_AT_(asx_cx_cancel_reason(__VA_ARGS__))
#define asx_yield(...) ASX_LAB_AT_(asx_yield(__VA_ARGS__))
#define asx_sleep(...) ASX_LAB_AT_(asx_sleep(__VA_ARGS__))
#define asx_sleep_until(...) ASX_LAB_AT_(asx_sleep_until(__VA_ARGS__))
#define asx_wait_external(...) ASX_LAB_AT_(asx_wait_external(__VA_ARGS__))
#define asx_channel_create(...) ASX_LAB_AT_(asx_channel_create(__VA_ARGS__))
#define asx_mpmc_create(...) ASX_LAB_AT_(asx_mpmc_create(__VA_ARGS__))
#define asx_oneshot_create(...) ASX_LAB_AT_(asx_oneshot_create(__VA_ARGS__))
#define asx_oneshot_adopt_at(...) ASX_LAB_AT_(asx_oneshot_adopt_at(__VA_ARGS__))
#define asx_broadcast_create(...) ASX_LAB_AT_(asx_broadcast_create(__VA_ARGS__))
#define asx_watch_create(...) ASX_LAB_AT_(asx_watch_create(__VA_ARGS__))
#define asx_mutex_create(...) ASX_LAB_AT_(asx_mutex_create(__VA_ARGS__))
#define asx_rwlock_create(...) ASX_LAB_AT_(asx_rwlock_create(__VA_ARGS__))
#define asx_semaphore_create(...) ASX_LAB_AT_(asx_semaphore_create(__VA_ARGS__))
#define asx_condition_create(...) ASX_LAB_AT_(asx_condition_create(__VA_ARGS__))
#define asx_notify_create(...) ASX_LAB_AT_(asx_notify_create(__VA_ARGS__))
#define asx_barrier_create(...) ASX_LAB_AT_(asx_barrier_create(__VA_ARGS__))
#define asx_once_create(...) ASX_LAB_AT_(asx_once_create(__VA_ARGS__))
#define asx_obligation_reserve_at(...) ASX_LAB_AT_(asx_obligation_reserve_at(__VA_ARGS__))
#define asx_obligation_commit(...) ASX_LAB_ON_(asx_obligation_commit, __VA_ARGS__)
#define asx_obligation_abort(...) ASX_LAB_ON_(asx_obligation_abort, __VA_ARGS__)
#define asx_region_stop(...) ASX_LAB_ON_(asx_region_stop, __VA_ARGS__)
#define asx_region_alloc(...) ASX_LAB_AT_(asx_region_alloc(__VA_ARGS__))
#define asx_defer(...) ASX_LAB_AT_(asx_defer(__VA_ARGS__))
#define asx_mask_begin(...) ASX_LAB_AT_(asx_mask_begin(__VA_ARGS__))
#define asx_mask_end(...) ASX_LAB_AT_(asx_mask_end(__VA_ARGS__))
#define asx_commit_section(...) ASX_LAB_AT_(asx_commit_section(__VA_ARGS__))
#define asx_consume_cost(...) ASX_LAB_AT_(asx_consume_cost(__VA_ARGS__))
#define asx_runtime_shutdown(...) ASX_LAB_AT_(asx_runtime_shutdown(__VA_ARGS__))
#define asx_ghost_borrow(...) ASX_LAB_OF_(asx_ghost_borrow, __VA_ARGS__)
#define asx_ghost_return(...) ASX_LAB_OF_(asx_ghost_return, __VA_ARGS__)
#define asx_ghost_touch(...) ASX_LAB_OF_(asx_ghost_touch, __VA_ARGS__)
#define asx_ghost_adopt(...) ASX_LAB_OF_(asx_ghost_adopt, __VA_ARGS__)
#define asx_ghost_transfer(...) ASX_LAB_OF_(asx_ghost_transfer, __VA_ARGS__)

#endif

#endif
