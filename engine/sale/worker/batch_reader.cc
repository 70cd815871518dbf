#include "engine/sale/worker/batch_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/oom_script.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/group_make.lua.h"
#include "engine/sale/stream/backlog.h"
#include "engine/sale/stream/consumers.h"

namespace rushgate {
namespace {

constexpr std::string_view kHistoryStart = "0-0";
constexpr std::string_view kClaimFromStart = "0-0";

// The most entries of one request: buyers wait until it ends.
constexpr std::size_t kReadPerCall = 1'000;

/// Runs without memory, too: workers free it. Redis would not even say that the group exists.
const OomScript& make_group_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kGroupMake));
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

}  // namespace

BatchReader::BatchReader(Client& client, const Clock& clock, const SaleStores& stores,
                         const SaleKeys& keys, const WorkerOptions& options, KeyspaceOwner& owner,
                         ReleasedEntries& released)
    : client_(client),
      clock_(clock),
      stores_(stores),
      keys_(keys),
      options_(options),
      owner_(owner),
      released_(released),
      history_after_(kHistoryStart),
      claim_from_(kClaimFromStart) {}

// ---- The group ----

absl::StatusOr<bool> BatchReader::ensure_group() {
  if (group_exists_) return false;
  ASSIGN_OR_RETURN(const auto checked, stores_.orders.state());
  RETURN_IF_ERROR(owner_.check(client_));
  ASSIGN_OR_RETURN(const auto identity, owner_.identity());
  const std::string owner = keys_.stream_owner();
  const std::string_view names[] = {keys_.order_stream, owner};
  const std::string_view arguments[] = {keys_.group, identity};
  const Reply made = make_group_script().run(client_, names, arguments);
  if (made.is_error()) return to_status(made, "creating the workers' group");
  if (made == Reply::integer(0)) {
    return absl::UnavailableError("the keyspace lost its writes just now");
  }
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  // The kept batch is of another epoch. In another session, the same number may be another one.
  if (state.epoch != database_.epoch || checked.session != database_.session) read_again();
  database_ = state;
  database_.session = checked.session;  // of a later one, the check knows nothing
  consumer_ = consumer_name(options_.consumer, state.identity);
  group_exists_ = true;
  return true;
}

/// Logs each foreign consumer once, if it has read lately.
absl::Status BatchReader::report_foreign_consumers() {
  if (!options_.logger) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto foreign, find_foreign_consumers(client_, keys_, database_.identity));
  for (const GroupConsumer& consumer : foreign) {
    if (consumer.idle_ms > options_.claim_idle_ms) continue;
    if (!reported_consumers_.insert(consumer.name).second) continue;
    log_warning(*options_.logger, consumer.description(keys_));
  }
  return absl::OkStatus();
}

// ---- Batches ----

std::optional<EntryBatch> BatchReader::take_kept() {
  if (kept_ && clock_.monotonic_ms() >= read_at_ms_ + options_.claim_idle_ms / 2) read_again();
  return std::exchange(kept_, std::nullopt);
}

absl::StatusOr<EntryBatch> BatchReader::next(std::int64_t block_ms, std::int64_t due_ms) {
  read_at_ms_ = clock_.monotonic_ms();
  had_none_pending_ = false;
  ASSIGN_OR_RETURN(auto pending, read_pending());
  if (pending.has_value()) return *std::move(pending);
  may_retry_ = true;
  if (clock_.monotonic_ms() >= claim_at_ms_) {
    ASSIGN_OR_RETURN(auto claimed, claim_and_report());
    if (!claimed.empty()) return EntryBatch{std::move(claimed), /*is_redelivery=*/true};
  }
  ASSIGN_OR_RETURN(auto entries,
                   read_group(">", batch_max(), is_claiming() ? 0 : ms_to_wait(block_ms, due_ms)));
  return EntryBatch{std::move(entries), /*is_redelivery=*/false};
}

/// Returns the next of the consumer's own pending entries; nothing if all were read. Then it restores
/// the released entries that were not among them.
absl::StatusOr<std::optional<EntryBatch>> BatchReader::read_pending() {
  if (may_retry_ && retry_at_ms_ != 0 && clock_.monotonic_ms() >= retry_at_ms_) {
    may_retry_ = false;
    retry_at_ms_ = 0;
    history_after_ = std::string(kHistoryStart);
  }
  if (!history_after_) return std::nullopt;
  ASSIGN_OR_RETURN(auto entries, read_group(*history_after_, batch_max(), 0));
  if (!entries.empty()) {
    history_after_ = entries.back().id;
    for (OrderEntry& entry : entries) released_.take(entry);
    return EntryBatch{std::move(entries), /*is_redelivery=*/true};
  }
  had_none_pending_ = history_after_ == kHistoryStart;
  history_after_.reset();
  RETURN_IF_ERROR(restore_released());
  return std::nullopt;
}

absl::Status BatchReader::restore_released() {
  const auto restored = released_.restore();
  if (!restored.ok()) {
    history_after_ = std::string(kHistoryStart);  // the remaining ones are tried once more
    return restored.status();
  }
  if (!*restored) return absl::OkStatus();
  const auto state = stores_.orders.state();  // each rebuild began an epoch
  if (!state.ok()) return state.status();
  database_.epoch = state->epoch;
  return absl::OkStatus();
}

absl::StatusOr<BatchReader::Entries> BatchReader::claim_and_report() {
  auto entries = claim_abandoned();
  if (!entries.ok() || is_claiming()) return entries;
  if (absl::Status reported = report_foreign_consumers(); !reported.ok()) {
    for (const OrderEntry& entry : *entries) released_.add(entry);
    return reported;
  }
  claim_at_ms_ = clock_.monotonic_ms() + options_.claim_idle_ms;
  return entries;
}

void BatchReader::read_again() {
  if (kept_) released_.add_all(*kept_);
  kept_.reset();
  history_after_ = std::string(kHistoryStart);
}

void BatchReader::retry_later() {
  if (retry_at_ms_ == 0) retry_at_ms_ = clock_.monotonic_ms() + options_.retry_after_ms;
}

bool BatchReader::is_claiming() const { return claim_from_ != kClaimFromStart; }

/// Returns how long to wait for new orders: at most until something else is due.
std::int64_t BatchReader::ms_to_wait(std::int64_t block_ms, std::int64_t due_ms) const {
  if (block_ms == 0) return 0;
  due_ms = std::min(due_ms, claim_at_ms_);
  if (retry_at_ms_ != 0) due_ms = std::min(due_ms, retry_at_ms_);
  const std::int64_t left_ms = std::max<std::int64_t>(1, due_ms - clock_.monotonic_ms());
  return std::min(block_ms, left_ms);
}

std::size_t BatchReader::batch_max() const {
  return static_cast<std::size_t>(std::max(options_.batch_max, 1));
}

absl::StatusOr<EntryBatch> BatchReader::extend(EntryBatch batch) {
  if (batch.entries.size() >= batch_max()) return batch;
  auto entries = read_group(">", batch_max() - batch.entries.size(), 0);
  if (!entries.ok()) {
    released_.add_all(batch);
    return entries.status();
  }
  std::move(batch.entries.begin(), batch.entries.end(), std::back_inserter(*entries));
  batch.entries = *std::move(entries);
  return batch;
}

/// Reads up to `batch_max` entries, in portions; waits only for the first.
absl::StatusOr<BatchReader::Entries> BatchReader::read_group(std::string_view after,
                                                             std::size_t batch_max,
                                                             std::int64_t block_ms) {
  const bool is_history = after != ">";
  Entries entries;
  while (entries.size() < batch_max) {
    const std::size_t count_max = std::min(batch_max - entries.size(), kReadPerCall);
    auto portion = entries.empty()
                       ? read_portion(after, count_max, block_ms)
                       : read_portion(is_history ? entries.back().id : after, count_max, 0);
    if (!portion.ok()) {
      for (const OrderEntry& entry : entries) released_.add(entry);
      return portion.status();
    }
    const bool is_last = portion->size() < count_max;
    std::move(portion->begin(), portion->end(), std::back_inserter(entries));
    if (is_last) break;
  }
  return entries;
}

absl::StatusOr<BatchReader::Entries> BatchReader::read_portion(std::string_view after,
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

  const Reply reply = client_.call(std::move(request));
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
absl::StatusOr<BatchReader::Entries> BatchReader::claim_abandoned() {
  const std::size_t count_max = std::min(batch_max(), kReadPerCall);
  const Reply reply = client_("XAUTOCLAIM", keys_.order_stream, keys_.group, consumer_,
                              options_.claim_idle_ms, claim_from_, "COUNT", count_max);
  if (has_code(reply, "NOGROUP")) group_exists_ = false;
  const bool has_cursor =
      reply.is_aggregate() && reply.elements().size() >= 2 && reply.elements()[0].is_text();
  if (!has_cursor) return to_status(reply, "claiming orders");
  claim_from_ = reply.elements()[0].text();
  // Redis before 7.0 does not report deleted entries.
  RETURN_IF_ERROR(reply.elements().size() > 2 ? report_lost(reply.elements()[2])
                                              : absl::OkStatus());
  return read_entries(reply.elements()[1]);
}

/// Reports pending ids without an entry, which XAUTOCLAIM removed.
absl::Status BatchReader::report_lost(const Reply& ids) {
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
  const Reply forgotten = client_.call(std::move(forget));
  return forgotten.is_integer() ? absl::OkStatus() : to_status(forgotten, "forgetting faults");
}

}  // namespace rushgate
