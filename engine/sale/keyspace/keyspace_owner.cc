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
#include "engine/core/client/redis_error_code.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/owner_acknowledge.lua.h"
#include "engine/sale/scripts/owner_claim.lua.h"
#include "engine/sale/scripts/owner_codes.lua.h"
#include "engine/sale/scripts/owner_confirm.lua.h"
#include "engine/sale/scripts/owner_declare_lost.lua.h"
#include "engine/sale/scripts/owner_draw.lua.h"
#include "engine/sale/scripts/owner_renew.lua.h"

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

// Workers free memory, so they continue when memory is exhausted.
Script without_memory(std::string_view script) {
  return Script(concat("#!lua flags=allow-oom\n", script));
}

const Script& renew_script() {
  static const Script* const kScript = new Script(lua::kOwnerRenew);
  return *kScript;
}

const Script& renew_without_memory_script() {
  static const Script* const kScript = new Script(without_memory(lua::kOwnerRenew));
  return *kScript;
}

const Script& draw_script() {
  static const Script* const kScript = new Script(lua::kOwnerDraw);
  return *kScript;
}

const Script& draw_without_memory_script() {
  static const Script* const kScript = new Script(without_memory(lua::kOwnerDraw));
  return *kScript;
}

const Script& acknowledge_script() {
  static const Script* const kScript = new Script(lua::kOwnerAcknowledge);
  return *kScript;
}

const Script& acknowledge_without_memory_script() {
  static const Script* const kScript = new Script(without_memory(lua::kOwnerAcknowledge));
  return *kScript;
}

}  // namespace

absl::Status anothers_keyspace(const SaleKeys& keys) {
  return absl::FailedPreconditionError(concat("the keyspace belongs to another order database (",
                                              keys.stream_owner(), ", ", keys.prefix_owner(),
                                              "): a sale needs keys of its own, or that database"));
}

KeyspaceOwner::KeyspaceOwner(const SaleStores& stores, const SaleKeys& keys, Options options)
    : stores_(stores), keys_(keys), options_(std::move(options)) {}

absl::Status KeyspaceOwner::verify(Client& client) {
  // The fence first: a batch that was read over an ended connection can no longer reach the
  // database. So the values compared stay true.
  ASSIGN_OR_RETURN(const auto state, stores_.orders.fence());
  {
    const std::lock_guard lock(mutex_);
    identity_ = state.identity;
  }
  ASSIGN_OR_RETURN(const auto is_whole, claim(client, state));
  return is_whole ? absl::OkStatus() : recover(client, state);
}

absl::Status KeyspaceOwner::check(Client& client) {
  ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
  ASSIGN_OR_RETURN(const auto is_whole, claim(client, state));
  return is_whole ? absl::OkStatus() : verify(client);
}

/// Returns false if the keyspace lost writes.
absl::StatusOr<bool> KeyspaceOwner::claim(Client& client, const DatabaseState& state) {
  const std::string stream_owner = keys_.stream_owner();
  const std::string prefix_owner = keys_.prefix_owner();
  const std::string vouchers = keys_.vouchers();
  const DecimalText checkpoint(state.checkpoint);
  const std::string_view names[] = {stream_owner, prefix_owner, keys_.order_stream, vouchers};
  ASSIGN_OR_RETURN(const auto instance, this->instance());
  const DecimalText lease_ms(kLeaseMs);
  std::string_view arguments[] = {
      state.identity, instance.id,  instance.place, instance.name,
      lease_ms,       is_private(), checkpoint,     options_.adopt ? "1" : "0"};
  Reply standing = client.run(claim_script(), names, arguments);
  if (has_code(standing, redis_error_code::kOutOfMemory)) {  // only the lease needs memory
    arguments[1] = {};
    standing = client.run(claim_script(), names, arguments);
  }
  if (standing.is_aggregate()) return other_instance(standing);
  if (!standing.is_integer()) return to_status(standing, "claiming the keyspace");
  switch (standing.integer()) {
    case lua::owner_codes::kOurs:
      return true;
    case lua::owner_codes::kLost:
      return false;
    case lua::owner_codes::kForeign:
      return absl::FailedPreconditionError(concat(
          "the stream ", keys_.order_stream,
          " was made by another system: adopt it, or use another name (SaleKeys::order_stream)"));
    default:
      return anothers_keyspace(keys_);
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
  const std::string_view arguments[] = {state.identity, checkpoint, loss};
  const Reply confirmed = client.run(confirm_script(), names, arguments);
  if (!confirmed.is_integer()) return to_status(confirmed, "confirming the claim");
  if (confirmed.integer() != lua::owner_codes::kOurs) return anothers_keyspace(keys_);
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
    if (owner.is_text() && owner.text() != ours) return anothers_keyspace(keys_);
    if (owner.is_text() || look == kLooks) return replies[1].integer() == 1;
    RETURN_IF_ERROR(verify(client));
  }
}

absl::StatusOr<std::string> KeyspaceOwner::identity() {
  {
    const std::lock_guard lock(mutex_);
    if (!identity_.empty()) return identity_;
  }
  ASSIGN_OR_RETURN(auto state, stores_.orders.state());
  const std::lock_guard lock(mutex_);
  return identity_ = std::move(state.identity);
}

// Drawn after the writes: a keyspace that forgets one of them forgets this too. The database must not
// know a checkpoint that a power cut could remove from the log.
absl::Status KeyspaceOwner::seal(Client& client) {
  ASSIGN_OR_RETURN(const auto checkpoint, draw_checkpoint(client));
  const Reply synced = client.sync();
  if (synced.is_error()) return to_status(synced, "syncing the keyspace");
  RETURN_IF_ERROR(stores_.orders.record_checkpoint(checkpoint));
  note_recorded(checkpoint);
  return tell_recorded(client);
}

absl::Status KeyspaceOwner::tell_recorded(Client& client) {
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner};
  const auto told = run_leased(client, renew_script(), renew_without_memory_script(), keys, {});
  if (!told.ok()) return told.status();
  return told->is_integer() ? absl::OkStatus()
                            : to_status(*told, "telling the keyspace what was recorded");
}

void KeyspaceOwner::note_recorded(std::int64_t checkpoint) {
  std::int64_t known = recorded_;
  while (known < checkpoint && !recorded_.compare_exchange_weak(known, checkpoint)) {
  }
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
  if (has_kind("newer", 4) && parts[3].is_integer()) {
    return absl::FailedPreconditionError(concat(
        "this order database is older than the copy that was open last: ", parts[1].text(),
        "; it has checkpoint ", parts[3].integer(), ", that one ", parts[2].integer(),
        ". Open that one, or bring this one up to date. To go on without what it lacks, remove the "
        "field recorded of ",
        keys_.stream_owner()));
  }
  return to_status(reply, "leasing the keyspace");
}

/// Runs a script of lease.lua with its arguments and `more`. Returns its reply, which is no lease of
/// another copy. Runs `without_memory` instead if memory is short.
absl::StatusOr<Reply> KeyspaceOwner::run_leased(Client& client, const Script& script,
                                                const Script& without_memory,
                                                std::span<const std::string_view> keys,
                                                std::span<const std::string_view> more) {
  ASSIGN_OR_RETURN(const auto identity, this->identity());
  ASSIGN_OR_RETURN(const auto instance, this->instance());
  const DecimalText lease_ms(kLeaseMs);
  const DecimalText recorded(recorded_);
  std::vector<std::string_view> arguments = {identity, instance.id,  instance.place, instance.name,
                                             lease_ms, is_private(), recorded};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Reply reply = client.run(script, keys, arguments);
  if (has_code(reply, redis_error_code::kOutOfMemory)) {
    reply = client.run(without_memory, keys, arguments);
  }
  if (reply.is_aggregate()) return other_instance(reply);
  return reply;
}

absl::Status KeyspaceOwner::renew_lease(Client& client) {
  const auto needs_lease = this->needs_lease();
  if (!needs_lease.ok() || !*needs_lease) return needs_lease.status();
  return tell_recorded(client);
}

absl::StatusOr<std::int64_t> KeyspaceOwner::draw_checkpoint(Client& client) {
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner};
  const auto drawn = run_leased(client, draw_script(), draw_without_memory_script(), keys, {});
  if (!drawn.ok()) return drawn.status();
  if (!drawn->is_integer()) return to_status(*drawn, "drawing a checkpoint");
  if (drawn->integer() == lua::owner_draw::kLost) {
    return absl::NotFoundError("the keyspace has lost its writes");
  }
  if (drawn->integer() == lua::owner_draw::kAnothers) return anothers_keyspace(keys_);
  return drawn->integer();
}

absl::Status KeyspaceOwner::acknowledge(Client& client, std::span<const std::string_view> entries) {
  std::vector<std::string_view> more = {keys_.group};
  more.insert(more.end(), entries.begin(), entries.end());
  const std::string stream_owner = keys_.stream_owner();
  const std::string_view keys[] = {stream_owner, keys_.order_stream};
  ASSIGN_OR_RETURN(
      const auto acknowledged,
      run_leased(client, acknowledge_script(), acknowledge_without_memory_script(), keys, more));
  return acknowledged.is_integer() ? absl::OkStatus()
                                   : to_status(acknowledged, "acknowledging orders");
}

absl::StatusOr<bool> KeyspaceOwner::needs_lease() {
  if (!options_.is_shared) return false;
  ASSIGN_OR_RETURN(const auto instance, this->instance());
  return !instance.id.empty();
}

}  // namespace rushgate
