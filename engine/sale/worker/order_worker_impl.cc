#include "engine/sale/worker/order_worker_impl.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/base/thrown.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/model/order_entry.h"

namespace rushgate {
namespace {

using StepKind = OrderWorker::Step::Kind;

OrderWorker::Step paused(const std::string& reason) {
  OrderWorker::Step step;
  step.kind = StepKind::kPaused;
  step.reason = reason;
  return step;
}

WorkerOptions with_consumer(WorkerOptions options) {
  if (options.consumer.empty()) options.consumer = "c1";
  return options;
}

}  // namespace

OrderWorker::Impl::Impl(Backend& backend, const SaleStores& stores, const SaleKeys& keys,
                        WorkerOptions options, KeyspaceRole role)
    : client_(backend.open_client()),
      stores_(stores),
      clock_(backend.clock()),
      keys_(keys),
      options_(with_consumer(std::move(options))),
      role_(role),
      owner_(stores, keys,
             {.is_shared = !backend.capabilities().runs_native_scripts,
              .role = role,
              .logger = options_.logger}),
      vouchers_(*client_, stores, owner_, keys, {.logger = options_.logger}),
      queued_(*client_, keys),
      changes_(*client_, clock_, stores, keys, queued_, owner_, vouchers_),
      released_(*client_, stores, keys_, vouchers_, changes_, options_.logger),
      reader_(*client_, clock_, stores, keys_, options_, owner_, released_),
      writer_(stores, options_.isolate_after),
      late_writes_(*client_, clock_, stores, keys_, changes_, writer_),
      acknowledger_(*client_, keys_, options_, owner_),
      timeouts_(*client_, clock_, keys_, vouchers_),
      connection_check_([this, has_slots = backend.capabilities().has_slots](Client& connection) {
        if (is_on_other_node(connection, keys_, has_slots)) return absl::OkStatus();
        queued_.clear();
        late_writes_.forget_cancellations();
        return owner_.verify(connection);
      }) {
  backend.add_connection_check(connection_check_.get());
}

// ---- Steps ----

void OrderWorker::Impl::wait_for_end_of_pause(std::int64_t wait_ms_max) {
  const std::int64_t left_ms = std::min(paused_until_ms_ - clock_.monotonic_ms(), wait_ms_max);
  if (left_ms <= 0) return;
  std::unique_lock lock(pause_mutex_);
  interrupted_.wait_for(lock, std::chrono::milliseconds(left_ms),
                        [this] { return is_interrupted_; });
  is_interrupted_ = false;
}

void OrderWorker::Impl::interrupt() {
  {
    const std::lock_guard lock(pause_mutex_);
    is_interrupted_ = true;
  }
  interrupted_.notify_all();
  client_->unblock();
}

/// Pauses after an exception of a user's store.
OrderWorker::Step OrderWorker::Impl::step(std::int64_t block_ms) {
  Step step;
  try {
    step = work(block_ms);
  } catch (...) {
    reader_.read_again();
    step = pause(thrown());
  }
  if (step.kind != StepKind::kPaused) pauses_ = 0;
  step.lost = reader_.take_lost();
  const RestoredOrders restored = released_.take_restored();
  step.restored += restored.appended;
  step.buried += restored.buried;
  return step;
}

OrderWorker::Step OrderWorker::Impl::work(std::int64_t block_ms) {
  if (clock_.monotonic_ms() < paused_until_ms_) return paused(pause_reason_);
  if (const absl::Status prepared = prepare(); !prepared.ok()) return pause(prepared);
  std::size_t expired = 0;
  absl::Status expiring;
  bool are_more_due = false;
  if (const std::int64_t now_ms = clock_.monotonic_ms();
      ends_holds() && now_ms >= timeouts_.next_ms()) {
    // Storing orders frees memory, which the timeouts may need: it goes on after an error.
    expiring = timeouts_.expire(expired);
    are_more_due = timeouts_.next_ms() <= now_ms;
  }
  auto batch = take_batch(expired > 0 || are_more_due || !expiring.ok() ? 0 : block_ms);
  if (!batch.ok()) {
    reader_.read_again();  // some of it may have been read
    return pause(batch.status());
  }
  Step step;
  if (!batch->entries.empty()) {
    step = process(*std::move(batch));
  } else if (!expiring.ok()) {
    return pause(expiring);
  } else if (expired > 0 || are_more_due || reader_.is_claiming()) {
    step.kind = StepKind::kWorked;
  }
  step.expired = expired;
  return step;
}

/// Looks for a new session of the database now and then, also while there are no orders: the server behind it
/// may have lost some.
absl::Status OrderWorker::Impl::look_for_new_session() {
  constexpr std::int64_t kEveryMs = 5'000;
  const std::int64_t known = reader_.database().session;
  const std::int64_t now_ms = clock_.monotonic_ms();
  if (now_ms < session_at_ms_) return absl::OkStatus();
  session_at_ms_ = known == 0 ? kNever : now_ms + kEveryMs;
  if (known == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  if (state.session != known) reader_.forget_group();
  return absl::OkStatus();
}

absl::Status OrderWorker::Impl::prepare() {
  RETURN_IF_ERROR(look_for_new_session());
  ASSIGN_OR_RETURN(const auto was_looked_for, reader_.ensure_group());
  if (was_looked_for) {
    renew_at_ms_ = owner_.renewal_after(clock_.monotonic_ms());
    session_at_ms_ = reader_.database().session == 0 ? kNever : clock_.monotonic_ms();
  }
  RETURN_IF_ERROR(renew_lease());
  return clock_.monotonic_ms() < trim_at_ms_ ? absl::OkStatus() : trim();
}

/// Renews the lease of the database when it is time, also while there are no orders.
absl::Status OrderWorker::Impl::renew_lease() {
  const std::int64_t now_ms = clock_.monotonic_ms();
  if (now_ms < renew_at_ms_) return absl::OkStatus();
  absl::Status renewed = owner_.renew_lease(*client_);
  if (renewed.ok()) renew_at_ms_ = owner_.renewal_after(now_ms);
  return renewed;
}

absl::StatusOr<EntryBatch> OrderWorker::Impl::take_batch(std::int64_t block_ms) {
  if (auto kept = reader_.take_kept()) {
    if (writer_.is_isolating()) return reader_.extend(*std::move(kept));
    return *std::move(kept);
  }
  std::int64_t due_ms = std::min({renew_at_ms_, trim_at_ms_, session_at_ms_});
  if (ends_holds()) due_ms = std::min(due_ms, timeouts_.next_ms());
  auto batch = reader_.next(block_ms, due_ms);
  if (reader_.had_none_pending()) writer_.clear_suspects();
  if (batch.ok() && writer_.is_isolating()) writer_.put_tried_last(batch->entries);
  return batch;
}

// ---- Batches ----

OrderWorker::Step OrderWorker::Impl::process(EntryBatch batch) {
  try {
    return process_held(batch);
  } catch (...) {
    released_.add_all(batch);
    throw;
  }
}

OrderWorker::Step OrderWorker::Impl::process_held(EntryBatch& batch) {
  std::vector<DecidedEntry> decided;
  EntryWrites writes;
  EntryWrites suspects;
  read_all(batch, writes, suspects, decided);
  if (const absl::Status prepared = prepare_write(); !prepared.ok()) {
    reader_.keep(std::move(batch));
    return pause(prepared);
  }
  Step step;
  step.kind = StepKind::kWorked;
  const absl::Status written = writer_.write_all(writes, suspects, fence_, decided);
  if (absl::IsAborted(written)) {
    give_back(batch);
    return step;
  }
  const absl::Status acknowledged = conclude(decided, batch.is_redelivery, step);
  if (absl::IsAborted(acknowledged)) {
    give_back(batch);
    return pause(acknowledged);
  }
  if (acknowledged.ok()) {
    keep_undecided(std::move(batch), decided);
  } else {
    released_.add_all(batch);  // some of it may be acknowledged
    reader_.read_again();
  }
  if (written.ok() && acknowledged.ok()) return step;
  Step pausing = pause(written.ok() ? acknowledged : written);
  step.kind = pausing.kind;
  step.reason = std::move(pausing.reason);
  return step;
}

/// Releases a batch. One of the stores may have lost writes since it was read: the keyspace, and been rebuilt
/// without the batch; its group may be gone too. Or the database, and its group began anew.
void OrderWorker::Impl::give_back(EntryBatch& batch) {
  released_.add_all(batch);
  reader_.read_again();
  reader_.forget_group();
  queued_.clear();
  late_writes_.forget_cancellations();
}

/// Reads the orders and events of the batch. Entries that cannot be read are refused.
void OrderWorker::Impl::read_all(const EntryBatch& batch, EntryWrites& writes,
                                 EntryWrites& suspects, std::vector<DecidedEntry>& decided) {
  decided.reserve(batch.entries.size());
  writes.reserve(batch.entries.size());
  const std::int64_t now_ms = clock_.now_ms();
  for (const OrderEntry& entry : batch.entries) {
    auto event = read_storable(entry, stores_.orders);
    if (!event.ok()) {
      decided.push_back(
          {&entry, DecidedEntry::Fate::kRefused, std::string(event.status().message())});
      continue;
    }
    event->order.created_at_ms = now_ms;
    if (const std::int64_t due_ms = event->order.due_at_ms; due_ms > 0) {
      timeouts_.expect_in(std::max<std::int64_t>(due_ms - event->at_ms, 0));
    }
    (writer_.is_suspect(entry.id) ? suspects : writes).add(*std::move(event), entry);
  }
}

/// Draws the fence. The database must never know an order, or a checkpoint, that a power cut could
/// remove from the log: syncs it.
absl::Status OrderWorker::Impl::prepare_write() {
  ASSIGN_OR_RETURN(const auto fence, draw_fence());
  const Reply synced = client_->sync_of(keys_.stream_owner());
  if (synced.is_error()) return to_status(synced, "syncing the log");
  fence_ = fence;
  return absl::OkStatus();
}

/// Returns the fence for a batch that was read in this epoch.
absl::StatusOr<BatchFence> OrderWorker::Impl::draw_fence() {
  const DatabaseState& database = reader_.database();
  BatchFence fence{.epoch = database.epoch, .session = database.session};
  const auto drawn = owner_.draw_checkpoint(*client_);
  if (drawn.ok()) renew_at_ms_ = owner_.renewal_after(clock_.monotonic_ms());
  if (!drawn.ok() && !absl::IsNotFound(drawn.status())) return drawn.status();
  if (drawn.ok()) {
    fence.checkpoint = *drawn;
    return fence;
  }
  // The keyspace lost everything, and nothing was rebuilt in this epoch: the batch can still be
  // saved. A checkpoint that no keyspace has drawn reveals the loss.
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  fence.checkpoint = state.checkpoint + 1;
  return fence;
}

/// Acknowledges stored orders, buries refused ones, counts faults, trims the stream. A process that
/// was stopped meanwhile may have lost the lease: then another copy of the database has to store them.
absl::Status OrderWorker::Impl::conclude(std::vector<DecidedEntry>& decided, bool is_redelivery,
                                         Step& step) {
  RETURN_IF_ERROR(renew_lease());
  report_stored(decided);
  RETURN_IF_ERROR(end_refunds(decided));
  absl::Status acknowledged =
      acknowledger_.acknowledge_stored(decided, is_redelivery, fence_, step);
  if (!acknowledged.ok()) return acknowledged;
  ASSIGN_OR_RETURN(const auto late, late_writes_.write_again(decided, fence_));
  report_stored(late);
  acknowledged = acknowledger_.acknowledge_stored(late, is_redelivery, fence_, step);
  if (!acknowledged.ok()) return acknowledged;
  RETURN_IF_ERROR(conclude_unstored(decided, step));
  return step.stored + step.changed + step.buried > 0 ? trim() : absl::OkStatus();
}

/// Trims the stream. Retained entries are looked at once more after a part of the time.
absl::Status OrderWorker::Impl::trim() {
  ASSIGN_OR_RETURN(const auto is_due_later, acknowledger_.trim());
  trim_at_ms_ = is_due_later
                    ? clock_.monotonic_ms() + std::max<std::int64_t>(options_.retain_ms / 16, 1)
                    : kNever;
  return absl::OkStatus();
}

/// Ends refunds that the database had lost, and has again.
absl::Status OrderWorker::Impl::end_refunds(const std::vector<DecidedEntry>& decided) {
  for (const DecidedEntry& one : decided) {
    if (one.fate != DecidedEntry::Fate::kStored || !is_event(*one.entry)) continue;
    const auto event = read_event(*one.entry);
    if (!event.ok() || event->kind != OrderEvent::Kind::kRefundBegun) continue;
    RETURN_IF_ERROR(changes_.end_refund(event->order.id));
  }
  return absl::OkStatus();
}

/// Buries entries, or lets them be read once more.
absl::Status OrderWorker::Impl::conclude_unstored(std::vector<DecidedEntry>& decided, Step& step) {
  // The orders first: the events of one that is not decided yet wait with it.
  // (Not the algorithm of std::ranges, whose result clang 14 cannot compile.)
  std::stable_partition(decided.begin(), decided.end(),
                        [](const DecidedEntry& one) { return !is_event(*one.entry); });
  absl::flat_hash_set<OrderId> waiting;
  for (DecidedEntry& one : decided) {
    bool is_decided = one.fate == DecidedEntry::Fate::kStored;
    if (!is_decided) {
      ASSIGN_OR_RETURN(const auto buried, acknowledger_.bury_if_final(one, waiting, step));
      is_decided = buried;
    }
    if (is_decided) {
      writer_.clear_suspect(one.entry->id);
    } else {
      released_.add(*one.entry);
      reader_.retry_later();
    }
  }
  return absl::OkStatus();
}

/// Calls on_stored with the orders that are in the database. Throws an exception that names it.
void OrderWorker::Impl::report_stored(const std::vector<DecidedEntry>& decided) const {
  if (!options_.on_stored) return;
  std::vector<OrderId> orders;
  for (const DecidedEntry& one : decided) {
    if (one.fate != DecidedEntry::Fate::kStored) continue;
    if (const auto order = read_order(*one.entry); order.ok()) orders.push_back(order->id);
  }
  if (orders.empty()) return;
  try {
    options_.on_stored(orders);
  } catch (...) {
    throw std::runtime_error(concat("on_stored failed: ", thrown().message()));
  }
}

/// Keeps the undecided entries; entries that were tried alone come last.
void OrderWorker::Impl::keep_undecided(EntryBatch batch, const std::vector<DecidedEntry>& decided) {
  if (decided.size() == batch.entries.size()) return;
  absl::flat_hash_set<const OrderEntry*> done;
  for (const DecidedEntry& one : decided) done.insert(one.entry);
  EntryBatch kept{.entries = {}, .is_redelivery = batch.is_redelivery};
  for (OrderEntry& entry : batch.entries) {
    if (!done.contains(&entry)) kept.entries.push_back(std::move(entry));
  }
  writer_.put_failed_last(kept.entries);
  reader_.keep(std::move(kept));
}

/// Pauses, and logs the reason unless the worker already pauses for it.
OrderWorker::Step OrderWorker::Impl::pause(const absl::Status& reason) {
  std::int64_t pause_ms = options_.retry_after_ms;
  for (int i = 0; i < pauses_ && pause_ms < options_.pause_ms_max; ++i) {
    pause_ms = std::min(2 * pause_ms, options_.pause_ms_max);
  }
  const bool has_paused_before = pauses_++ > 0;
  paused_until_ms_ = clock_.monotonic_ms() + pause_ms;
  std::string why(reason.message());
  if (why.empty()) why = reason.ToString();
  const bool is_known = has_paused_before && why == pause_reason_;
  pause_reason_ = std::move(why);
  if (options_.logger && !is_known)
    log_warning(*options_.logger, concat("order worker ", options_.consumer, " of ",
                                         keys_.order_stream, " pauses: ", pause_reason_));
  return paused(pause_reason_);
}

}  // namespace rushgate
