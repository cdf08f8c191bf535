/* test_every_function.c - no public function without tests of right and of wrong calls.
 *
 * The table says where each function is called as it should be (a file under tests/) and as it
 * should not (tests/api/test_misuse_<name>.c). The headers are read and compared with it: a new
 * function is missed here until somebody has written both and added a line. What stands in a
 * comment or in quotes is no call. A function whose name ends in _at shares the row of the one
 * without, whose macro calls it (tests/api/test_placed.c calls those by themselves). */
#include "harness.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *name;
    const char *right; /* under tests/ */
    const char *wrong; /* tests/api/test_misuse_....c */
} rows[] = {
    { "asx_ack_commit", "sync/test_channel_api.c", "channel" },
    { "asx_ack_nack", "sync/test_channel_api.c", "channel" },
    { "asx_address_ip", "io/support_io.c", "io" },
    { "asx_address_port", "io/test_net.c", "io" },
    { "asx_address_text", "io/test_net.c", "io" },
    { "asx_address_unix", "io/test_net.c", "io" },
    { "asx_barrier_create", "sync/objects/test_notify.c", "meet" },
    { "asx_barrier_wait", "sync/objects/support_meet.c", "meet" },
    { "asx_blocking", "sched/test_blocking.c", "blocking" },
    { "asx_bracket", "sched/test_cancel_mask.c", "cx" },
    { "asx_breaker_call", "flow/test_limit.c", "flow" },
    { "asx_breaker_create", "flow/test_limit.c", "flow" },
    { "asx_breaker_get_info", "flow/test_limit.c", "flow" },
    { "asx_breaker_state_str", "flow/test_limit.c", "flow" },
    { "asx_broadcast_close", "sync/objects/support_shapes.c", "shapes" },
    { "asx_broadcast_create", "sync/objects/test_broadcast.c", "shapes" },
    { "asx_broadcast_receiver_drop", "sync/objects/support_shapes.c", "shapes" },
    { "asx_broadcast_recv", "sync/objects/support_shapes.c", "shapes" },
    { "asx_broadcast_send", "sync/objects/support_shapes.c", "shapes" },
    { "asx_broadcast_subscribe", "sync/objects/support_shapes.c", "shapes" },
    { "asx_broadcast_try_recv", "sync/objects/support_shapes.c", "shapes" },
    { "asx_budget_consume_cost", "kernel/test_budget.c", "runtime" },
    { "asx_budget_consume_poll", "kernel/test_budget.c", "runtime" },
    { "asx_budget_equal", "kernel/test_budget.c", "runtime" },
    { "asx_budget_expired", "kernel/test_budget.c", "runtime" },
    { "asx_budget_infinite", "kernel/test_budget.c", "runtime" },
    { "asx_budget_meet", "kernel/test_budget.c", "runtime" },
    { "asx_budget_zero", "kernel/test_budget.c", "runtime" },
    { "asx_cancel_cleanup_budget", "kernel/test_cancel.c", "runtime" },
    { "asx_cancel_kind_str", "kernel/test_cancel.c", "runtime" },
    { "asx_cancel_phase_str", "kernel/test_cancel.c", "runtime" },
    { "asx_cancel_reason_depth", "kernel/test_chain.c", "runtime" },
    { "asx_cancel_reason_stronger", "kernel/test_cancel.c", "runtime" },
    { "asx_cancel_severity", "kernel/test_cancel.c", "runtime" },
    { "asx_cancel_witness_check", "kernel/test_cancel.c", "runtime" },
    { "asx_channel_create", "sync/test_channel_api.c", "channel" },
    { "asx_channel_receiver_drop", "sync/test_channel_api.c", "channel" },
    { "asx_channel_receiver_info", "sync/test_channel_end.c", "channel" },
    { "asx_channel_recv", "sync/test_channel_poll.c", "channel" },
    { "asx_channel_recv_with_ack", "sync/test_channel_api.c", "channel" },
    { "asx_channel_reserve", "sync/test_channel_api.c", "channel" },
    { "asx_channel_reserve_tracked", "sync/test_channel_api.c", "channel" },
    { "asx_channel_send", "sync/test_channel_end.c", "channel" },
    { "asx_channel_send_evict_oldest", "sync/test_channel_api.c", "channel" },
    { "asx_channel_sender_clone", "sync/test_channel_end.c", "channel" },
    { "asx_channel_sender_drop", "sync/test_channel_end.c", "channel" },
    { "asx_channel_sender_info", "sync/test_channel_api.c", "channel" },
    { "asx_channel_try_recv", "sync/test_channel_poll.c", "channel" },
    { "asx_channel_try_reserve", "sync/test_channel_api.c", "channel" },
    { "asx_channel_try_send", "sync/test_channel_api.c", "channel" },
    { "asx_checkpoint", "sched/test_cancel_mask.c", "cx" },
    { "asx_child_close", "io/test_process.c", "io" },
    { "asx_child_pid", "io/test_process.c", "io" },
    { "asx_child_signal", "io/test_process.c", "io" },
    { "asx_child_start", "io/test_process.c", "io" },
    { "asx_child_wait", "io/test_process.c", "io" },
    { "asx_close_report_deinit", "sched/test_close.c", "handles" },
    { "asx_commit_section", "sched/test_cancel_mask.c", "cx" },
    { "asx_condition_broadcast", "sync/objects/support_meet.c", "meet" },
    { "asx_condition_create", "sync/objects/test_condition.c", "meet" },
    { "asx_condition_signal", "sync/objects/support_meet.c", "meet" },
    { "asx_condition_wait", "sync/objects/support_meet.c", "meet" },
    { "asx_connect", "io/support_io.c", "io" },
    { "asx_connect_name", "io/test_dns.c", "io" },
    { "asx_consume_cost", "sched/test_budget.c", "cx" },
    { "asx_cx_budget", "sched/test_budget.c", "cx" },
    { "asx_cx_cancel_reason", "sched/test_budget.c", "cx" },
    { "asx_cx_caps", "sched/test_cancel_scope.c", "cx" },
    { "asx_cx_narrow", "sched/test_cancel_scope.c", "cx" },
    { "asx_cx_region", "sched/test_cancel_scope.c", "cx" },
    { "asx_cx_region_id", "sched/test_cancel_reason.c", "cx" },
    { "asx_cx_runtime", "sched/test_cancel_overrun.c", "handles" },
    { "asx_cx_task", "sched/test_cancel_mask.c", "cx" },
    { "asx_cx_task_id", "sched/test_task.c", "cx" },
    { "asx_cx_waker", "sched/test_poll.c", "cx" },
    { "asx_defer", "sched/test_finalizers.c", "handles" },
    { "asx_directory_next", "io/test_disk.c", "io" },
    { "asx_directory_read", "io/test_disk.c", "io" },
    { "asx_dns_lookup", "io/test_dns.c", "io" },
    { "asx_dump_all", "see/test_dump.c", "see" },
    { "asx_dump_on_signal", "see/test_dump.c", "see" },
    { "asx_dump_tasks", "see/test_dump.c", "see" },
    { "asx_event_format", "trace/test_format.c", "runtime" },
    { "asx_event_kind_str", "trace/test_format.c", "runtime" },
    { "asx_explore", "lab/dpor/test_explore.c", "explore" },
    { "asx_explore_mode_str", "lab/dpor/test_explore.c", "explore" },
    { "asx_explore_position", "lab/dpor/test_explore.c", "explore" },
    { "asx_explore_stop_str", "lab/dpor/test_modes.c", "explore" },
    { "asx_file_close", "io/test_disk.c", "io" },
    { "asx_file_info", "io/test_disk.c", "io" },
    { "asx_file_open", "io/test_disk.c", "io" },
    { "asx_file_read", "io/test_disk.c", "io" },
    { "asx_file_sync", "io/test_disk.c", "io" },
    { "asx_file_write", "io/test_disk.c", "io" },
    { "asx_first_ok", "flow/test_gather.c", "flow" },
    { "asx_for_each", "flow/test_stream.c", "flow" },
    { "asx_ghost_adopt", "lab/test_oracles.c", "explore" },
    { "asx_ghost_borrow", "lab/test_oracles.c", "explore" },
    { "asx_ghost_return", "lab/test_oracles.c", "explore" },
    { "asx_ghost_touch", "lab/test_oracles.c", "explore" },
    { "asx_ghost_transfer", "lab/test_oracles.c", "explore" },
    { "asx_handle_check", "kernel/test_handle.c", "runtime" },
    { "asx_handle_index", "kernel/test_handle.c", "runtime" },
    { "asx_handle_make", "kernel/test_handle.c", "handles" },
    { "asx_handle_mask", "kernel/test_handle.c", "runtime" },
    { "asx_handle_narrow", "kernel/test_handle.c", "runtime" },
    { "asx_handle_same", "kernel/test_handle.c", "runtime" },
    { "asx_handle_tag", "kernel/test_handle.c", "runtime" },
    { "asx_hedge", "flow/test_gather.c", "flow" },
    { "asx_http1_chunk_head", "http/test_http1.c", "http" },
    { "asx_http1_chunks_init", "http/test_http1.c", "http" },
    { "asx_http1_chunks_read", "http/test_http1.c", "http" },
    { "asx_http1_head_field", "http/test_http1.c", "http" },
    { "asx_http1_head_find", "http/test_http1.c", "http" },
    { "asx_http1_head_init", "http/test_http1.c", "http" },
    { "asx_http1_head_read", "http/test_http1.c", "http" },
    { "asx_http_date_read", "http/test_http1.c", "http" },
    { "asx_http_date_text", "http/test_http1.c", "http" },
    { "asx_http_field_valid", "http/test_http1.c", "http" },
    { "asx_http_request_head", "http/test_server.c", "http" },
    { "asx_http_request_peer", "http/test_server.c", "http" },
    { "asx_http_request_read", "http/test_server.c", "http" },
    { "asx_http_request_trailers", "http/test_server.c", "http" },
    { "asx_http_response_close", "http/test_server.c", "http" },
    { "asx_http_response_field", "http/test_server.c", "http" },
    { "asx_http_response_file", "http/test_server.c", "http" },
    { "asx_http_response_length", "http/test_server.c", "http" },
    { "asx_http_response_send", "http/test_server.c", "http" },
    { "asx_http_response_status", "http/test_server.c", "http" },
    { "asx_http_response_trailer", "http/test_server.c", "http" },
    { "asx_http_response_write", "http/test_server.c", "http" },
    { "asx_http_serve", "http/test_server.c", "http" },
    { "asx_http_server_create", "http/test_server.c", "http" },
    { "asx_http_server_get_info", "http/test_server.c", "http" },
    { "asx_http_server_late", "http/test_server.c", "http" },
    { "asx_http_server_stop", "http/test_server.c", "http" },
    { "asx_http_status_text", "http/test_http1.c", "http" },
    { "asx_is_cancelled", "sched/test_cancel_overrun.c", "cx" },
    { "asx_join", "sched/test_join.c", "handles" },
    { "asx_join_all", "flow/test_flow.c", "cx" },
    { "asx_lab_cas_at", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_check", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_choose", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_enter", "lab/dpor/test_sites.c", "explore" },
    { "asx_lab_expect", "lab/dpor/test_errors.c", "explore" },
    { "asx_lab_failed_here", "api/test_misuse_explore.c", "explore" },
    { "asx_lab_fetch_add_at", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_finding_deinit", "lab/bugs/test_bugs.c", "explore" },
    { "asx_lab_here", "lab/bugs/test_bugs.c", "explore" },
    { "asx_lab_left", "lab/dpor/test_sites.c", "explore" },
    { "asx_lab_load_at", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_mutex_lock", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_mutex_try_lock", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_mutex_unlock", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_operate", "lab/dpor/test_tasks.c", "explore" },
    { "asx_lab_oracle", "lab/test_oracles.c", "explore" },
    { "asx_lab_race_free", "lab/test_oracles.c", "explore" },
    { "asx_lab_read_at", "lab/test_races.c", "explore" },
    { "asx_lab_replay", "lab/test_lab.c", "runtime" },
    { "asx_lab_run", "lab/test_lab.c", "runtime" },
    { "asx_lab_search", "lab/bugs/test_bugs.c", "explore" },
    { "asx_lab_semaphore_acquire", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_semaphore_release", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_shrink", "lab/bugs/test_bugs.c", "explore" },
    { "asx_lab_store_at", "lab/dpor/test_explore.c", "explore" },
    { "asx_lab_until_at", "lab/dpor/test_shown.c", "explore" },
    { "asx_lab_until_end", "lab/dpor/test_shown.c", "explore" },
    { "asx_lab_write_at", "lab/test_races.c", "explore" },
    { "asx_listen", "io/support_io.c", "io" },
    { "asx_listener_accept", "io/support_io.c", "io" },
    { "asx_listener_address", "io/support_io.c", "io" },
    { "asx_listener_adopt", "io/test_passing.c", "io" },
    { "asx_listener_close", "io/support_io.c", "io" },
    { "asx_listener_passed", "io/test_passing.c", "io" },
    { "asx_main", "sched/test_smoke.c", "runtime" },
    { "asx_map_reduce", "flow/test_stream.c", "flow" },
    { "asx_mask_begin", "sched/test_cancel_mask.c", "cx" },
    { "asx_mask_end", "sched/test_cancel_mask.c", "cx" },
    { "asx_mpmc_close", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_create", "sync/objects/test_mpmc_poll.c", "mpmc" },
    { "asx_mpmc_receiver_clone", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_receiver_drop", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_receiver_info", "sync/objects/test_mpmc_poll.c", "mpmc" },
    { "asx_mpmc_recv", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_send", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_sender_clone", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_sender_drop", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_sender_info", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_try_recv", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mpmc_try_send", "sync/objects/test_mpmc.c", "mpmc" },
    { "asx_mutex_create", "sync/objects/test_mutex.c", "locks" },
    { "asx_mutex_info", "sync/objects/test_mutex.c", "locks" },
    { "asx_mutex_lock", "sync/objects/support_locks.c", "locks" },
    { "asx_mutex_recover", "sync/objects/support_locks.c", "locks" },
    { "asx_mutex_try_lock", "sync/objects/support_locks.c", "locks" },
    { "asx_mutex_unlock", "sync/objects/support_locks.c", "locks" },
    { "asx_notify_all", "sync/objects/support_meet.c", "meet" },
    { "asx_notify_create", "sync/objects/test_notify.c", "meet" },
    { "asx_notify_one", "sync/objects/support_meet.c", "meet" },
    { "asx_notify_wait", "sync/objects/support_meet.c", "meet" },
    { "asx_now", "sched/test_budget.c", "cx" },
    { "asx_obligation_abort", "sched/test_admission.c", "handles" },
    { "asx_obligation_commit", "sched/test_close.c", "handles" },
    { "asx_obligation_get_state", "sched/test_close.c", "handles" },
    { "asx_obligation_probe", "api/test_right_runtime.c", "handles" },
    { "asx_obligation_reserve", "sched/test_close.c", "handles" },
    { "asx_obligation_state_str", "kernel/test_obligation.c", "runtime" },
    { "asx_obligation_transition_legal", "kernel/test_obligation.c", "runtime" },
    { "asx_once_call", "sync/objects/support_meet.c", "meet" },
    { "asx_once_create", "sync/objects/test_once.c", "meet" },
    { "asx_once_is_done", "sync/objects/support_meet.c", "meet" },
    { "asx_oneshot_adopt", "sync/objects/support_shapes.c", "shapes" },
    { "asx_oneshot_create", "sync/objects/test_oneshot.c", "shapes" },
    { "asx_oneshot_receiver_drop", "sync/objects/support_shapes.c", "shapes" },
    { "asx_oneshot_recv", "sync/objects/support_shapes.c", "shapes" },
    { "asx_oneshot_send", "sync/objects/support_shapes.c", "shapes" },
    { "asx_oneshot_sender_drop", "sync/objects/support_shapes.c", "shapes" },
    { "asx_oneshot_try_recv", "sync/objects/support_shapes.c", "shapes" },
    { "asx_oracle_rule", "lab/test_oracles.c", "explore" },
    { "asx_oracle_str", "lab/test_oracles.c", "explore" },
    { "asx_outcome_join", "kernel/test_outcome.c", "runtime" },
    { "asx_outcome_severity", "kernel/test_outcome.c", "runtime" },
    { "asx_outcome_str", "kernel/test_outcome.c", "runtime" },
    { "asx_panic", "sched/test_cancel_mask.c", "cx" },
    { "asx_pipe_open", "io/test_stream.c", "io" },
    { "asx_pipeline", "flow/test_stream.c", "flow" },
    { "asx_poll_fail", "sched/test_cancel_wait.c", "cx" },
    { "asx_quorum", "flow/test_gather.c", "flow" },
    { "asx_race_all", "flow/test_flow.c", "cx" },
    { "asx_rate_limiter_acquire", "flow/test_limit.c", "flow" },
    { "asx_rate_limiter_create", "flow/test_limit.c", "flow" },
    { "asx_rate_limiter_try_acquire", "flow/test_limit.c", "flow" },
    { "asx_reader_consume", "io/test_buffer.c", "io" },
    { "asx_reader_copy", "io/test_disk.c", "io" },
    { "asx_reader_frame", "io/test_buffer.c", "io" },
    { "asx_reader_init", "io/test_buffer.c", "io" },
    { "asx_reader_line", "io/test_buffer.c", "io" },
    { "asx_reader_peek", "io/test_buffer.c", "io" },
    { "asx_region_alloc", "sched/test_region.c", "handles" },
    { "asx_region_cancel", "sched/test_cancel_reason.c", "handles" },
    { "asx_region_close", "sched/test_region.c", "handles" },
    { "asx_region_close_with", "sched/test_close.c", "handles" },
    { "asx_region_get_state", "sched/test_region.c", "handles" },
    { "asx_region_narrow", "sched/test_region.c", "handles" },
    { "asx_region_open", "sched/test_region.c", "handles" },
    { "asx_region_open_in", "sched/test_cancel_reason.c", "handles" },
    { "asx_region_probe", "sched/test_region.c", "handles" },
    { "asx_region_report", "sched/test_close.c", "handles" },
    { "asx_region_state_str", "sched/test_region.c", "runtime" },
    { "asx_region_stop", "sched/test_region.c", "handles" },
    { "asx_region_transition_legal", "kernel/test_region.c", "runtime" },
    { "asx_retry", "flow/test_retry.c", "flow" },
    { "asx_runtime_advance", "api/support_api.c", "cx" },
    { "asx_runtime_blocking_stats", "sched/test_blocking.c", "blocking" },
    { "asx_runtime_certificate", "api/test_right_runtime.c", "runtime" },
    { "asx_runtime_create", "sched/test_smoke.c", "runtime" },
    { "asx_runtime_destroy", "sched/test_smoke.c", "runtime" },
    { "asx_runtime_digest", "conformance/fixture_runtime.c", "runtime" },
    { "asx_runtime_divergence", "api/test_right_runtime.c", "runtime" },
    { "asx_runtime_io_stats", "io/support_io.c", "io" },
    { "asx_runtime_now", "api/test_right_runtime.c", "runtime" },
    { "asx_runtime_observe", "sched/test_join.c", "runtime" },
    { "asx_runtime_pool_stats", "sched/test_pool.c", "runtime" },
    { "asx_runtime_quiescent", "sched/test_smoke.c", "runtime" },
    { "asx_runtime_replay", "api/test_right_runtime.c", "runtime" },
    { "asx_runtime_report", "api/test_right_runtime.c", "runtime" },
    { "asx_runtime_root", "sched/test_admission.c", "runtime" },
    { "asx_runtime_run", "sched/test_smoke.c", "runtime" },
    { "asx_runtime_set_governor", "api/test_right_runtime.c", "runtime" },
    { "asx_runtime_shutdown", "sched/test_admission.c", "runtime" },
    { "asx_runtime_stalled", "sched/test_stalled.c", "runtime" },
    { "asx_runtime_start", "sched/test_admission.c", "runtime" },
    { "asx_runtime_stats", "flow/test_flow.c", "runtime" },
    { "asx_runtime_step", "sync/test_channel_api.c", "runtime" },
    { "asx_runtime_timers", "sched/test_poll.c", "runtime" },
    { "asx_runtime_trace_status", "conformance/fixture_runtime.c", "runtime" },
    { "asx_runtime_trace_write", "api/test_right_runtime.c", "runtime" },
    { "asx_rwlock_create", "sync/objects/test_rwlock.c", "locks" },
    { "asx_rwlock_info", "sync/objects/test_rwlock.c", "locks" },
    { "asx_rwlock_read", "sync/objects/support_locks.c", "locks" },
    { "asx_rwlock_recover", "sync/objects/support_locks.c", "locks" },
    { "asx_rwlock_try_read", "sync/objects/support_locks.c", "locks" },
    { "asx_rwlock_try_write", "sync/objects/support_locks.c", "locks" },
    { "asx_rwlock_unlock", "sync/objects/support_locks.c", "locks" },
    { "asx_rwlock_write", "sync/objects/support_locks.c", "locks" },
    { "asx_semaphore_acquire", "sync/objects/support_locks.c", "locks" },
    { "asx_semaphore_add", "sync/objects/support_locks.c", "locks" },
    { "asx_semaphore_create", "sync/objects/test_semaphore.c", "locks" },
    { "asx_semaphore_info", "sync/objects/test_semaphore.c", "locks" },
    { "asx_semaphore_release", "sync/objects/support_locks.c", "locks" },
    { "asx_semaphore_release_some", "sync/objects/support_locks.c", "locks" },
    { "asx_semaphore_try_acquire", "sync/objects/support_locks.c", "locks" },
    { "asx_send_permit_abort", "sync/test_channel_api.c", "channel" },
    { "asx_send_permit_send", "sync/test_channel_api.c", "channel" },
    { "asx_signals_close", "io/test_process.c", "io" },
    { "asx_signals_open", "io/test_process.c", "io" },
    { "asx_signals_wait", "io/test_process.c", "io" },
    { "asx_sleep", "sched/test_budget.c", "cx" },
    { "asx_sleep_until", "sched/test_cancel_scope.c", "cx" },
    { "asx_spawn", "sched/test_close.c", "handles" },
    { "asx_spawn_blocking", "sched/test_blocking.c", "blocking" },
    { "asx_spawn_copy", "sched/test_task.c", "handles" },
    { "asx_spawn_poll", "sched/test_poll.c", "handles" },
    { "asx_spawn_poll_task", "sched/test_cancel_overrun.c", "handles" },
    { "asx_spawn_task", "sched/test_task.c", "handles" },
    { "asx_status_hint", "kernel/test_status.c", "runtime" },
    { "asx_status_str", "kernel/test_status.c", "cx" },
    { "asx_stream_addresses", "io/test_net.c", "io" },
    { "asx_stream_adopt", "io/test_net.c", "io" },
    { "asx_stream_close", "io/test_stream.c", "io" },
    { "asx_stream_descriptor", "io/support_io.c", "io" },
    { "asx_stream_info", "io/test_stream.c", "io" },
    { "asx_stream_layer_call", "io/test_layer.c", "io" },
    { "asx_stream_layer_open", "io/test_layer.c", "io" },
    { "asx_stream_move", "io/test_stream.c", "io" },
    { "asx_stream_pair", "io/test_stream.c", "io" },
    { "asx_stream_read", "io/test_stream.c", "io" },
    { "asx_stream_read_exact", "io/test_stream.c", "io" },
    { "asx_stream_receive_descriptor", "io/test_passing.c", "io" },
    { "asx_stream_send_descriptor", "io/test_passing.c", "io" },
    { "asx_stream_send_file", "io/test_disk.c", "io" },
    { "asx_stream_shutdown", "io/test_stream.c", "io" },
    { "asx_stream_tune", "io/test_stream.c", "io" },
    { "asx_stream_wait", "io/test_cancel.c", "io" },
    { "asx_stream_write", "io/test_stream.c", "io" },
    { "asx_stream_write_all", "io/test_stream.c", "io" },
    { "asx_stream_write_parts", "io/test_stream.c", "io" },
    { "asx_supervise", "actor/test_tree.c", "flow" },
    { "asx_supervised_state_str", "actor/test_tree.c", "flow" },
    { "asx_task_cancel", "sched/test_cancel_overrun.c", "handles" },
    { "asx_task_defer", "sched/test_cancel_mask.c", "cx" },
    { "asx_task_get_cleanup", "sched/test_cancel_overrun.c", "handles" },
    { "asx_task_get_state", "sched/test_task.c", "handles" },
    { "asx_task_get_witness", "sched/test_cancel_reason.c", "handles" },
    { "asx_task_link", "sched/test_task.c", "handles" },
    { "asx_task_probe", "sched/test_task.c", "handles" },
    { "asx_task_set_pointer", "sched/test_task.c", "cx" },
    { "asx_task_set_value", "sched/test_task.c", "cx" },
    { "asx_task_state_str", "kernel/test_task.c", "runtime" },
    { "asx_task_transition_legal", "kernel/test_task.c", "runtime" },
    { "asx_timeout", "flow/test_flow.c", "cx" },
    { "asx_timer_cancel", "time/test_wheel.c", "runtime" },
    { "asx_timer_collect_expired", "time/test_wheel.c", "runtime" },
    { "asx_timer_count", "time/test_wheel.c", "runtime" },
    { "asx_timer_next_deadline", "time/test_wheel.c", "runtime" },
    { "asx_timer_register", "time/test_wheel.c", "runtime" },
    { "asx_timer_update", "time/test_wheel.c", "runtime" },
    { "asx_timer_wheel_create", "time/test_wheel.c", "runtime" },
    { "asx_timer_wheel_destroy", "time/test_wheel.c", "runtime" },
    { "asx_timer_wheel_stats", "time/test_wheel.c", "runtime" },
    { "asx_tls_client", "tls/support_tls.c", "tls" },
    { "asx_tls_client_config", "tls/support_tls.c", "tls" },
    { "asx_tls_config_destroy", "tls/support_tls.c", "tls" },
    { "asx_tls_handshake", "tls/test_tls.c", "tls" },
    { "asx_tls_info", "tls/test_tls.c", "tls" },
    { "asx_tls_server", "tls/support_tls.c", "tls" },
    { "asx_tls_server_config", "tls/support_tls.c", "tls" },
    { "asx_trace_reader_init", "trace/test_codec.c", "runtime" },
    { "asx_trace_reader_next", "trace/test_codec.c", "runtime" },
    { "asx_trace_user", "lab/test_lab.c", "cx" },
    { "asx_tracked_permit_abort", "sync/test_channel_api.c", "channel" },
    { "asx_tracked_permit_send", "sync/test_channel_api.c", "channel" },
    { "asx_udp_address", "io/test_udp.c", "io" },
    { "asx_udp_close", "io/test_udp.c", "io" },
    { "asx_udp_open", "io/test_udp.c", "io" },
    { "asx_udp_receive", "io/test_udp.c", "io" },
    { "asx_udp_send", "io/test_udp.c", "io" },
    { "asx_wait_external", "sched/test_poll.c", "cx" },
    { "asx_watch_changed", "sync/objects/support_shapes.c", "shapes" },
    { "asx_watch_close", "sync/objects/support_shapes.c", "shapes" },
    { "asx_watch_create", "sync/objects/test_watch.c", "shapes" },
    { "asx_watch_get", "sync/objects/support_shapes.c", "shapes" },
    { "asx_watch_send", "sync/objects/support_shapes.c", "shapes" },
    { "asx_watchdog_start", "see/test_watchdog.c", "see" },
    { "asx_watchdog_stop", "see/test_watchdog.c", "see" },
    { "asx_with_cancel_mask", "sched/test_cancel_mask.c", "cx" },
    { "asx_writer_flush", "io/test_buffer.c", "io" },
    { "asx_writer_frame", "io/test_buffer.c", "io" },
    { "asx_writer_init", "io/test_buffer.c", "io" },
    { "asx_writer_put", "io/test_buffer.c", "io" },
    { "asx_yield", "sched/test_cancel_overrun.c", "cx" },
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool in_header[ROWS];

/* The whole file, terminated. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        asx_test_fail(__FILE__, __LINE__, "cannot read %s", path);
    CHECK_EQ(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    CHECK(size >= 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    CHECK(text != NULL);
    CHECK_EQ(fread(text, 1, (size_t)size, file), (size_t)size);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* A path below the top of the source tree, which this file is two folders under. */
static const char *in_tree(const char *path)
{
    static char whole[4096];
    const char *end = strstr(__FILE__, "tests/api/");
    CHECK(end != NULL);
    int top = (int)(end - __FILE__);
    int n = snprintf(whole, sizeof whole, "%.*s%s", top, __FILE__, path);
    CHECK(n > 0 && (size_t)n < sizeof whole);
    return whole;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A call, or a function handed to somebody who calls it; in a text without comments and quotes. */
static bool mentions(const char *text, const char *name, size_t len)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += len)
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return true;
    return false;
}

static char *skip_quoted(char *at)
{
    char quote = *at;
    while (*++at != '\0' && *at != quote && *at != '\n')
        if (*at == '\\' && at[1] != '\0')
            at++;
    return *at == quote ? at + 1 : at;
}

/* Blanks out comments; and the texts between quotes, where `quoted` asks for it. */
static void blank_comments(char *text, bool quoted)
{
    for (char *at = text; *at != '\0';) {
        char *end = at + 1;
        if (at[0] == '/' && at[1] == '*') {
            end = strstr(at, "*/");
            CHECK(end != NULL);
            end += 2;
        } else if (*at == '"' || *at == '\'') {
            end = skip_quoted(at);
            if (!quoted || end == at + 1)
                at = end;
        } else {
            at = end;
        }
        if (at != end)
            memset(at, ' ', (size_t)(end - at));
        at = end;
    }
}

/* The length of the name without _at. */
static size_t base_len(const char *name, size_t len)
{
    return len > 3 && strncmp(name + len - 3, "_at", 3) == 0 ? len - 3 : len;
}

static bool calls(const char *path, const char *name)
{
    char called[128];
    char *text = read_file(in_tree(path));
    size_t base = base_len(name, strlen(name));
    int len = snprintf(called, sizeof called, "%.*s_at", (int)base, name);
    CHECK(len > 0 && (size_t)len < sizeof called);
    blank_comments(text, true);
    bool found = mentions(text, called, (size_t)len);
    called[base] = '\0';
    found = found || mentions(text, called, base);
    free(text);
    return found;
}

static bool find_name(const char *name, size_t len)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0) {
            in_header[i] = true;
            return true;
        }
    }
    return false;
}

/* The name before the first parenthesis after ASX_API; attributes have none. */
static void find_row(const char *declaration, const char *header)
{
    const char *end = strchr(declaration, '(');
    CHECK(end != NULL);
    const char *start = end;
    while (start > declaration && is_word(start[-1]))
        start--;
    size_t len = (size_t)(end - start);
    if (find_name(start, len) || find_name(start, base_len(start, len)))
        return;
    asx_test_fail(__FILE__, __LINE__, "%s: %.*s has no tests: write them and add a line here",
                  header, (int)len, start);
}

static unsigned read_header(const char *name)
{
    char path[512];
    unsigned count = 0;
    int n = snprintf(path, sizeof path, "include/asx/%s", name);
    CHECK(n > 0 && (size_t)n < sizeof path);
    char *text = read_file(in_tree(path));
    blank_comments(text, false);
    for (const char *at = text; (at = strstr(at, "ASX_API")) != NULL; at += 7) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        if (*line == '#' || is_word(at[7]))
            continue;
        find_row(at + 7, path);
        count++;
    }
    free(text);
    return count;
}

ASX_TEST(every_public_function_is_called_rightly_and_wrongly)
{
    unsigned count = 0;
    const struct dirent *entry;
    DIR *folder = opendir(in_tree("include/asx"));
    CHECK(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (len > 2 && strcmp(entry->d_name + len - 2, ".h") == 0)
            count += read_header(entry->d_name);
    }
    closedir(folder);
    CHECK(count > 150);
    for (size_t i = 0; i < ROWS; i++) {
        char right[256], wrong[256];
        snprintf(right, sizeof right, "tests/%s", rows[i].right);
        snprintf(wrong, sizeof wrong, "tests/api/test_misuse_%s.c", rows[i].wrong);
        if (!in_header[i])
            asx_test_fail(__FILE__, __LINE__, "%s is in no header any more", rows[i].name);
        if (!calls(right, rows[i].name))
            asx_test_fail(__FILE__, __LINE__, "%s does not call %s", right, rows[i].name);
        if (!calls(wrong, rows[i].name))
            asx_test_fail(__FILE__, __LINE__, "%s does not call %s", wrong, rows[i].name);
    }
}
