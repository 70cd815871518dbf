#include "engine/sale/keyspace/keyspace_owner.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/oom_script.h"
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/keyspace/lost_versions.h"
#include "engine/sale/scripts/owner_acknowledge.lua.h"
#include "engine/sale/scripts/owner_claim.lua.h"
#include "engine/sale/scripts/owner_close.lua.h"
#include "engine/sale/scripts/owner_codes.lua.h"
#include "engine/sale/scripts/owner_confirm.lua.h"
#include "engine/sale/scripts/owner_declare_lost.lua.h"
#include "engine/sale/scripts/owner_draw.lua.h"
#include "engine/sale/scripts/owner_mark.lua.h"
#include "engine/sale/scripts/owner_note_change.lua.h"
#include "engine/sale/scripts/owner_renew.lua.h"
#include "engine/sale/scripts/owner_rewind.lua.h"
#include "engine/sale/scripts/owner_trim.lua.h"
#include "engine/sale/stream/group_progress.h"

namespace rushgate {

namespace {

const Script& claim_script() {
  static const Script* const kScript = new Script(lua::kOwnerClaim);
  return *kScript;
}

const Script& confirm_script() {
  static const Script* const kScript = new Script(lua::kOwnerConfirm);
  return *kScript;
}

const Script& declare_lost_script() {
  static const Script* const kScript = new Script(lua::kOwnerDeclareLost);
  return *kScript;
}

const Script& close_script() {
  static const Script* const kScript = new Script(lua::kOwnerClose);
  return *kScript;
}

// Workers free memory, so they continue when memory is exhausted.

const OomScript& renew_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kOwnerRenew));
  return *kScript;
}

const OomScript& draw_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kOwnerDraw));
  return *kScript;
}

const OomScript& trim_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kOwnerTrim));
  return *kScript;
}

const OomScript& note_change_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kOwnerNoteChange));
  return *kScript;
}

const OomScript& rewind_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kOwnerRewind));
  return *kScript;
}

const OomScript& acknowledge_script() {
  static const OomScript* const kScript = new OomScript(make_oom_script(lua::kOwnerAcknowledge));
  return *kScript;
}

const OomScript& mark_script() {
  static const OomScript* const kScript =
      new OomScript{Script(lua::kOwnerMark), Script(lua::kOwnerMark)};  // needs memory
  return *kScript;
}

absl::Status lost_meanwhile() {
  return absl::AbortedError("the order database lost batches, and is being caught up");
}

/// Returns the first element of a reply of the rewind script; empty if it is none.
std::optional<std::int64_t> rewind_outcome(const Reply& rewound) {
  const bool has_outcome =
      rewound.is_aggregate() && !rewound.elements().empty() && rewound.elements()[0].is_integer();
  if (!has_outcome) return std::nullopt;
  return rewound.elements()[0].integer();
}

}  // namespace

KeyspaceOwner::KeyspaceOwner(const SaleStores& stores, const SaleKeys& keys, Options options)
    : stores_(stores), keys_(keys), options_(std::move(options)) {}

absl::Status KeyspaceOwner::verify(Client& client) {
  // The fence first: a batch that was read over an ended connection can no longer reach the
  // database. So the values compared stay true.
  ASSIGN_OR_RETURN(auto state, stores_.orders.fence());
  {
    const std::lock_guard lock(mutex_);
    identity_ = state.identity;
  }
  constexpr int kTries = 10;  // a process that records a batch meanwhile makes the state look old
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto standing, claim(client, state));
    if (standing == lua::owner_codes::kOurs) {
      session_ = state.session;
      return absl::OkStatus();
    }
    if (i == kTries) return absl::UnavailableError("the order database is being caught up");
    if (standing == lua::owner_codes::kLost) {
      RETURN_IF_ERROR(recover(client, state));
    } else {
      ASSIGN_OR_RETURN(state, catch_up(client));
    }
  }
}

absl::Status KeyspaceOwner::check(Client& client) {
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  ASSIGN_OR_RETURN(const auto standing, claim(client, state));
  if (standing != lua::owner_codes::kOurs) return verify(client);
  session_ = state.session;
  return absl::OkStatus();
}

absl::Status KeyspaceOwner::check_session(Client& client) {
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  return state.session == session_ ? absl::OkStatus() : check(client);
}

/// Returns kOurs, kLost or kBehind.
absl::StatusOr<std::int64_t> KeyspaceOwner::claim(Client& client, const DatabaseState& state) {
  RETURN_IF_ERROR(check_open(state));
  const std::string stream_owner = keys_.stream_owner();
  const std::string prefix_owner = keys_.prefix_owner();
  const std::string vouchers = keys_.vouchers();
  const DecimalText checkpoint(state.checkpoint);
  const DecimalText recorded(state.recorded());
  const DecimalText epoch(state.epoch);
  const std::string_view names[] = {stream_owner, prefix_owner, keys_.order_stream, vouchers};
  ASSIGN_OR_RETURN(const auto instance, this->instance());
  const DecimalText lease_ms(kLeaseMs);
  const std::string identity = mark_of(options_.role, state.identity);
  const bool may_begin = [this] {
    const std::lock_guard lock(mutex_);
    return moved_to_.empty();
  }();
  std::string_view arguments[] = {identity,
                                  instance.id,
                                  instance.place,
                                  instance.name,
                                  lease_ms,
                                  is_private(),
                                  "0",
                                  recorded,
                                  epoch,
                                  checkpoint,
                                  options_.adopt ? "1" : "0",
                                  may_begin ? "1" : "0"};
  Reply standing = client.run(claim_script(), names, arguments);
  if (has_code(standing, redis_error_code::kOutOfMemory)) {  // only the lease needs memory
    arguments[1] = {};
    standing = client.run(claim_script(), names, arguments);
  }
  if (standing.is_aggregate()) return other_instance(standing);
  if (!standing.is_integer()) return to_status(standing, "claiming the keyspace");
  switch (standing.integer()) {
    case lua::owner_codes::kOurs:
    case lua::owner_codes::kLost:
    case lua::owner_codes::kBehind: {
      const std::lock_guard lock(mutex_);
      moved_to_.clear();
      return standing.integer();
    }
    case lua::owner_codes::kForeign:
      return absl::FailedPreconditionError(concat(
          "the stream ", keys_.order_stream,
          " was made by another system: adopt it, or use another name (SaleKeys::order_stream)"));
    default: {
      ASSIGN_OR_RETURN(const auto present, read_standing(client, keys_, state.identity));
      return note_left(present);
    }
  }
}

/// Returns the vouchers that the keyspace may have on sale. True: the database has no version in force,
/// since a first one was not resolved.
absl::StatusOr<std::map<VoucherId, bool>> KeyspaceOwner::vouchers_on_sale() {
  std::map<VoucherId, bool> on_sale;
  // These first: a version that is resolved meanwhile is in force.
  ASSIGN_OR_RETURN(const auto pending, stores_.vouchers.pending());
  for (const VoucherVersion& version : pending) on_sale[version.voucher.id] = true;
  ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.all_applied());
  for (const VoucherVersion& version : in_force) on_sale[version.voucher.id] = false;
  return on_sale;
}

/// Declares all vouchers lost before it confirms the claim. So an interrupted recovery is repeated.
absl::Status KeyspaceOwner::recover(Client& client, const DatabaseState& state) {
  ASSIGN_OR_RETURN(const auto on_sale, vouchers_on_sale());
  const std::string stream_owner = keys_.stream_owner();
  const std::string prefix_owner = keys_.prefix_owner();
  const std::string vouchers = keys_.vouchers();
  const std::string held = keys_.held();
  const std::string checkpoint = std::to_string(state.checkpoint);
  std::vector<Request> requests;
  for (const auto& [id, is_unresolved] : on_sale) {
    const std::string id_text = std::to_string(id);
    const std::string voucher = keys_.voucher(id);
    const std::string stock = keys_.stock(id);
    const std::string waiting = keys_.waiting(id);
    const std::string waiting_orders = keys_.waiting_orders(id);
    const std::string buyers = keys_.buyers(id);
    const std::string_view names[] = {stream_owner, voucher, stock,          vouchers,
                                      held,         waiting, waiting_orders, buyers};
    const std::string_view arguments[] = {checkpoint, id_text, is_unresolved ? "1" : "0"};
    requests.push_back(client.script_request(declare_lost_script(), names, arguments));
  }
  const std::vector<Reply> replies = client.run_all(declare_lost_script(), requests);
  std::int64_t declared = 0;
  for (std::size_t i = 0; const auto& [id, is_unresolved] : on_sale) {
    const Reply& reply = replies[i++];
    if (!reply.is_integer()) return to_status(reply, "declaring vouchers lost");
    if (!is_unresolved) declared += reply.integer();  // the others were perhaps never on sale
  }
  const std::string lost_requests = keys_.lost_requests();
  const std::string loss = random_name();
  const std::string_view names[] = {stream_owner, prefix_owner, lost_requests};
  const DecimalText recorded(state.recorded());
  const std::string identity = mark_of(options_.role, state.identity);
  const std::string_view arguments[] = {identity, checkpoint, loss, recorded};
  const Reply confirmed = client.run(confirm_script(), names, arguments);
  if (!confirmed.is_integer()) return to_status(confirmed, "confirming the claim");
  if (confirmed.integer() != lua::owner_codes::kOurs) return refusal(client);
  if (options_.logger && !on_sale.empty()) {
    log_warning(*options_.logger,
                concat("the keyspace has lost writes (the database has checkpoint ",
                       state.checkpoint, "): vouchers to be rebuilt: ", declared));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> KeyspaceOwner::is_on_sale(Client& client, VoucherId voucher) {
  constexpr std::string_view kDoing = "looking for the voucher";
  ASSIGN_OR_RETURN(const auto ours, identity());
  constexpr int kLooks = 2;
  for (int look = 1;; ++look) {
    const Request requests[] = {Request::of("HGET", keys_.stream_owner(), "identity"),
                                Request::of("SISMEMBER", keys_.vouchers(), voucher)};
    const std::vector<Reply> replies = client.pipeline(requests);
    const Reply& owner = replies[0];
    if (!owner.is_nil() && !owner.is_text()) return to_status(owner, kDoing);
    if (!replies[1].is_integer()) return to_status(replies[1], kDoing);
    if (owner.is_text() && owner.text() != ours) return refusal(client);
    if (owner.is_text() || look == kLooks) return replies[1].integer() == 1;
    RETURN_IF_ERROR(verify(client));
  }
}

absl::StatusOr<std::string> KeyspaceOwner::identity() {
  {
    const std::lock_guard lock(mutex_);
    if (!identity_.empty()) return mark_of(options_.role, identity_);
  }
  ASSIGN_OR_RETURN(auto state, stores_.orders.state());
  const std::lock_guard lock(mutex_);
  identity_ = std::move(state.identity);
  return mark_of(options_.role, identity_);
}

absl::Status KeyspaceOwner::refusal(Client& client) {
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  ASSIGN_OR_RETURN(const auto standing, read_standing(client, keys_, state.identity));
  absl::Status refused = note_left(standing);
  const bool has_left = standing.kind == KeyspaceStanding::Kind::kLeft;
  return has_left ? absl::UnavailableError(refused.message()) : refused;
}

/// Returns why nobody may sell on such a keyspace. Remembers that the sale was moved.
absl::Status KeyspaceOwner::note_left(const KeyspaceStanding& standing) {
  const std::lock_guard lock(mutex_);
  if (standing.kind == KeyspaceStanding::Kind::kLeft) moved_to_ = standing.moved_to;
  if (standing.kind != KeyspaceStanding::Kind::kEmpty || moved_to_.empty()) {
    return refuse_standing(standing, keys_);
  }
  return absl::UnavailableError(
      concat("the sale was moved to ", moved_to_, ", and this keyspace was emptied after that"));
}

absl::StatusOr<BatchFence> KeyspaceOwner::draw_fence(Client& client) {
  constexpr int kTries = 3;  // each fails only because the keyspace has just lost writes
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
    RETURN_IF_ERROR(check_open(state));
    // The server behind a new session may have lost what was recorded in the last one.
    if (state.session != session_) RETURN_IF_ERROR(check(client));
    ASSIGN_OR_RETURN(const auto checkpoint, draw_checkpoint(client));
    if (checkpoint <= state.checkpoint) {  // which the keyspace had drawn before that
      RETURN_IF_ERROR(verify(client));
      if (i < kTries) continue;
      return absl::UnavailableError("the keyspace loses writes again and again");
    }
    const Reply synced = client.sync_of(keys_.stream_owner());
    if (synced.is_error()) return to_status(synced, "syncing the keyspace");
    return BatchFence{.epoch = state.epoch, .checkpoint = checkpoint, .session = state.session};
  }
}

// Drawn after the writes: a keyspace that forgets one of them forgets this too.
absl::StatusOr<BatchFence> KeyspaceOwner::seal(Client& client) {
  constexpr int kTries = 10;  // an epoch ends only with a rebuild or a new connection
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto fence, draw_fence(client));
    const absl::Status written = stores_.orders.record_checkpoint(fence);
    if (absl::IsAborted(written) && i < kTries) continue;
    RETURN_IF_ERROR(written);
    ASSIGN_OR_RETURN(const auto batch, recorded_with(fence));
    RETURN_IF_ERROR(tell_recorded(client, batch));
    return fence;
  }
}

absl::StatusOr<KeyspaceOwner::Recorded> KeyspaceOwner::recorded_with(const BatchFence& fence) {
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  if (state.session != fence.session) return check_fence(fence, state);
  return Recorded{
      .checkpoint = fence.checkpoint, .recorded = state.recorded(), .epoch = state.epoch};
}

absl::Status KeyspaceOwner::tell_recorded(Client& client, const Recorded& batch) {
  {
    const std::lock_guard lock(mutex_);
    if (batch.recorded > untold_.recorded) untold_ = batch;
  }
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner};
  ASSIGN_OR_RETURN(const auto told, run_leased(client, renew_script(), batch, keys, {}));
  return told.is_integer() ? absl::OkStatus()
                           : to_status(told, "telling the keyspace what was recorded");
}

KeyspaceOwner::Recorded KeyspaceOwner::untold() {
  const std::lock_guard lock(mutex_);
  return untold_;
}

/// Returns which copy of the database this is; its id is empty if it is shared.
absl::StatusOr<DatabaseInstance> KeyspaceOwner::instance() {
  {
    const std::lock_guard lock(mutex_);
    if (instance_) return *instance_;
  }
  auto instance = stores_.orders.instance();
  if (!instance.ok()) return instance;
  const std::lock_guard lock(mutex_);
  return instance_.emplace(*std::move(instance));
}

/// Returns the error for the reply of find_other_copy().
absl::Status KeyspaceOwner::other_instance(const Reply& reply) const {
  const auto& parts = reply.elements();
  const auto has_kind = [&](std::string_view kind, std::size_t size) {
    return parts.size() == size && parts[0].is_text() && parts[0].text() == kind &&
           parts[1].is_text() && parts[2].is_integer();
  };
  if (has_kind("open", 3)) {
    return absl::FailedPreconditionError(
        concat("another copy of this order database is open: ", parts[1].text(),
               "; only one of them may sell on a keyspace (its lease in ", keys_.stream_owner(),
               " ends in ", parts[2].integer(), " ms, unless it is renewed)"));
  }
  return to_status(reply, "leasing the keyspace");
}

/// Runs a script of lease.lua with its arguments and `more`. Returns its reply, which is no lease of
/// another copy.
absl::StatusOr<Reply> KeyspaceOwner::run_leased(Client& client, const OomScript& leased,
                                                const Recorded& batch,
                                                std::span<const std::string_view> keys,
                                                std::span<const std::string_view> more) {
  ASSIGN_OR_RETURN(const auto identity, this->identity());
  ASSIGN_OR_RETURN(const auto instance, this->instance());
  const DecimalText lease_ms(kLeaseMs);
  const DecimalText checkpoint(batch.checkpoint);
  const DecimalText recorded(batch.recorded);
  const DecimalText epoch(batch.epoch);
  std::vector<std::string_view> arguments = {identity,      instance.id, instance.place,
                                             instance.name, lease_ms,    is_private(),
                                             checkpoint,    recorded,    epoch};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Reply reply = leased.run(client, keys, arguments);
  const bool is_other =
      reply.is_aggregate() && !reply.elements().empty() && reply.elements()[0].is_text();
  if (is_other) return other_instance(reply);
  return reply;
}

absl::Status KeyspaceOwner::renew_lease(Client& client) {
  const auto needs_lease = this->needs_lease();
  if (!needs_lease.ok() || !*needs_lease) return needs_lease.status();
  return tell_recorded(client, untold());
}

absl::StatusOr<std::int64_t> KeyspaceOwner::draw_checkpoint(Client& client) {
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner};
  const auto drawn = run_leased(client, draw_script(), untold(), keys, {});
  if (!drawn.ok()) return drawn.status();
  if (!drawn->is_integer()) return to_status(*drawn, "drawing a checkpoint");
  if (drawn->integer() == lua::owner_draw::kLost) {
    return absl::NotFoundError("the keyspace has lost its writes");
  }
  if (drawn->integer() == lua::owner_draw::kAnothers) return refusal(client);
  return drawn->integer();
}

absl::Status KeyspaceOwner::acknowledge(Client& client, const Recorded& batch,
                                        std::span<const std::string_view> entries) {
  std::vector<std::string_view> more = {keys_.group};
  more.insert(more.end(), entries.begin(), entries.end());
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner, keys_.order_stream};
  ASSIGN_OR_RETURN(const auto acknowledged,
                   run_leased(client, acknowledge_script(), batch, keys, more));
  if (acknowledged == Reply::integer(lua::owner_acknowledge::kCaughtUp)) {
    return lost_meanwhile();
  }
  return acknowledged.is_integer() ? absl::OkStatus()
                                   : to_status(acknowledged, "acknowledging orders");
}

absl::Status KeyspaceOwner::note_change(Client& client, const Recorded& batch,
                                        std::span<const std::string_view> fields) {
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner, keys_.order_stream};
  ASSIGN_OR_RETURN(const auto noted, run_leased(client, note_change_script(), batch, keys, fields));
  if (noted == Reply::integer(lua::owner_note_change::kCaughtUp)) return lost_meanwhile();
  return noted.is_integer() ? absl::OkStatus() : to_status(noted, "noting a change");
}

absl::Status KeyspaceOwner::check_caught_up(Client& client) const {
  const Reply catching_up = client("HEXISTS", keys_.stream_owner(), "catching_up");
  if (!catching_up.is_integer()) return to_status(catching_up, "looking for lost orders");
  if (catching_up.integer() == 0) return absl::OkStatus();
  return absl::UnavailableError("the order database is being caught up");
}

absl::Status KeyspaceOwner::mark(Client& client) {
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner, keys_.order_stream};
  ASSIGN_OR_RETURN(const auto marked, run_leased(client, mark_script(), untold(), keys, {}));
  return marked.is_integer() ? absl::OkStatus() : to_status(marked, "marking the order stream");
}

absl::StatusOr<bool> KeyspaceOwner::trim(Client& client, std::int64_t retain_ms,
                                         std::int64_t entries_max) {
  const DecimalText retain(retain_ms);
  const DecimalText most(entries_max);
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner, keys_.order_stream};
  const std::string_view more[] = {retain, most};
  ASSIGN_OR_RETURN(const auto marks, run_leased(client, trim_script(), untold(), keys, more));
  if (!marks.is_integer()) return to_status(marks, "trimming the order stream");
  return marks.integer() > 0;
}

// ---- Lost batches ----

/// Lets the workers store again what the database lost, if it did. Returns its state.
///
/// What was recorded is read first: then a database with less has lost it. The epoch is raised above all that
/// the keyspace has seen: no batch that was read before may be written to this database. It may have lost the epoch
/// alone: that of a rebuild after which nothing was recorded.
absl::StatusOr<DatabaseState> KeyspaceOwner::catch_up(Client& client) {
  ASSIGN_OR_RETURN(const auto known, read_recorded(client));
  ASSIGN_OR_RETURN(auto state, stores_.orders.fence());
  constexpr std::int64_t kEpochsMax = 100'000;
  if (known.epoch - state.epoch > kEpochsMax) {
    return absl::FailedPreconditionError(concat("the order database is in epoch ", state.epoch,
                                                ", and ", keys_.stream_owner(), " knows of epoch ",
                                                known.epoch, ": one of them is damaged"));
  }
  while (state.epoch <= known.epoch) {
    ASSIGN_OR_RETURN(state, stores_.orders.fence());
  }
  if (state.recorded() >= known.recorded) return state;
  // The versions before the orders that were admitted under them.
  ASSIGN_OR_RETURN(const auto versions, restore_lost_versions(client, stores_, keys_));
  ASSIGN_OR_RETURN(auto rewound, rewind(client, state, known, /*accept=*/false));
  if (rewind_outcome(rewound) == lua::owner_rewind::kMissing) {
    const absl::Status closed = close_for_missing(client, state, rewound);
    if (!absl::IsDataLoss(closed) || !options_.accept_lost_orders) return closed;
    ASSIGN_OR_RETURN(rewound, rewind(client, state, known, /*accept=*/true));
  }
  if (rewind_outcome(rewound) == lua::owner_rewind::kWhole) return state;
  const auto& parts = rewound.elements();
  if (parts.size() != 2 || !parts[1].is_text()) {
    return to_status(rewound, "catching the order database up");
  }
  // A database that loses the versions again has to be behind.
  if (versions > 0) RETURN_IF_ERROR(seal(client).status());
  if (options_.logger) {
    log_warning(
        *options_.logger,
        concat("the order database has lost orders that it had stored (it has revision ",
               state.recorded(), "): the workers store the entries of ", keys_.order_stream,
               " after ", parts[1].text(), " again; versions of vouchers restored: ", versions));
  }
  return stores_.orders.state();
}

/// Returns what the keyspace was told last. The checkpoint is the one at which the database was caught up last.
absl::StatusOr<KeyspaceOwner::Recorded> KeyspaceOwner::read_recorded(Client& client) {
  const Reply fields = client("HMGET", keys_.stream_owner(), kCaughtUpField, "recorded", "epoch");
  std::int64_t values[3] = {};
  const bool is_complete = fields.is_aggregate() && fields.elements().size() == std::size(values);
  if (!is_complete) return to_status(fields, "reading what the order database has recorded");
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const Reply& field = fields.elements()[i];
    if (field.is_text()) values[i] = parse_int64(field.text()).value_or(0);
  }
  return Recorded{.checkpoint = values[0], .recorded = values[1], .epoch = values[2]};
}

absl::StatusOr<Reply> KeyspaceOwner::rewind(Client& client, const DatabaseState& state,
                                            const Recorded& known, bool accept) {
  ASSIGN_OR_RETURN(const auto on_sale, vouchers_on_sale());
  std::vector<std::string> names = {keys_.stream_owner(), keys_.order_stream};
  for (const auto& [id, is_unresolved] : on_sale) names.push_back(keys_.voucher(id));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const DecimalText caught_up(known.checkpoint);
  const std::string_view more[] = {keys_.group, accept ? "1" : "0", caught_up};
  const Recorded has{.recorded = state.recorded(), .epoch = state.epoch};
  return run_leased(client, rewind_script(), has, keys, more);
}

/// Closes the admission of every voucher: pieces of the lost orders would be sold again by a rebuild.
absl::Status KeyspaceOwner::close_for_missing(Client& client, const DatabaseState& state,
                                              const Reply& missing) {
  const auto& parts = missing.elements();
  const bool is_complete =
      parts.size() == 4 && parts[1].is_integer() && parts[2].is_text() && parts[3].is_integer();
  if (!is_complete) return to_status(missing, "looking for lost orders");
  ASSIGN_OR_RETURN(const auto newest,
                   stores_.orders.greatest_id(std::numeric_limits<OrderId>::max()));
  ASSIGN_OR_RETURN(const auto on_sale, vouchers_on_sale());
  const std::string stream_owner = keys_.stream_owner();
  std::vector<Request> requests;
  for (const auto& [id, is_unresolved] : on_sale) {
    const std::string voucher = keys_.voucher(id);
    const std::string_view names[] = {stream_owner, voucher};
    requests.push_back(client.script_request(close_script(), names, {}));
  }
  for (const Reply& closed : client.run_all(close_script(), requests)) {
    if (!closed.is_integer()) return to_status(closed, "closing vouchers");
  }
  absl::Status lost = absl::DataLossError(concat(
      "the order database has lost orders: it has revision ", state.recorded(), ", and had ",
      parts[1].integer(), "; its newest order is ", newest, ". The entries of ", keys_.order_stream,
      " before ", parts[2].text(), " were removed (at ", parts[3].integer(),
      " ms since 1970), so it cannot be caught up. No voucher is sold. Restore a newer copy of the "
      "database, or go on without the lost orders (accept_lost_orders)"));
  if (options_.logger) log_error(*options_.logger, std::string(lost.message()));
  return lost;
}

absl::StatusOr<bool> KeyspaceOwner::needs_lease() {
  if (!options_.is_shared) return false;
  ASSIGN_OR_RETURN(const auto instance, this->instance());
  return !instance.id.empty();
}

}  // namespace rushgate
