#include "engine/sale/worker/order_worker_impl.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/thrown.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/recipes/queues/stream_trim.h"
#include "engine/sale/orders/backlog.h"
#include "engine/sale/orders/consumers.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/lost_orders.h"
#include "engine/sale/orders/order_entry.h"
#include "engine/sale/payments/holds.h"
#include "engine/sale/payments/payment_scripts.h"

namespace rushgate {
namespace {

using StepKind = OrderWorker::Step::Kind;

constexpr std::string_view kClaimFromStart = "0-0";

// The most entries of one request: buyers wait until it ends.
constexpr std::size_t kPortionMax = 1'000;

// KEYS order stream, owner of the stream. ARGV group, identity
//
// The group begins at the start of the stream: orders may have been admitted before any worker ran.
// In a keyspace that lost its owner meanwhile, the stream would look like another system's.
const Script& make_group_script() {
  static const Script* const kScript = new Script(R"lua(
if redis.call('HGET', KEYS[2], 'identity') ~= ARGV[2] then return 0 end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then return made end
return 1
)lua");
  return *kScript;
}

absl::StatusOr<std::vector<OrderEntry>> read_entries(const Reply& reply) {
  std::vector<OrderEntry> entries;
  if (reply.is_nil()) return entries;
  if (!reply.is_aggregate()) return to_status(reply, "reading orders");
  entries.reserve(reply.elements().size());
  for (const Reply& element : reply.elements()) {
    auto entry = read_entry(element);
    if (!entry) return to_status(element, "reading orders");
    entries.push_back(*std::move(entry));
  }
  return entries;
}

/// Scripts that end holds in one step, before it goes on with orders.
constexpr int kExpiringScriptsMax = 16;
/// How often holds are looked for while there are any, and while there are none.
constexpr std::int64_t kExpireEveryMs = 1'000;
constexpr std::int64_t kLookForHoldsEveryMs = 10'000;

bool has_stored_any(std::span<const OrderResult> results) {
  return std::ranges::any_of(results, [](const OrderResult& result) {
    return result.kind != OrderResult::Kind::kRefused;
  });
}

/// Moves the first entries to the back, so that other orders are tried first.
void move_to_back(std::vector<OrderEntry>& entries, std::size_t count) {
  if (entries.empty()) return;
  const auto by = static_cast<std::ptrdiff_t>(count % entries.size());
  std::rotate(entries.begin(), entries.begin() + by, entries.end());
}

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
                        WorkerOptions options)
    : client_(backend.open_client()),
      stores_(stores),
      clock_(backend.clock()),
      keys_(keys),
      options_(with_consumer(std::move(options))),
      owner_(stores, keys,
             {.is_shared = !backend.capabilities().runs_native_scripts, .logger = options_.logger}),
      vouchers_(*client_, stores, owner_, keys, {.logger = options_.logger}),
      queued_(*client_, keys),
      changes_(*client_, clock_, stores, keys, queued_, owner_, vouchers_),
      queued_cancellations_(*client_, keys.order_stream),
      dead_cancellations_(*client_, keys.dead_letters()),
      connection_check_([this](Client& connection) {
        queued_.clear();
        has_stale_cancellations_ = true;
        return owner_.verify(connection);
      }),
      claim_from_(kClaimFromStart) {
  backend.add_connection_check(connection_check_.get());
}

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
    drop_batch();
    step = pause(thrown());
  }
  if (step.kind != StepKind::kPaused) pauses_ = 0;
  step.lost = std::exchange(lost_, 0);
  const RestoredOrders restored = std::exchange(restored_, {});
  step.restored += restored.appended;
  step.buried += restored.buried;
  return step;
}

OrderWorker::Step OrderWorker::Impl::work(std::int64_t block_ms) {
  if (clock_.monotonic_ms() < paused_until_ms_) return paused(pause_reason_);
  if (!group_exists_) {
    const absl::Status made = ensure_group();
    if (!made.ok()) return pause(made);
    renew_at_ms_ = owner_.renewal_after(clock_.monotonic_ms());
  }
  if (const absl::Status renewed = renew_lease(); !renewed.ok()) return pause(renewed);
  Step step;
  absl::Status expiring;
  bool are_more_due = false;
  if (const std::int64_t now_ms = clock_.monotonic_ms();
      has_payments() && now_ms >= expire_at_ms_) {
    expiring = expire_holds(step);
    // Storing orders frees memory, which the timeouts may need: it goes on.
    if (!expiring.ok()) expire_at_ms_ = clock_.monotonic_ms() + kExpireEveryMs;
    are_more_due = expire_at_ms_ <= now_ms;
  }
  auto batch = take_batch(step.expired > 0 || are_more_due || !expiring.ok() ? 0 : block_ms);
  if (!batch.ok()) {
    drop_batch();  // some of it may have been read
    return pause(batch.status());
  }
  const std::size_t expired = step.expired;
  if (!batch->entries.empty()) {
    step = process(*std::move(batch));
    step.expired = expired;
    return step;
  }
  if (!expiring.ok()) return pause(expiring);
  if (expired > 0 || are_more_due) step.kind = StepKind::kWorked;
  if (claim_from_ != kClaimFromStart)
    step.kind = StepKind::kWorked;  // there are more entries to claim
  return step;
}

/// Renews the lease of the database when it is time, also while there are no orders.
absl::Status OrderWorker::Impl::renew_lease() {
  const std::int64_t now_ms = clock_.monotonic_ms();
  if (now_ms < renew_at_ms_) return absl::OkStatus();
  absl::Status renewed = owner_.renew_lease(*client_);
  if (renewed.ok()) renew_at_ms_ = owner_.renewal_after(now_ms);
  return renewed;
}

absl::Status OrderWorker::Impl::ensure_group() {
  const absl::Status checked = owner_.check(*client_);
  if (!checked.ok()) return checked;
  const auto identity = owner_.identity();
  if (!identity.ok()) return identity.status();
  const std::string owner = keys_.stream_owner();
  const std::string_view names[] = {keys_.order_stream, owner};
  const std::string_view arguments[] = {keys_.group, *identity};
  const Reply made = client_->run(make_group_script(), names, arguments);
  // When memory is short, Redis does not report that the group exists. Reading does.
  const bool may_exist = has_code(made, redis_error_code::kOutOfMemory);
  if (made.is_error() && !may_exist) return to_status(made, "creating the workers' group");
  if (made == Reply::integer(0)) {
    return absl::UnavailableError("the keyspace lost its writes just now");
  }
  const auto state = stores_.orders.state();
  if (!state.ok()) return state.status();
  if (state->epoch != database_.epoch) drop_batch();  // it was read in another epoch
  database_ = *state;
  consumer_ = consumer_name(options_.consumer, *identity);
  group_exists_ = true;
  return absl::OkStatus();
}

/// Logs each foreign consumer once, if it has read lately.
absl::Status OrderWorker::Impl::report_foreign_consumers() {
  if (!options_.logger) return absl::OkStatus();
  const auto foreign = find_foreign_consumers(*client_, keys_, database_.identity);
  if (!foreign.ok()) return foreign.status();
  for (const GroupConsumer& consumer : *foreign) {
    if (consumer.idle_ms > options_.claim_idle_ms) continue;
    if (!reported_consumers_.insert(consumer.name).second) continue;
    log_warning(*options_.logger, consumer.description(keys_));
  }
  return absl::OkStatus();
}

// ---- Reading ----

absl::StatusOr<OrderWorker::Impl::Batch> OrderWorker::Impl::take_batch(std::int64_t block_ms) {
  // Entries are read once more before another consumer may claim them.
  if (kept_ && clock_.monotonic_ms() >= read_at_ms_ + options_.claim_idle_ms / 2) drop_batch();
  if (!kept_) {
    auto read = next_batch(block_ms);
    if (read.ok() && is_isolating()) move_to_back(read->entries, tried_alone_);
    return read;
  }
  Batch batch = *std::move(kept_);
  kept_.reset();
  return is_isolating() ? extend(std::move(batch)) : batch;
}

/// Puts new entries in front. If their orders can be stored, a failing batch is itself at fault.
absl::StatusOr<OrderWorker::Impl::Batch> OrderWorker::Impl::extend(Batch batch) {
  if (batch.entries.size() >= batch_max()) return batch;
  auto entries = read_group(">", batch_max() - batch.entries.size(), 0);
  if (!entries.ok()) {
    release(batch);
    return entries.status();
  }
  std::move(batch.entries.begin(), batch.entries.end(), std::back_inserter(*entries));
  batch.entries = *std::move(entries);
  return batch;
}

absl::StatusOr<OrderWorker::Impl::Batch> OrderWorker::Impl::next_batch(std::int64_t block_ms) {
  read_at_ms_ = clock_.monotonic_ms();
  if (retry_at_ms_ != 0 && clock_.monotonic_ms() >= retry_at_ms_) {
    retry_at_ms_ = 0;
    history_after_ = std::string(kHistoryStart);
  }
  if (history_after_) {
    auto entries = read_group(*history_after_, batch_max(), 0);
    if (!entries.ok()) return entries.status();
    if (!entries->empty()) {
      history_after_ = entries->back().id;
      for (OrderEntry& entry : *entries) take_released(entry);
      return Batch{.entries = *std::move(entries), .is_redelivery = true};
    }
    if (history_after_ == kHistoryStart) suspects_.clear();
    history_after_.reset();
    if (const absl::Status restored = restore_released(); !restored.ok()) return restored;
  }
  if (clock_.monotonic_ms() >= claim_at_ms_) {
    auto entries = claim_abandoned();
    if (!entries.ok()) return entries.status();
    if (claim_from_ == kClaimFromStart) {  // all entries were visited
      const absl::Status reported = report_foreign_consumers();
      if (!reported.ok()) {
        for (const OrderEntry& entry : *entries) release(entry);
        return reported;
      }
      claim_at_ms_ = clock_.monotonic_ms() + options_.claim_idle_ms;
    }
    if (!entries->empty()) return Batch{.entries = *std::move(entries), .is_redelivery = true};
  }
  const bool may_wait = claim_from_ == kClaimFromStart;
  auto entries = read_group(">", batch_max(), may_wait ? ms_to_wait(block_ms) : 0);
  if (!entries.ok()) return entries.status();
  return Batch{.entries = *std::move(entries), .is_redelivery = false};
}

/// Returns how long to wait for new orders: at most until something else is due.
std::int64_t OrderWorker::Impl::ms_to_wait(std::int64_t block_ms) const {
  if (block_ms == 0) return 0;
  std::int64_t due_ms = retry_at_ms_ == 0 ? claim_at_ms_ : std::min(retry_at_ms_, claim_at_ms_);
  due_ms = std::min(due_ms, renew_at_ms_);
  if (has_payments()) due_ms = std::min(due_ms, expire_at_ms_);
  const std::int64_t left_ms = std::max<std::int64_t>(1, due_ms - clock_.monotonic_ms());
  return std::min(block_ms, left_ms);
}

std::size_t OrderWorker::Impl::batch_max() const {
  return static_cast<std::size_t>(std::max(options_.batch_max, 1));
}

/// Reads up to `batch_max` entries, in portions; waits only for the first.
absl::StatusOr<OrderWorker::Impl::Entries> OrderWorker::Impl::read_group(std::string_view after,
                                                                         std::size_t batch_max,
                                                                         std::int64_t block_ms) {
  const bool is_history = after != ">";
  Entries entries;
  while (entries.size() < batch_max) {
    const std::size_t count_max = std::min(batch_max - entries.size(), kPortionMax);
    auto portion = entries.empty()
                       ? read_portion(after, count_max, block_ms)
                       : read_portion(is_history ? entries.back().id : after, count_max, 0);
    if (!portion.ok()) {
      for (const OrderEntry& entry : entries) release(entry);
      return portion.status();
    }
    const bool is_last = portion->size() < count_max;
    std::move(portion->begin(), portion->end(), std::back_inserter(entries));
    if (is_last) break;
  }
  return entries;
}

absl::StatusOr<OrderWorker::Impl::Entries> OrderWorker::Impl::read_portion(std::string_view after,
                                                                           std::size_t count_max,
                                                                           std::int64_t block_ms) {
  Request request = Request::of("XREADGROUP", "GROUP", keys_.group, consumer_, "COUNT", count_max);
  if (block_ms > 0) {
    request.add("BLOCK");
    request.add(block_ms);
  }
  request.add("STREAMS");
  request.add(keys_.order_stream);
  request.add(after);

  const Reply reply = client_->call(std::move(request));
  if (has_code(reply, "NOGROUP"))
    group_exists_ = false;  // removed meanwhile: the next step creates it
  if (reply.is_nil()) return Entries{};
  const bool is_one_stream = reply.is_aggregate() && reply.elements().size() == 1 &&
                             reply.elements()[0].is_aggregate() &&
                             reply.elements()[0].elements().size() == 2;
  if (!is_one_stream) return to_status(reply, "reading orders");
  return read_entries(reply.elements()[0].elements()[1]);
}

/// Takes over entries that other consumers have had for too long, one portion per call. claim_from_
/// is where the next call continues.
absl::StatusOr<OrderWorker::Impl::Entries> OrderWorker::Impl::claim_abandoned() {
  const std::size_t count_max = std::min(batch_max(), kPortionMax);
  const Reply reply = (*client_)("XAUTOCLAIM", keys_.order_stream, keys_.group, consumer_,
                                 options_.claim_idle_ms, claim_from_, "COUNT", count_max);
  if (has_code(reply, "NOGROUP")) group_exists_ = false;
  const bool has_cursor =
      reply.is_aggregate() && reply.elements().size() >= 2 && reply.elements()[0].is_text();
  if (!has_cursor) return to_status(reply, "claiming orders");
  claim_from_ = reply.elements()[0].text();
  // Redis before 7.0 does not report deleted entries.
  const absl::Status reported =
      reply.elements().size() > 2 ? report_lost(reply.elements()[2]) : absl::OkStatus();
  if (!reported.ok()) return reported;
  return read_entries(reply.elements()[1]);
}

/// Reports pending ids without an entry, which XAUTOCLAIM removed.
absl::Status OrderWorker::Impl::report_lost(const Reply& ids) {
  if (!ids.is_aggregate()) return to_status(ids, "claiming orders");
  if (ids.elements().empty()) return absl::OkStatus();
  Request forget = Request::of("HDEL", keys_.faults());
  std::string names;
  for (const Reply& id : ids.elements()) {
    if (!id.is_text()) return to_status(id, "claiming orders");
    if (!names.empty()) names += ", ";
    names += id.text();
    forget.add(id.text());
  }
  lost_ += ids.elements().size();
  if (options_.logger) {
    log_warning(*options_.logger, deleted_entries_message(keys_.order_stream, names));
  }
  const Reply forgotten = client_->call(std::move(forget));
  return forgotten.is_integer() ? absl::OkStatus() : to_status(forgotten, "forgetting faults");
}

// ---- Writing ----

OrderWorker::Impl::Decided OrderWorker::Impl::fault_of(const OrderEntry& entry,
                                                       const absl::Status& status) {
  return {&entry, Decided::Fate::kFault, std::string(status.message())};
}

void OrderWorker::Impl::append_results(EntrySpan entries, std::span<const OrderResult> results,
                                       std::vector<Decided>& decided) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto fate = Decided::Fate::kStored;
    if (results[i].kind == OrderResult::Kind::kRefused) fate = Decided::Fate::kRefused;
    if (results[i].kind == OrderResult::Kind::kTooEarly) fate = Decided::Fate::kTooEarly;
    decided.push_back({entries[i], fate, results[i].reason, results[i].lacks_pieces});
  }
}

OrderWorker::Step OrderWorker::Impl::process(Batch batch) {
  try {
    return process_held(batch);
  } catch (...) {
    release(batch);
    throw;
  }
}

absl::StatusOr<OrderEvent> OrderWorker::Impl::read(const OrderEntry& entry) const {
  if (entry.deleted) return absl::NotFoundError("the entry was deleted from the stream");
  auto event = read_event(entry);
  if (event.ok() && event->kind != OrderEvent::Kind::kAdmitted && !has_payments()) {
    return absl::FailedPreconditionError("the order store keeps no payments");
  }
  if (event.ok() && !event->order.user.is_number() && !stores_.orders.takes_user_names()) {
    return absl::FailedPreconditionError(concat(
        "the order store takes numbers as user ids, no names: \"", event->order.user.name(), "\""));
  }
  return event;
}

OrderWorker::Step OrderWorker::Impl::process_held(Batch& batch) {
  std::vector<Decided> decided;
  Writes writes;
  Writes suspects;
  decided.reserve(batch.entries.size());
  writes.orders.reserve(batch.entries.size());
  writes.entries.reserve(batch.entries.size());
  const std::int64_t now_ms = clock_.now_ms();
  for (const OrderEntry& entry : batch.entries) {
    auto event = read(entry);
    if (event.ok()) {
      event->order.created_at_ms = now_ms;
      if (const std::int64_t due_ms = event->order.due_at_ms; due_ms > 0) {
        const std::int64_t left_ms = std::max<std::int64_t>(due_ms - event->at_ms, 0);
        expire_at_ms_ = std::min(expire_at_ms_, clock_.monotonic_ms() + left_ms);
      }
      (suspects_.contains(entry.id) ? suspects : writes).add(*std::move(event), entry);
    } else {
      decided.push_back({&entry, Decided::Fate::kRefused, std::string(event.status().message())});
    }
  }

  const auto fence = draw_fence();
  if (!fence.ok()) {
    kept_ = std::move(batch);
    return pause(fence.status());
  }
  // The database must never know an order, or a checkpoint, that a power cut could remove from the
  // log.
  const Reply synced = client_->sync();
  if (synced.is_error()) {
    kept_ = std::move(batch);
    return pause(to_status(synced, "syncing the log"));
  }
  fence_ = *fence;
  const absl::Status written = write_all(writes, suspects, decided);
  if (absl::IsAborted(written)) {
    release(batch);
    return read_again();
  }
  Step step;
  step.kind = StepKind::kWorked;
  const absl::Status acknowledged = conclude(decided, batch.is_redelivery, step);
  if (acknowledged.ok()) {
    keep_undecided(std::move(batch), decided);
  } else {
    release(batch);  // some of it may be acknowledged
    drop_batch();
  }
  failed_writes_ = written.ok() ? 0 : failed_writes_ + 1;
  if (written.ok()) tried_alone_ = 0;
  if (written.ok() && acknowledged.ok()) return step;

  Step pausing = pause(written.ok() ? acknowledged : written);
  step.kind = pausing.kind;
  step.reason = std::move(pausing.reason);
  return step;
}

/// Keeps the undecided entries; entries that were tried alone come last.
void OrderWorker::Impl::keep_undecided(Batch batch, const std::vector<Decided>& decided) {
  if (decided.size() == batch.entries.size()) return;
  absl::flat_hash_set<const OrderEntry*> done;
  for (const Decided& one : decided) done.insert(one.entry);
  Batch kept{.entries = {}, .is_redelivery = batch.is_redelivery};
  for (OrderEntry& entry : batch.entries) {
    if (!done.contains(&entry)) kept.entries.push_back(std::move(entry));
  }
  tried_alone_ += failed_alone_;
  move_to_back(kept.entries, std::exchange(failed_alone_, 0));
  kept_ = std::move(kept);
}

/// Gives up the batch that it paused with. Its entries are pending, and will be read once more.
void OrderWorker::Impl::drop_batch() {
  if (kept_) release(*kept_);
  kept_.reset();
  history_after_ = std::string(kHistoryStart);
}

// ---- Losses ----

/// Remembers an entry until it is read once more.
void OrderWorker::Impl::release(const OrderEntry& entry) {
  if (!entry.deleted) released_.insert_or_assign(entry.id, entry);
}

void OrderWorker::Impl::release(Batch& batch) {
  for (OrderEntry& entry : batch.entries) {
    if (!entry.deleted) released_.insert_or_assign(entry.id, std::move(entry));
  }
  batch.entries.clear();
}

/// Forgets an entry that was read once more. Restores the fields of one that was deleted from the
/// stream meanwhile. After a loss, another order may have its id.
void OrderWorker::Impl::take_released(OrderEntry& entry) {
  const auto released = released_.find(entry.id);
  if (released == released_.end()) return;
  if (entry.deleted) entry = released->second;
  if (entry.fields == released->second.fields) released_.erase(released);
}

/// Searches the released entries that were not among its pending ones. The keyspace may have lost
/// them: then restores their orders, and does their changes once more.
absl::Status OrderWorker::Impl::restore_released() {
  if (released_.empty()) return absl::OkStatus();
  std::vector<OrderEntry> entries;
  entries.reserve(released_.size());
  for (const auto& [id, entry] : released_) entries.push_back(entry);
  const auto lost = find_lost_orders(*client_, stores_.orders, keys_, entries);
  if (!lost.ok()) return lost.status();
  absl::btree_map<VoucherId, std::vector<LostOrder>> of_voucher;
  for (const LostOrder& order : *lost) of_voucher[order.order.voucher].push_back(order);
  for (const auto& [voucher, orders] : of_voucher) {
    const auto restored = vouchers_.restore(voucher, orders);
    if (!restored.ok()) {
      history_after_ = std::string(kHistoryStart);  // the remaining ones are tried once more
      return restored.status();
    }
    restored_.appended += restored->appended;
    restored_.buried += restored->buried;
    if (!options_.logger) continue;
    log_error(*options_.logger,
              concat("the keyspace lost ", orders.size(), " orders of voucher ", voucher,
                     " before they were stored: ", restored->appended, " are queued again, ",
                     restored->buried, " are dead letters without stock"));
  }
  const auto repeated = repeat_released();
  if (!repeated.ok()) {
    history_after_ = std::string(kHistoryStart);
    return repeated.status();
  }
  released_.clear();
  if (of_voucher.empty() && *repeated == 0) return absl::OkStatus();
  const auto state = stores_.orders.state();  // each rebuild began an epoch
  if (!state.ok()) return state.status();
  database_ = *state;
  return absl::OkStatus();
}

/// Repeats the changes of the released events, in the order of the stream. One that is not lost
/// changes nothing. Returns their number.
absl::StatusOr<std::size_t> OrderWorker::Impl::repeat_released() {
  absl::btree_map<StreamId, OrderEvent> events;
  for (const auto& [id, entry] : released_) {
    if (!is_event(entry) || !has_payments()) continue;
    auto event = read_event(entry);
    if (event.ok()) events.emplace(event->order.entry, *std::move(event));
  }
  for (const auto& [id, event] : events) {
    if (const absl::Status repeated = changes_.repeat(event); !repeated.ok()) return repeated;
  }
  return events.size();
}

/// Returns the fence for a batch that was read in this epoch.
absl::StatusOr<BatchFence> OrderWorker::Impl::draw_fence() {
  const auto drawn = owner_.draw_checkpoint(*client_);
  if (drawn.ok()) renew_at_ms_ = owner_.renewal_after(clock_.monotonic_ms());
  if (drawn.ok()) return BatchFence{.epoch = database_.epoch, .checkpoint = *drawn};
  if (!absl::IsNotFound(drawn.status())) return drawn.status();
  // The keyspace lost everything, and nothing was rebuilt in this epoch: the batch can still be
  // saved. A checkpoint that no keyspace has drawn reveals the loss.
  const auto state = stores_.orders.state();
  if (!state.ok()) return state.status();
  return BatchFence{.epoch = database_.epoch, .checkpoint = state->checkpoint + 1};
}

/// Reads its entries once more. The keyspace may have lost writes since the batch was read, and
/// been rebuilt without it. Its group may be gone too.
OrderWorker::Step OrderWorker::Impl::read_again() {
  drop_batch();
  group_exists_ = false;
  Step step;
  step.kind = StepKind::kWorked;
  return step;
}

absl::StatusOr<std::vector<OrderResult>> OrderWorker::Impl::try_write(const WriteSpan& writes) {
  try {
    auto written = writes.events.empty() ? stores_.write(writes.orders, fence_)
                                         : stores_.apply(writes.events, fence_);
    if (written.ok()) owner_.note_recorded(fence_.checkpoint);
    return written;
  } catch (...) {
    return thrown();
  }
}

absl::Status OrderWorker::Impl::write_all(const Writes& writes, const Writes& suspects,
                                          std::vector<Decided>& decided) {
  absl::Status written =
      is_isolating() ? isolate(writes.all(), decided) : write(writes.all(), decided);
  const WriteSpan alone = suspects.all();
  for (std::size_t i = 0; written.ok() && i < alone.size(); ++i) {
    written = write_suspect(alone.subspan(i, 1), decided);
  }
  return written;
}

/// Writes a batch. If one of its orders is at fault, writes its halves, until that order is alone.
absl::Status OrderWorker::Impl::write(const WriteSpan& writes, std::vector<Decided>& decided) {
  if (writes.size() == 0) return absl::OkStatus();
  const auto results = try_write(writes);
  if (!results.ok() && !is_fault_of_an_order(results.status())) return results.status();
  if (results.ok()) {
    append_results(writes.entries, *results, decided);
    return absl::OkStatus();
  }
  if (writes.size() == 1) {
    decided.push_back(fault_of(*writes.entries[0], results.status()));
    return absl::OkStatus();
  }
  const std::size_t half = writes.size() / 2;
  const absl::Status first = write(writes.first(half), decided);
  if (!first.ok()) return first;
  return write(writes.without_first(half), decided);
}

/// Writes a batch that made the worker pause several times in a row. Writes it in pieces, which
/// grow after a success and shrink after a failure.
///
/// An order that fails alone is at fault only if others are stored, and the store still works after
/// it. Otherwise this is an outage, which ends the attempt and counts against no order.
absl::Status OrderWorker::Impl::isolate(WriteSpan writes, std::vector<Decided>& decided) {
  constexpr std::size_t kFailuresMax = 16;  // of single orders, in a row
  std::vector<Decided> alone;
  absl::Status failure;
  bool has_stored = false;
  std::size_t in_a_row = 0;
  std::size_t piece = 1;
  const auto is_outage = [&] { return !has_stored || !try_write({}).ok(); };
  while (writes.size() > 0) {
    const std::size_t count = std::min(piece, writes.size());
    const auto results = try_write(writes.first(count));
    if (absl::IsAborted(results.status())) return results.status();
    if (!results.ok() && count > 1) {
      piece = count / 2;
      continue;
    }
    if (results.ok()) {
      append_results(writes.entries.first(count), *results, decided);
      has_stored = has_stored || has_stored_any(*results);
      in_a_row = 0;
      piece = 2 * count;
    } else if (is_fault_of_an_order(results.status())) {
      decided.push_back(fault_of(*writes.entries[0], results.status()));
    } else {
      failure = results.status();
      alone.push_back(fault_of(*writes.entries[0], failure));
      if (++in_a_row == kFailuresMax) {
        if (is_outage()) break;
        in_a_row = 0;
      }
    }
    writes = writes.without_first(count);
  }
  if (alone.empty()) return absl::OkStatus();
  if (is_outage()) {
    failed_alone_ = alone.size();
    return failure;
  }
  for (Decided& one : alone) {
    suspects_.insert(one.entry->id);
    decided.push_back(std::move(one));
  }
  return absl::OkStatus();
}

/// Writes an order that failed while others were stored.
absl::Status OrderWorker::Impl::write_suspect(const WriteSpan& suspect,
                                              std::vector<Decided>& decided) {
  const auto results = try_write(suspect);
  if (results.ok()) {
    append_results(suspect.entries, *results, decided);
    return absl::OkStatus();
  }
  const bool is_at_fault = is_fault_of_an_order(results.status()) ||
                           (!absl::IsAborted(results.status()) && try_write({}).ok());
  if (!is_at_fault) return results.status();
  decided.push_back(fault_of(*suspect.entries[0], results.status()));
  return absl::OkStatus();
}

/// Calls on_stored with the orders that are in the database. Throws an exception that names it.
void OrderWorker::Impl::report_stored(const std::vector<Decided>& decided) const {
  if (!options_.on_stored) return;
  std::vector<OrderId> orders;
  for (const Decided& one : decided) {
    if (one.fate != Decided::Fate::kStored) continue;
    if (const auto order = read_order(*one.entry); order.ok()) orders.push_back(order->id);
  }
  if (orders.empty()) return;
  try {
    options_.on_stored(orders);
  } catch (...) {
    throw std::runtime_error(concat("on_stored failed: ", thrown().message()));
  }
}

absl::Status OrderWorker::Impl::acknowledge_stored(const std::vector<Decided>& decided,
                                                   bool is_redelivery, Step& step) {
  std::vector<const OrderEntry*> stored;
  stored.reserve(decided.size());
  for (const Decided& one : decided) {
    if (one.fate == Decided::Fate::kStored) stored.push_back(one.entry);
  }
  std::span<const OrderEntry* const> left = stored;
  while (!left.empty()) {
    const auto portion = left.first(std::min(left.size(), kPortionMax));
    const absl::Status acknowledged = acknowledge(portion, is_redelivery);
    if (!acknowledged.ok()) return acknowledged;
    const auto events =
        std::ranges::count_if(portion, [](const auto* entry) { return is_event(*entry); });
    step.changed += static_cast<std::size_t>(events);
    step.stored += portion.size() - static_cast<std::size_t>(events);
    left = left.subspan(portion.size());
  }
  return absl::OkStatus();
}

/// Forgets the ends of holds that are in the database now. Notes the payments that are.
absl::Status OrderWorker::Impl::forget_ends(std::span<const OrderEntry* const> entries) {
  std::vector<OrderId> ends;
  std::string payments;
  for (const OrderEntry* entry : entries) {
    const auto event = is_event(*entry) ? read_event(*entry) : absl::NotFoundError("");
    if (!event.ok()) continue;
    if (ends_hold(*event)) ends.push_back(event->order.id);
    if (event->payment.id.empty()) continue;
    if (!payments.empty()) payments += ' ';
    payments += event->payment.id;
  }
  if (!ends.empty()) {
    const auto forgotten = remove_held(*client_, keys_, ends);
    if (!forgotten.ok()) return forgotten.status();
  }
  return payments.empty() ? absl::OkStatus() : note_stored(payments).status();
}

/// Notes stored payments, whose ids are separated by spaces. Forgets old ones, a bounded number.
/// Returns false if there may be more of these.
absl::StatusOr<bool> OrderWorker::Impl::note_stored(std::string_view payments) {
  constexpr std::int64_t kBatches = 4;
  static_assert(kPortionMax <= payment_scripts::kStoredBatchMax);
  const std::string known = keys_.payments();
  const std::string stored = keys_.stored_payments();
  const std::string_view names[] = {known, stored};
  const DecimalText keep(payment_scripts::kKeepStoredMs);
  const DecimalText most(kBatches);
  const std::string_view arguments[] = {payments, keep, most};
  const Reply forgotten = client_->run(payment_scripts::note_stored(), names, arguments);
  if (!forgotten.is_integer()) return to_status(forgotten, "forgetting stored payments");
  return forgotten.integer() < kBatches;
}

absl::Status OrderWorker::Impl::acknowledge(std::span<const OrderEntry* const> entries,
                                            bool is_redelivery) {
  if (const absl::Status forgotten = forget_ends(entries); !forgotten.ok()) return forgotten;
  std::vector<std::string_view> ids;
  ids.reserve(entries.size());
  Request forget = Request::of("HDEL", keys_.faults());
  for (const OrderEntry* entry : entries) {
    ids.emplace_back(entry->id);
    if (is_redelivery) forget.add(entry->id);
  }
  // Only a redelivery can have faults. They are removed first: acknowledged entries are never met
  // again.
  if (is_redelivery) {
    const Reply forgotten = client_->call(std::move(forget));
    if (!forgotten.is_integer()) return to_status(forgotten, "forgetting faults");
  }
  return owner_.acknowledge(*client_, ids);
}

/// Acknowledges stored orders, buries refused ones, counts faults, trims the stream. A process that
/// was stopped meanwhile may have lost the lease: then another copy of the database has to store them.
absl::Status OrderWorker::Impl::conclude(std::vector<Decided>& decided, bool is_redelivery,
                                         Step& step) {
  if (absl::Status renewed = renew_lease(); !renewed.ok()) return renewed;
  report_stored(decided);
  absl::Status acknowledged = acknowledge_stored(decided, is_redelivery, step);
  if (!acknowledged.ok()) return acknowledged;
  const auto late = write_again(decided);
  if (!late.ok()) return late.status();
  report_stored(*late);
  acknowledged = acknowledge_stored(*late, is_redelivery, step);
  if (!acknowledged.ok()) return acknowledged;
  // The orders first: the events of one that is not decided yet wait with it.
  std::ranges::stable_partition(decided, [](const Decided& one) { return !is_event(*one.entry); });
  absl::flat_hash_set<OrderId> waiting;
  for (Decided& one : decided) {
    if (one.fate == Decided::Fate::kStored) {
      suspects_.erase(one.entry->id);
      continue;
    }
    const absl::Status concluded = conclude_unstored(one, waiting, step);
    if (!concluded.ok()) return concluded;
  }
  return step.stored + step.changed + step.buried > 0 ? trim() : absl::OkStatus();
}

/// Buries an entry whose refusal is final. Releases another one, and adds its order to `waiting`.
absl::Status OrderWorker::Impl::conclude_unstored(Decided& one,
                                                  absl::flat_hash_set<OrderId>& waiting,
                                                  Step& step) {
  const auto decided_finally = is_final(one, waiting);
  if (!decided_finally.ok()) return decided_finally.status();
  bool is_buried = false;
  if (*decided_finally) {
    const auto buried = bury(*client_, keys_, *one.entry, one.reason, one.seen);
    if (!buried.ok()) return buried.status();
    is_buried = *buried;
  } else {
    ++step.faulted;
  }
  if (is_buried) {
    ++step.buried;
    suspects_.erase(one.entry->id);
    if (options_.logger) {
      log_error(*options_.logger,
                concat("order entry ", one.entry->id, " is buried: ", one.reason));
    }
    return absl::OkStatus();
  }
  // Not final, or another worker has decided, or the keyspace lost it, or a piece came back just now.
  if (const auto order = read_event(*one.entry); order.ok()) waiting.insert(order->order.id);
  release(*one.entry);
  retry_later();
  return absl::OkStatus();
}

/// Writes entries once more that were refused, or came too early. With several workers, an entry may
/// be met before an earlier one that it needs, which may have been applied since. Returns the entries that
/// are stored now. While an earlier entry is pending, an entry is not written again, and later no
/// fault is counted.
absl::StatusOr<std::vector<OrderWorker::Impl::Decided>> OrderWorker::Impl::write_again(
    std::vector<Decided>& decided) {
  std::vector<Decided> late;
  std::vector<OrderEvent> events;
  std::vector<Decided*> written;
  if (!has_payments()) return late;
  const auto first_other = find_first_pending_besides(decided);
  if (!first_other.ok()) return first_other.status();
  for (Decided& one : decided) {
    if (!is_refused(one)) continue;
    auto event = read(*one.entry);
    const auto id = StreamId::parse(one.entry->id);
    if (!event.ok() || !id) continue;
    one.may_need_earlier = *first_other < *id;
    if (one.may_need_earlier) continue;
    event->order.created_at_ms = clock_.now_ms();
    events.push_back(*std::move(event));
    written.push_back(&one);
  }
  if (written.empty()) return late;
  const auto seen_to = make_room(events);
  if (!seen_to.ok()) return seen_to.status();
  Writes writes;
  for (std::size_t i = 0; i < written.size(); ++i) {
    written[i]->seen = SeenEnds{.voucher = events[i].order.voucher, .to = *seen_to};
    writes.add(std::move(events[i]), *written[i]->entry);
  }
  // No refusal of the first write counts: it came before make_room().
  std::vector<Decided> now;
  const absl::Status wrote = write(writes.all(), now);
  if (!wrote.ok()) return wrote;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (now[i].lacks_pieces) now[i].seen = written[i]->seen;
    *written[i] = std::move(now[i]);
    if (written[i]->fate == Decided::Fate::kStored) late.push_back(*written[i]);
  }
  return late;
}

/// Frees pieces for refused orders. The keyspace may have given pieces back and sold them again, and
/// the purchase is stored already:
/// - An order whose own cancellation waits behind it becomes cancelled.
/// - Waiting cancellations of stored orders of its voucher are applied now. Later they change
///   nothing.
/// - Refunds that were begun are ended.
///
/// Returns the last entry of the order stream whose cancellation it would have found.
absl::StatusOr<StreamId> OrderWorker::Impl::make_room(std::span<OrderEvent> events) {
  absl::flat_hash_map<OrderId, OrderEvent*> refused;
  absl::flat_hash_set<OrderId> orders;
  absl::flat_hash_set<VoucherId> vouchers;
  for (OrderEvent& event : events) {
    if (event.kind != OrderEvent::Kind::kAdmitted) continue;
    refused.emplace(event.order.id, &event);
    orders.insert(event.order.id);
    vouchers.insert(event.order.voucher);
  }
  if (refused.empty()) return StreamId();
  std::vector<OrderEvent> of_others;
  const auto visit = [&](OrderEvent event) {
    const auto found = refused.find(event.order.id);
    if (found == refused.end()) return of_others.push_back(std::move(event));
    OrderEvent& cancelled = *found->second;
    cancelled.order.status = OrderStatus::kCancelled;
    cancelled.order.keeps_stock = event.order.keeps_stock;
    cancelled.order.keeps_allowance = event.order.keeps_allowance;
    cancelled.at_ms = event.at_ms;
    cancelled.reason = std::move(event.reason);
    cancelled.actor = std::move(event.actor);
  };
  if (has_stale_cancellations_.exchange(false)) {
    queued_cancellations_.clear();
    dead_cancellations_.clear();
  }
  // A letter that is retried meanwhile is behind `seen_to`.
  StreamId seen_to;
  for (QueuedCancellations* const cancellations : {&queued_cancellations_, &dead_cancellations_}) {
    const auto read_to = cancellations->read_on();
    if (!read_to.ok()) return read_to.status();
    if (cancellations == &queued_cancellations_) seen_to = *read_to;
    const absl::Status read = cancellations->for_each_of(orders, vouchers, visit);
    if (!read.ok()) return read;
  }
  if (!of_others.empty()) {
    const auto applied = stores_.apply(of_others, fence_);
    if (!applied.ok()) return applied.status();
  }
  const auto finished = changes_.finish_refunds();
  if (!finished.ok()) return finished.status();
  return seen_to;
}

/// Returns true if the entry becomes a dead letter. Counts a fault of its own.
///
/// That is not undone, so the reason must be one that stays. The database may lack decisions of the
/// keyspace: an earlier entry, a cancellation, the end of a refund. `waiting` has the orders of this
/// batch that wait for such.
absl::StatusOr<bool> OrderWorker::Impl::is_final(Decided& decided,
                                                 const absl::flat_hash_set<OrderId>& waiting) {
  if (decided.may_need_earlier) return false;
  if (decided.fate == Decided::Fate::kRefused) {
    if (!decided.seen) return true;
    const auto has_ended = has_ended_since(*decided.seen);
    if (!has_ended.ok()) return has_ended.status();
    return !*has_ended;
  }
  if (decided.fate == Decided::Fate::kTooEarly) {
    if (!is_event(*decided.entry)) return false;  // a refund has begun
    const auto event = read_event(*decided.entry);
    if (event.ok() && waiting.contains(event->order.id)) return false;
  }
  return is_fault_final(*decided.entry);
}

/// Returns true if an order of the voucher was cancelled since the database refused another one: then
/// its piece may have been sold again, and that purchase be stored already. Otherwise moves `seen` on.
absl::StatusOr<bool> OrderWorker::Impl::has_ended_since(SeenEnds& seen) {
  bool has_ended = false;
  const absl::Status read = for_each_entry(
      *client_, keys_.order_stream, seen.to, StreamId::max(), [&](const OrderEntry& entry) {
        const auto event = is_event(entry) ? read_event(entry) : absl::NotFoundError("");
        has_ended = event.ok() && event->kind == OrderEvent::Kind::kCancelled &&
                    event->order.voucher == seen.voucher;
        if (!has_ended) seen.to = StreamId::parse(entry.id).value_or(seen.to);
        return !has_ended;
      });
  if (!read.ok()) return read;
  return has_ended;
}

/// Returns the first pending entry of the group that is not one of the refused ones here; the
/// greatest id if there is none before the last of these.
absl::StatusOr<StreamId> OrderWorker::Impl::find_first_pending_besides(
    const std::vector<Decided>& decided) {
  absl::btree_set<StreamId> refused;
  StreamId last;
  for (const Decided& one : decided) {
    const auto id = is_refused(one) ? StreamId::parse(one.entry->id) : std::nullopt;
    if (!id) continue;
    refused.insert(*id);
    last = std::max(last, *id);
  }
  if (refused.empty()) return StreamId::max();
  const Reply pending = (*client_)("XPENDING", keys_.order_stream, keys_.group, "-",
                                   last.to_string(), refused.size() + 1);
  if (!pending.is_aggregate()) return to_status(pending, "looking for earlier entries");
  for (const Reply& entry : pending.elements()) {
    const bool has_id =
        entry.is_aggregate() && !entry.elements().empty() && entry.elements()[0].is_text();
    const auto id = has_id ? StreamId::parse(entry.elements()[0].text()) : std::nullopt;
    if (!id) return to_status(entry, "looking for earlier entries");
    if (!refused.contains(*id)) return *id;
  }
  return StreamId::max();
}

/// Counts a fault of this entry. Returns true if it was the last one allowed. Delivery counts are
/// no substitute: they rise with every restart.
absl::StatusOr<bool> OrderWorker::Impl::is_fault_final(const OrderEntry& entry) {
  const Reply faults = (*client_)("HINCRBY", keys_.faults(), entry.id, 1);
  if (!faults.is_integer()) return to_status(faults, "counting a fault");
  return faults.integer() >= options_.attempts_max;
}

absl::Status OrderWorker::Impl::trim() {
  return options_.trim ? trim_done_entries(*client_, keys_.order_stream) : absl::OkStatus();
}

// ---- Timeouts ----

/// Cancels orders that are due, in bounded portions. Leaves `expire_at_ms_` as it is if more are due.
absl::Status OrderWorker::Impl::expire_holds(Step& step) {
  const std::int64_t now_ms = clock_.monotonic_ms();
  if (now_ms >= look_for_lost_at_ms_) {
    const absl::Status rebuilt = vouchers_.rebuild_lost_holds();
    if (!rebuilt.ok()) return rebuilt;
    const auto opening_in_ms = vouchers_.serve_opened_lists();
    if (!opening_in_ms.ok()) return opening_in_ms.status();
    look_for_lost_at_ms_ = now_ms + std::min(kLookForHoldsEveryMs, *opening_in_ms);
  }
  for (int i = 0; i < kExpiringScriptsMax; ++i) {
    const auto all = note_stored({});
    if (!all.ok()) return all.status();
    if (*all) break;
  }
  std::size_t skip = 0;  // deadlines of closed vouchers
  std::vector<VoucherId> closed;
  for (int i = 0; i < kExpiringScriptsMax; ++i) {
    const auto expired = rushgate::expire_holds(*client_, keys_, skip);
    if (!expired.ok()) return expired.status();
    step.expired += expired->ended;
    skip += expired->left;
    closed.insert(closed.end(), expired->closed.begin(), expired->closed.end());
    const std::int64_t next_ms = expired->next_ms.value_or(expired->now_ms + kLookForHoldsEveryMs);
    if (next_ms <= expired->now_ms) continue;
    const std::int64_t pause_ms = std::min(next_ms - expired->now_ms, kLookForHoldsEveryMs);
    const bool found_some = step.expired + skip > 0;
    expire_at_ms_ = now_ms + (found_some ? std::min(pause_ms, kExpireEveryMs) : pause_ms);
    break;
  }
  if (step.expired == 0 && skip > 0) expire_at_ms_ = now_ms + kExpireEveryMs;
  expire_at_ms_ = std::min(expire_at_ms_, look_for_lost_at_ms_);
  // A voucher that was lost stays so until a process rebuilds it. Another process may do so now.
  for (const VoucherId voucher : closed) {
    const absl::Status rebuilt = vouchers_.rebuild(voucher);
    const bool may_wait = absl::IsAborted(rebuilt) || absl::IsNotFound(rebuilt);
    if (!rebuilt.ok() && !may_wait) return rebuilt;
  }
  return absl::OkStatus();
}

// ---- Bad days ----

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
    log_warning(*options_.logger,
                concat("order worker ", options_.consumer, " pauses: ", pause_reason_));
  return paused(pause_reason_);
}

/// Schedules a retry. Read and unacknowledged entries stay pending for this consumer, which will
/// read them once more.
void OrderWorker::Impl::retry_later() {
  if (retry_at_ms_ == 0) retry_at_ms_ = clock_.monotonic_ms() + options_.retry_after_ms;
}

}  // namespace rushgate
