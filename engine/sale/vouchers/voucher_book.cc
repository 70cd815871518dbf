#include "engine/sale/vouchers/voucher_book.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/waiting_list.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/keyspace/lost_requests.h"
#include "engine/sale/model/failure.h"
#include "engine/sale/model/voucher_terms.h"
#include "engine/sale/scripts/voucher_scripts.h"
#include "engine/sale/stores/archived_vouchers.h"
#include "engine/sale/stores/voucher_lanes.h"
#include "engine/sale/vouchers/adoption.h"
#include "engine/sale/vouchers/voucher_replies.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

absl::Status check_terms(const Voucher& voucher) {
  const std::string fault = find_fault(voucher);
  if (fault.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(voucher_name(voucher.id) + ": " + fault);
}

/// As check_terms(), for a change of a voucher in force, whose offset stays. An earlier version of
/// Rushgate may have published one that is refused now.
absl::Status check_change(Voucher changed) {
  changed.limits.utc_offset_minutes = 0;
  return check_terms(changed);
}

absl::Status check_lanes(const Voucher& before, const Voucher& changed) {
  if (before.lanes == changed.lanes) return absl::OkStatus();
  return absl::InvalidArgumentError(concat(voucher_name(before.id), ": lanes is ", before.lanes,
                                           " for good, not ", changed.lanes));
}

/// Returns the version of this number if it was refused; otherwise null.
const VoucherVersion* find_refused(std::span<const VoucherVersion> versions, std::int64_t number) {
  const auto found = std::ranges::find(versions, number, &VoucherVersion::version);
  const bool is_refused =
      found != versions.end() && found->state == VoucherVersion::State::kRefused;
  return is_refused ? &*found : nullptr;
}

// A change that never ends may be waiting for the caller, such as the check of a connection.
constexpr std::chrono::seconds kPatience{10};

absl::Status is_changing() {
  return absl::UnavailableError("another change of a voucher is still being made");
}

}  // namespace

VoucherBook::VoucherBook(Client& client, const SaleStores& stores, KeyspaceOwner& owner,
                         const SaleKeys& keys, VoucherBookOptions options)
    : client_(client),
      stores_(stores),
      owner_(owner),
      keys_(keys),
      options_(std::move(options)),
      rebuilder_(client, stores, owner, keys),
      changing_(options_.wait) {}

// ---- Recovering ----

absl::Status VoucherBook::recover() {
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  RETURN_IF_ERROR(restore_lost_requests(client_, stores_, keys_));
  RETURN_IF_ERROR(finish_pending());
  auto on_sale = stores_.vouchers.all_applied();
  return on_sale.ok() ? rebuild_lost(*std::move(on_sale)) : on_sale.status();
}

absl::Status VoucherBook::restore_requests() {
  // A purchase of any voucher id comes here: it keeps nobody from changing a voucher.
  const auto are_lost = are_requests_lost(client_, keys_);
  if (!are_lost.ok() || !*are_lost) return are_lost.status();
  const VoucherChange change(changing_);
  if (!change.is_ours()) return absl::AbortedError("idempotency keys are being restored");
  return restore_lost_requests(client_, stores_, keys_);
}

absl::Status VoucherBook::rebuild_lost_holds() {
  const VoucherChange change(changing_);
  if (!change.is_ours()) return absl::OkStatus();  // it will be called again
  ASSIGN_OR_RETURN(auto on_sale, stores_.vouchers.all_applied());
  // An earlier version may have demanded payment.
  std::erase_if(on_sale, [](const VoucherVersion& version) {
    return version.voucher.payment_ms == 0 && version.version == 1;
  });
  return on_sale.empty() ? absl::OkStatus() : rebuild_lost(std::move(on_sale));
}

absl::StatusOr<std::int64_t> VoucherBook::serve_opened_lists() {
  ASSIGN_OR_RETURN(const auto on_sale, stores_.vouchers.all_applied());
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
  std::int64_t next_ms = kNeverEndsMs;
  std::vector<VoucherId> opened;
  std::vector<Request> requests;
  for (const VoucherVersion& version : on_sale) {
    const Voucher& voucher = version.voucher;
    if (voucher.waiting_max == 0 || voucher.end_ms <= now_ms) continue;
    if (voucher.begin_ms > now_ms) {
      next_ms = std::min(next_ms, voucher.begin_ms);
      continue;
    }
    opened.push_back(voucher.id);
    requests.push_back(Request::of("HEXISTS", keys_.voucher(voucher.id), "serve"));
  }
  const std::vector<Reply> replies = client_.pipeline(requests);
  for (std::size_t i = 0; i < opened.size(); ++i) {
    const Reply& serves = replies[i];
    if (!serves.is_integer()) return to_status(serves, "looking for waiting users");
    if (serves.integer() == 0) continue;
    RETURN_IF_ERROR(serve_waiting_list(client_, keys_, opened[i]));
  }
  return next_ms - now_ms;
}

absl::Status VoucherBook::finish_pending() {
  ASSIGN_OR_RETURN(const auto pending, stores_.vouchers.pending());
  for (const VoucherVersion& version : pending) {
    if (!is_decided_here(stores_, version.voucher)) continue;
    absl::Status applied = apply(version);
    // Of several lanes, another one may be away.
    if (absl::IsUnavailable(applied) && version.voucher.lanes == 1) return applied;
    log(version, applied);
  }
  return absl::OkStatus();
}

/// Rebuilds vouchers that are closed, or have no terms or no stock, and those of another version.
absl::Status VoucherBook::rebuild_lost(std::vector<VoucherVersion> on_sale) {
  std::vector<Request> requests;
  for (const VoucherVersion& version : on_sale) {
    const VoucherId id = version.voucher.id;
    requests.push_back(Request::of("HMGET", keys_.voucher(id), "closed", "version"));
    requests.push_back(Request::of("EXISTS", keys_.voucher(id), keys_.stock(id)));
  }
  constexpr std::string_view kLooking = "looking at the vouchers";
  const std::vector<Reply> replies = client_.pipeline(requests);
  for (std::size_t i = 0; i < on_sale.size(); ++i) {
    const VoucherId id = on_sale[i].voucher.id;
    const Reply& terms = replies[2 * i];
    const Reply& keys = replies[2 * i + 1];
    const bool is_read = terms.is_aggregate() && terms.elements().size() == 2 && keys.is_integer();
    const bool is_whole = is_read && terms.elements()[0].is_nil() && keys.integer() == 2;
    const Reply version = Reply::bulk(std::to_string(on_sale[i].version));
    if (is_whole && terms.elements()[1] == version) continue;
    absl::Status rebuilt = !is_read   ? to_status(terms.is_error() ? terms : keys, kLooking)
                           : is_whole ? follow(id)
                                      : rebuilder_.rebuild(id);
    if (absl::IsUnavailable(rebuilt)) return rebuilt;
    log(on_sale[i], rebuilt);
  }
  return absl::OkStatus();
}

void VoucherBook::log(const VoucherVersion& version, const absl::Status& failure) const {
  if (failure.ok() || !options_.logger) return;
  log_error(*options_.logger,
            concat("version ", version.version, " of voucher ", version.voucher.id,
                   " is not in force everywhere: ", failure.message()));
}

// ---- Publishing ----

absl::Status VoucherBook::publish(const Voucher& voucher,
                                  std::optional<std::int64_t> expected_version) {
  RETURN_IF_ERROR(check_new_terms(voucher));
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  RETURN_IF_ERROR(owner_.check_session(client_));
  return publish_locked(voucher, expected_version);
}

/// As check_terms(). The offset of the version in force may stay, whatever it is.
absl::Status VoucherBook::check_new_terms(const Voucher& voucher) {
  absl::Status checked = check_terms(voucher);
  if (checked.ok() || !check_change(voucher).ok()) return checked;
  ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.applied(voucher.id));
  const bool stays = in_force.has_value() && in_force->voucher.limits.utc_offset_minutes ==
                                                 voucher.limits.utc_offset_minutes;
  return stays ? absl::OkStatus() : checked;
}

absl::Status VoucherBook::add_stock(VoucherId voucher, std::int64_t delta) {
  absl::Status added = change(voucher, [delta](Voucher& changed) {
    std::int64_t stock = 0;
    if (__builtin_add_overflow(changed.stock, delta, &stock)) {
      return absl::InvalidArgumentError(concat(voucher_name(changed.id), ": a stock of ",
                                               changed.stock, " cannot grow by ", delta));
    }
    changed.stock = stock;
    return absl::OkStatus();
  });
  // The caller must not simply call again, as after other errors.
  return is_in_doubt(added) ? absl::UnknownError(added.message()) : added;
}

absl::Status VoucherBook::close(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto now_ms, keyspace_time_ms(client_));
  return change(voucher, [now = now_ms](Voucher& changed) {
    changed.end_ms = std::min(changed.end_ms, now);
    changed.begin_ms = std::min(changed.begin_ms, changed.end_ms - 1);
    return absl::OkStatus();
  });
}

/// Edits the version in force. Repeats that if another process publishes meanwhile.
absl::Status VoucherBook::change(VoucherId voucher,
                                 absl::FunctionRef<absl::Status(Voucher&)> edit) {
  constexpr int kTries = 100;
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  RETURN_IF_ERROR(owner_.check_session(client_));
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(auto in_force, stores_.vouchers.applied(voucher));
    if (!in_force.has_value()) return refuse_unknown(voucher);
    Voucher changed = in_force->voucher;
    RETURN_IF_ERROR(edit(changed));
    RETURN_IF_ERROR(check_change(changed));
    absl::Status published = publish_locked(changed, in_force->version);
    if (!absl::IsAlreadyExists(published) || i == kTries) return published;
  }
}

/// Returns why a voucher without a version in force cannot be changed.
absl::Status VoucherBook::refuse_unknown(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto archived, is_archived(stores_, voucher));
  return archived ? archived_error(voucher) : not_on_sale(voucher);
}

absl::Status VoucherBook::publish_locked(const Voucher& voucher,
                                         std::optional<std::int64_t> expected_version) {
  // Each fails only because another process published, or because a rebuild found more pieces sold.
  constexpr int kTries = 100;
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto latest, finish_latest(voucher.id));
    ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.applied(voucher.id));
    const std::int64_t now = in_force.has_value() ? in_force->version : 0;
    if (expected_version.value_or(now) != now) {
      return absl::AlreadyExistsError(concat(voucher_name(voucher.id), ": version ", now,
                                             " is in force, not ", *expected_version));
    }
    if (in_force.has_value() && in_force->voucher == voucher) return forget_copies(voucher.id);
    // Processes remember the lanes, even of a version that was refused.
    if (latest.has_value()) RETURN_IF_ERROR(check_lanes(latest->voucher, voucher));
    if (voucher.lanes > 1 && options_.other_lanes) {
      const Voucher* const before = in_force.has_value() ? &in_force->voucher : nullptr;
      RETURN_IF_ERROR(check_place(voucher, before));
      RETURN_IF_ERROR(options_.other_lanes->check_places(voucher, before));
    }

    VoucherVersion version;
    version.voucher = voucher;
    version.version = latest.has_value() ? latest->version + 1 : 1;
    const absl::Status recorded = stores_.vouchers.record_pending(version);
    if (recorded.ok()) {
      absl::Status applied = apply(version);
      const bool may_follow =
          absl::IsUnavailable(applied) || absl::IsAborted(applied) || absl::IsInternal(applied);
      if (!absl::IsCancelled(applied)) return may_follow ? in_doubt(applied) : applied;
      if (i == kTries) return absl::FailedPreconditionError(applied.message());
    } else if (absl::IsUnavailable(recorded)) {
      return in_doubt(recorded);  // a connection may have broken while the database committed
    } else if (!absl::IsFailedPrecondition(recorded) || i == kTries) {
      return recorded;
    }
  }
}

/// Returns the latest version, once it is applied or refused.
absl::StatusOr<std::optional<VoucherVersion>> VoucherBook::finish_latest(VoucherId voucher) {
  auto latest = stores_.vouchers.latest(voucher);
  const auto is_pending = [&] {
    return latest.ok() && latest->has_value() &&
           (*latest)->state == VoucherVersion::State::kPending &&
           is_decided_here(stores_, (*latest)->voucher);
  };
  if (!is_pending()) return latest;
  const absl::Status applied = apply(**latest);
  latest = stores_.vouchers.latest(voucher);
  if (!applied.ok() && is_pending()) return applied;  // a refusal ends it too
  return latest;
}

/// Puts the version in force, and records that. What was interrupted is repeated as long as it is pending. kCancelled: a
/// rebuild has refused it.
absl::Status VoucherBook::apply(const VoucherVersion& version) {
  absl::Status applied = put_in_force_everywhere(version);
  if (applied.ok()) applied = record_applied(version);
  // The stores are away, so nothing can be looked at: it stays pending.
  if (absl::IsUnavailable(applied)) return applied;
  // A rebuild may have put it in force before it was refused, or an earlier one before it was applied.
  if (!applied.ok()) log(version, follow(version.voucher.id));
  if (version.voucher.lanes > 1 && options_.other_lanes) {
    log(version, options_.other_lanes->follow(version.voucher));
  }
  return applied;
}

/// Of a voucher on several lanes, first on the others, unless the lane 0 may refuse it: a smaller stock is taken from
/// there.
absl::Status VoucherBook::put_in_force_everywhere(const VoucherVersion& version) {
  if (version.voucher.lanes == 1) return put_in_force_and_seal(version);
  if (!options_.other_lanes) {
    return absl::FailedPreconditionError(concat(
        voucher_name(version.voucher.id), " is on several lanes, and the sale is being moved"));
  }
  ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.applied(version.voucher.id));
  const bool is_smaller =
      in_force.has_value() && pieces_for_sale(version.voucher) < pieces_for_sale(in_force->voucher);
  if (is_smaller) RETURN_IF_ERROR(put_in_force_and_seal(version));
  RETURN_IF_ERROR(options_.other_lanes->put_in_force(version));
  return is_smaller ? absl::OkStatus() : put_in_force_and_seal(version);
}

absl::Status VoucherBook::check_place(const Voucher& voucher, const Voucher* before) {
  const VoucherId id = voucher.id;
  const std::string looking = "looking for " + voucher_name(id);
  const Reply known = client_("HMGET", keys_.voucher(id), "version", "counted");
  if (known.elements().size() != 2) return to_status(known, looking);
  const bool is_known = known.elements()[0].is_text();
  const bool is_counted = known.elements()[1].text() == "1";
  if (before != nullptr) {
    const bool is_to_be_counted = is_known && !is_counted && voucher.limits.per_user != 1;
    if (!is_to_be_counted) return absl::OkStatus();
    const Reply buyers = client_("SCARD", keys_.buyers(id));
    if (!buyers.is_integer()) return to_status(buyers, looking);
    if (buyers.integer() <= options_.buyers_converted_max) return absl::OkStatus();
    return absl::FailedPreconditionError(describe_too_many_buyers(id, buyers.integer()));
  }
  if (is_known) return absl::OkStatus();
  const Reply others = client_("EXISTS", keys_.stock(id), keys_.buyers(id));
  if (!others.is_integer()) return to_status(others, looking);
  if (others.integer() == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(concat(voucher_name(id), ": another system made ",
                                              keys_.stock(id), " or ", keys_.buyers(id)));
}

std::string VoucherBook::describe_too_many_buyers(VoucherId voucher, std::int64_t count) const {
  return concat(voucher_name(voucher), ": it has ", count,
                " buyers, and the limit per user can no longer come up from 1 when there are more "
                "than ",
                options_.buyers_converted_max);
}

absl::Status VoucherBook::put_in_force_here(const VoucherVersion& version) {
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  RETURN_IF_ERROR(put_in_force_and_seal(version));
  return forget_copies(version.voucher.id);
}

/// Puts the version in force so that a keyspace which loses it is noticed, and rebuilt. The database must never record as
/// applied a version that a keyspace may have lost unnoticed.
absl::Status VoucherBook::put_in_force_and_seal(const VoucherVersion& version) {
  constexpr int kTries = 10;  // an epoch ends only with a rebuild or a new connection
  for (int i = 1;; ++i) {
    ASSIGN_OR_RETURN(const auto state, stores_.orders.state());
    RETURN_IF_ERROR(put_in_force(version));
    ASSIGN_OR_RETURN(const auto fence, owner_.seal(client_));
    if (check_fence(fence, state).ok()) return absl::OkStatus();
    if (i == kTries) {
      return absl::UnavailableError(concat(voucher_name(version.voucher.id),
                                           ": the keyspace loses its connections: try again"));
    }
  }
}

absl::Status VoucherBook::follow_here(VoucherId voucher) {
  VoucherChange change(changing_);
  if (!change.wait(kPatience)) return is_changing();
  return follow(voucher);
}

/// Rebuilds the voucher if it has a version older than the one in force, or one that was refused. A pending one stays.
absl::Status VoucherBook::follow(VoucherId voucher) {
  const Reply reply = client_("HGET", keys_.voucher(voucher), "version");
  if (reply.is_nil()) return absl::OkStatus();
  const auto known = reply.is_text() ? parse_int64(reply.text()) : std::nullopt;
  if (!known) return to_status(reply, "looking at " + voucher_name(voucher));
  ASSIGN_OR_RETURN(const auto versions, stores_.vouchers.versions(voucher));
  const auto in_force = version_in_force(versions);
  if (!in_force || *known == in_force->version) return absl::OkStatus();
  const bool is_refused = find_refused(versions, *known) != nullptr;
  if (*known > in_force->version && !is_refused) return absl::OkStatus();
  RETURN_IF_ERROR(rebuilder_.rebuild_whole(voucher));
  return forget_copies(voucher);
}

absl::Status VoucherBook::put_in_force(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  ASSIGN_OR_RETURN(const auto in_force, stores_.vouchers.applied(id));
  ASSIGN_OR_RETURN(const VoucherVersion here, read_on_lane(stores_, version));
  ASSIGN_OR_RETURN(const auto result, apply_or_gather(version, here, in_force));

  const auto detail = std::span(result).subspan(1);
  switch (result.front()) {
    case voucher_scripts::kDone:
    case voucher_scripts::kAlreadyDone: {
      const std::vector<std::optional<std::int64_t>> there(detail.begin(), detail.end());
      const std::string different = find_differences(here, there);
      if (!different.empty()) {
        // Left pending: nothing was decided, and the next version would change another sale.
        return absl::FailedPreconditionError(
            voucher_name(id) + ", version " + std::to_string(version.version) +
            ": the keyspace holds another sale's voucher of this id: " + different);
      }
      if (!in_force.has_value()) {
        RETURN_IF_ERROR(finish_adoption(version.voucher));
      }
      if (version.voucher.waiting_max > 0) {
        RETURN_IF_ERROR(serve_waiting_list(client_, keys_, id));
      }
      return absl::OkStatus();
    }
    case voucher_scripts::kRefused:
      return refuse(version, describe_lack_of_stock(version.voucher, detail.front()));
    case voucher_scripts::kTooManyBuyers:
      return refuse(version, describe_too_many_buyers(id, detail.front()));
    case voucher_scripts::kForeign:
      return refuse(version, concat(voucher_name(id), ": ", describe_foreign(version, detail)));
    case voucher_scripts::kAnothers:
      return owner_.refusal(client_);
    default:
      return being_rebuilt(id);
  }
}

/// Stores rows for the buyers of an adopted voucher. The adoption may be this call's or an
/// interrupted one's.
absl::Status VoucherBook::finish_adoption(const Voucher& voucher) {
  const std::string key = keys_.voucher(voucher.id);
  const Reply adopting = client_("HEXISTS", key, "adopting");
  if (!adopting.is_integer()) return to_status(adopting, "adopting " + voucher_name(voucher.id));
  if (adopting.integer() == 0) return absl::OkStatus();
  RETURN_IF_ERROR(import_buyers(client_, stores_, keys_, voucher, options_.draw_ids));
  const Reply finished = client_("HDEL", key, "adopting");
  if (!finished.is_integer()) return to_status(finished, "adopting " + voucher_name(voucher.id));
  return absl::OkStatus();
}

std::string VoucherBook::describe_foreign(const VoucherVersion& version,
                                          std::span<const std::int64_t> detail) const {
  const VoucherId id = version.voucher.id;
  if (detail.size() != 2) return "another system made its keys";
  return concat(
      "another system made ", keys_.stock(id), " or ", keys_.buyers(id), ": ", detail[0],
      " are free and ", detail[1], " have bought; ",
      options_.adopt ? "to adopt them, publish a stock of " : "adopt them, with a stock of ",
      detail[0] + detail[1]);
}

/// As apply_or_rebuild(). If a smaller stock of a voucher on several lanes is refused, brings free pieces of the
/// others here, and tries again: each time with more to spare for those who buy meanwhile.
absl::StatusOr<VoucherBook::ScriptResult> VoucherBook::apply_or_gather(
    const VoucherVersion& version, const VoucherVersion& here,
    const std::optional<VoucherVersion>& in_force) {
  constexpr int kTries = 32;  // each fails only because others bought the pieces, or moved them
  constexpr std::int64_t kSpareMin = 4'096;
  std::int64_t spare = 0;
  for (int i = 1;; ++i) {
    auto result = apply_or_rebuild(version, here, in_force);
    const bool may_gather = result.ok() && result->front() == voucher_scripts::kRefused &&
                            version.voucher.lanes > 1 && in_force.has_value();
    if (!may_gather) return result;
    if (i == kTries) {
      return absl::UnavailableError(
          concat(voucher_name(version.voucher.id),
                 ": others buy the pieces that are withdrawn: try again"));
    }
    const std::int64_t withdrawn =
        pieces_for_sale(in_force->voucher) - pieces_for_sale(version.voucher);
    spare = spare == 0 ? std::max(withdrawn / 4, kSpareMin)
                       : std::min(2 * spare, pieces_for_sale(in_force->voucher));
    ASSIGN_OR_RETURN(const std::int64_t missing,
                     options_.other_lanes->gather(version.voucher, withdrawn, spare));
    if (missing > 0) return ScriptResult{voucher_scripts::kRefused, missing};
  }
}

/// Puts the version in force. Rebuilds the voucher first, or instead, where that is needed.
absl::StatusOr<VoucherBook::ScriptResult> VoucherBook::apply_or_rebuild(
    const VoucherVersion& version, const VoucherVersion& here,
    const std::optional<VoucherVersion>& in_force) {
  constexpr int kTries = 4;
  for (int i = 1;; ++i) {
    // Counted each time: until the database is fenced, a worker's batch may still reach it.
    ASSIGN_OR_RETURN(const auto live, stores_.orders.count_live(version.voucher.id));
    // Only a voucher that was never on sale may start from its full stock.
    const bool may_create = !in_force.has_value() && live == 0;
    auto result = run_apply(version, here, may_create);
    if (!result.ok() || i == kTries) return result;
    absl::Status prepared;
    switch (result->front()) {
      case voucher_scripts::kUnclaimed:
        prepared = owner_.verify(client_);
        break;
      case voucher_scripts::kLostRequests:
        prepared = restore_lost_requests(client_, stores_, keys_);
        break;
      case voucher_scripts::kMissing:
      case voucher_scripts::kBeingRebuilt:
        prepared = rebuilder_.rebuild(version.voucher.id);
        break;
      case voucher_scripts::kTooManyBuyers:
        // On several lanes, others may have the version. Before, check_place() found fewer buyers.
        if (version.voucher.lanes == 1) return result;
        [[fallthrough]];
      case voucher_scripts::kNeedsDays:
        prepared = rebuilder_.rebuild_with(version);
        break;
      default:
        return result;
    }
    RETURN_IF_ERROR(check_not_refused(version));
    RETURN_IF_ERROR(prepared);
  }
}

absl::StatusOr<VoucherBook::ScriptResult> VoucherBook::run_apply(const VoucherVersion& version,
                                                                 const VoucherVersion& here,
                                                                 bool may_create) {
  const VoucherId id = version.voucher.id;
  ASSIGN_OR_RETURN(const auto identity, owner_.identity());
  const std::vector<std::string> names = {
      keys_.voucher(id),    keys_.stock(id),   keys_.buyers(id),      keys_.vouchers(),
      keys_.stream_owner(), keys_.waiting(id), keys_.lost_requests(), keys_.applied_versions()};
  std::vector<std::string> arguments = {
      may_create ? "1" : "0",     std::to_string(options_.buyers_converted_max),
      std::to_string(id),         identity,
      options_.adopt ? "1" : "0", version.voucher.title};
  append_terms(version, here, arguments);
  return read_voucher_result(
      client_.run(voucher_scripts::apply(), as_views(names), as_views(arguments)),
      "publishing " + voucher_name(id));
}

absl::Status VoucherBook::record_applied(const VoucherVersion& version) {
  const VoucherId id = version.voucher.id;
  const absl::Status resolved =
      stores_.vouchers.resolve(id, version.version, VoucherVersion::State::kApplied, {});
  if (absl::IsFailedPrecondition(resolved)) RETURN_IF_ERROR(check_not_refused(version));
  return resolved.ok() ? forget_copies(id) : resolved;
}

/// Returns kCancelled, with the recorded reason, if a rebuild has refused the version.
absl::Status VoucherBook::check_not_refused(const VoucherVersion& version) const {
  ASSIGN_OR_RETURN(const auto versions, stores_.vouchers.versions(version.voucher.id));
  const VoucherVersion* const refused = find_refused(versions, version.version);
  return refused == nullptr ? absl::OkStatus() : absl::CancelledError(refused->reason);
}

absl::Status VoucherBook::forget_copies(VoucherId voucher) const {
  return options_.forget_copies ? options_.forget_copies(voucher) : absl::OkStatus();
}

/// Records that the version is refused. Of a voucher on several lanes, only the first may do that: the others
/// have it already, or will.
absl::Status VoucherBook::refuse(const VoucherVersion& version, const std::string& reason) const {
  if (!is_decided_here(stores_, version.voucher)) {
    return absl::FailedPreconditionError(
        concat(reason, " (on the lane ", stores_.orders.lane(), ")"));
  }
  const absl::Status resolved = stores_.vouchers.resolve(version.voucher.id, version.version,
                                                         VoucherVersion::State::kRefused, reason);
  return resolved.ok() ? absl::FailedPreconditionError(reason) : resolved;
}

// ---- Rebuilding ----

absl::Status VoucherBook::rebuild(VoucherId voucher) {
  const VoucherChange change(changing_);  // purchases come here: they do not wait
  if (!change.is_ours()) return absl::AbortedError(voucher_name(voucher) + " is being rebuilt");
  RETURN_IF_ERROR(find_in_force(voucher).status());
  RETURN_IF_ERROR(rebuilder_.rebuild(voucher));
  return follow(voucher);
}

/// Returns the version in force. A first one may be pending, if its process ended after it had put it
/// in force in the keyspace: puts it in force in the database, too. kNotFound: there is none.
absl::StatusOr<VoucherVersion> VoucherBook::find_in_force(VoucherId voucher) {
  auto in_force = stores_.vouchers.applied(voucher);
  if (in_force.ok() && !in_force->has_value()) {
    RETURN_IF_ERROR(finish_latest(voucher).status());
    in_force = stores_.vouchers.applied(voucher);
  }
  if (!in_force.ok()) return in_force.status();
  if (!in_force->has_value()) return not_on_sale(voucher);
  // The orders of all lanes would count as those of the only one.
  const int lanes = (*in_force)->voucher.lanes;
  if (lanes > 1 && stores_.orders.lanes() != nullptr) {
    return absl::UnavailableError(concat(voucher_name(voucher), " is on ", lanes,
                                         " lanes, and this process has opened the sale with one: "
                                         "open it again"));
  }
  return **std::move(in_force);
}

absl::Status VoucherBook::rebuild_holds(VoucherId voucher) {
  LostOrders none;
  return restore(voucher, none);
}

absl::Status VoucherBook::restore(VoucherId voucher, LostOrders& orders) {
  const VoucherChange change(changing_);
  if (!change.is_ours()) return being_rebuilt(voucher);
  RETURN_IF_ERROR(find_in_force(voucher).status());
  RETURN_IF_ERROR(rebuilder_.rebuild_whole(voucher, &orders));
  return follow(voucher);
}

}  // namespace rushgate
