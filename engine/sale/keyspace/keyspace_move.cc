#include "engine/sale/keyspace/keyspace_move.h"

#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/scripts/move_clear.lua.h"
#include "engine/sale/scripts/move_copy_letters.lua.h"
#include "engine/sale/scripts/move_copy_waiting.lua.h"
#include "engine/sale/scripts/move_finish.lua.h"
#include "engine/sale/scripts/move_leave.lua.h"
#include "engine/sale/scripts/move_note_copied.lua.h"
#include "engine/sale/scripts/move_open.lua.h"
#include "engine/sale/scripts/move_shut.lua.h"
#include "engine/sale/scripts/waiting_users.h"
#include "engine/sale/stream/stream_entries.h"

namespace rushgate {
namespace {

using Standing = KeyspaceStanding::Kind;

constexpr std::string_view kLeavingMark = "leaving:";
constexpr std::string_view kLeftMark = "left:";
constexpr std::string_view kArrivingMark = "arriving:";

// Buyers wait while a script runs.
constexpr std::size_t kCopiedPerCall = 500;

std::string left_mark(std::string_view identity) { return concat(kLeftMark, identity); }

/// The scripts of a move run seldom: each call makes its own.
Reply run_move(Client& client, std::string_view text, std::span<const std::string> keys,
               std::span<const std::string> arguments) {
  const std::vector<std::string_view> names(keys.begin(), keys.end());
  const std::vector<std::string_view> values(arguments.begin(), arguments.end());
  return client.run(Script(std::string(text)), names, values);
}

/// Returns OK for the reply 1.
absl::Status read_done(const Reply& reply, const SaleKeys& keys) {
  if (reply == Reply::integer(1)) return absl::OkStatus();
  if (!reply.is_integer()) return to_status(reply, "moving the sale");
  return absl::FailedPreconditionError(
      concat("another move changed ", keys.stream_owner(), " meanwhile: call again"));
}

Standing kind_of(std::string_view mark, std::string_view identity) {
  if (mark == identity) return Standing::kSale;
  if (mark == mark_of(KeyspaceRole::kLeaving, identity)) return Standing::kLeaving;
  if (mark == mark_of(KeyspaceRole::kArriving, identity)) return Standing::kArriving;
  return mark == left_mark(identity) ? Standing::kLeft : Standing::kAnothers;
}

}  // namespace

std::string mark_of(KeyspaceRole role, std::string_view identity) {
  switch (role) {
    case KeyspaceRole::kSale:
      return std::string(identity);
    case KeyspaceRole::kLeaving:
      return concat(kLeavingMark, identity);
    case KeyspaceRole::kArriving:
      return concat(kArrivingMark, identity);
  }
  return {};
}

absl::StatusOr<KeyspaceStanding> read_standing(Client& client, const SaleKeys& keys,
                                               std::string_view identity) {
  const Reply fields = client("HMGET", keys.stream_owner(), "identity", "moved_to", "copied");
  if (!fields.is_aggregate() || fields.elements().size() != 3) {
    return to_status(fields, "looking whose keyspace it is");
  }
  const auto& parts = fields.elements();
  KeyspaceStanding standing;
  if (parts[0].is_text()) standing.kind = kind_of(parts[0].text(), identity);
  if (parts[1].is_text()) standing.moved_to = parts[1].text();
  standing.has_copies = parts[2].is_text();
  return standing;
}

absl::Status refuse_standing(const KeyspaceStanding& standing, const SaleKeys& keys) {
  switch (standing.kind) {
    case Standing::kLeaving:
      return absl::UnavailableError(concat("the sale is being moved to ", standing.moved_to));
    case Standing::kArriving:
      return absl::UnavailableError("the sale is being moved to this keyspace");
    case Standing::kLeft:
      return absl::FailedPreconditionError(concat("the sale was moved to ", standing.moved_to));
    case Standing::kEmpty:
    case Standing::kSale:
    case Standing::kAnothers:
      break;
  }
  return absl::FailedPreconditionError(concat("the keyspace belongs to another order database (",
                                              keys.stream_owner(), ", ", keys.prefix_owner(),
                                              "): a sale needs keys of its own, or that database"));
}

// ---- The keyspace to leave ----------------------------------------------------------------------

absl::Status KeyspaceMove::begin_leaving(std::string_view to) {
  const std::string names[] = {keys_.stream_owner(), keys_.prefix_owner()};
  const std::string arguments[] = {identity_, mark_of(KeyspaceRole::kLeaving, identity_),
                                   std::string(to)};
  return read_done(run_move(client_, lua::kMoveLeave, names, arguments), keys_);
}

absl::Status KeyspaceMove::shut(std::span<const VoucherId> vouchers) {
  for (const VoucherId voucher : vouchers) {
    const std::string names[] = {keys_.stream_owner(), keys_.voucher(voucher), keys_.held()};
    const std::string arguments[] = {mark_of(KeyspaceRole::kLeaving, identity_),
                                     std::to_string(voucher)};
    RETURN_IF_ERROR(read_done(run_move(client_, lua::kMoveShut, names, arguments), keys_));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> KeyspaceMove::finish_leaving(std::string_view to) {
  const std::string names[] = {keys_.stream_owner(), keys_.prefix_owner(), keys_.order_stream};
  const std::string arguments[] = {mark_of(KeyspaceRole::kLeaving, identity_), left_mark(identity_),
                                   keys_.group, std::string(to)};
  const Reply finished = run_move(client_, lua::kMoveFinish, names, arguments);
  if (finished == Reply::integer(lua::move_finish::kNotDrained)) return false;
  RETURN_IF_ERROR(read_done(finished, keys_));
  return true;
}

// ---- The keyspace to arrive in ------------------------------------------------------------------

absl::Status KeyspaceMove::clear(std::span<const VoucherId> vouchers) {
  const std::string owner = keys_.stream_owner();
  const std::string arguments[] = {left_mark(identity_)};
  const auto remove = [&](std::vector<std::string> names) {
    names.insert(names.begin(), owner);
    return read_done(run_move(client_, lua::kMoveClear, names, arguments), keys_);
  };
  for (const VoucherId voucher : vouchers) {
    RETURN_IF_ERROR(remove({keys_.voucher(voucher), keys_.stock(voucher), keys_.buyers(voucher),
                            keys_.days(voucher), keys_.refunds(voucher), keys_.waiting(voucher),
                            keys_.waiting_orders(voucher)}));
  }
  RETURN_IF_ERROR(
      remove({keys_.order_stream, keys_.dead_letters(), keys_.dead_letter_orders(),
              keys_.discarded_letters(), keys_.faults(), keys_.applied_versions(), keys_.held(),
              keys_.deadlines(), keys_.payments(), keys_.stored_payments(), keys_.lost_requests(),
              keys_.vouchers(), keys_.prefix_owner()}));
  return remove({owner});  // the last: an interrupted call is repeated
}

absl::StatusOr<std::size_t> KeyspaceMove::copy_letters_from(Client& from,
                                                            const SaleKeys& from_keys) {
  ASSIGN_OR_RETURN(const auto dead,
                   copy_stream(from, from_keys.dead_letters(), keys_.dead_letters()));
  ASSIGN_OR_RETURN(const auto discarded,
                   copy_stream(from, from_keys.discarded_letters(), keys_.discarded_letters()));
  return dead + discarded;
}

absl::StatusOr<std::size_t> KeyspaceMove::copy_stream(Client& from, const std::string& its_stream,
                                                      const std::string& stream) {
  const std::string names[] = {keys_.stream_owner(), stream};
  const std::string mark = mark_of(KeyspaceRole::kArriving, identity_);
  std::vector<std::string> arguments = {mark};
  const auto send = [&]() -> absl::Status {
    if (arguments.size() == 1) return absl::OkStatus();
    const Reply copied = run_move(client_, lua::kMoveCopyLetters, names, arguments);
    arguments = {mark};
    return read_done(copied, keys_);
  };
  std::size_t count = 0;
  absl::Status sent;
  const absl::Status read = for_each_entry(
      from, its_stream, StreamId::min(), StreamId::max(), [&](const OrderEntry& letter) {
        arguments.push_back(letter.id);
        arguments.push_back(std::to_string(2 * letter.fields.size()));
        for (const auto& [name, value] : letter.fields) {
          arguments.push_back(name);
          arguments.push_back(value);
        }
        if (++count % kCopiedPerCall == 0) sent = send();
        return sent.ok();
      });
  RETURN_IF_ERROR(read);
  RETURN_IF_ERROR(sent);
  RETURN_IF_ERROR(send());
  return count;
}

absl::StatusOr<std::size_t> KeyspaceMove::copy_waiting_lists_from(
    Client& from, const SaleKeys& from_keys, std::span<const VoucherId> vouchers) {
  std::size_t count = 0;
  for (const VoucherId voucher : vouchers) {
    const std::string waiting = keys_.waiting(voucher);
    const std::string orders = keys_.waiting_orders(voucher);
    std::int64_t after = 0;
    while (true) {
      ASSIGN_OR_RETURN(const auto users,
                       read_waiting_users(from, from_keys, voucher, after, kCopiedPerCall));
      if (users.empty()) break;
      after = users.back().arrival;
      Request look = Request::of("HMGET", from_keys.waiting_orders(voucher));
      for (const WaitingUser& waits : users) look.add(waits.user.text());
      const Reply their_orders = from.call(std::move(look));
      const bool is_complete =
          their_orders.is_aggregate() && their_orders.elements().size() == users.size();
      if (!is_complete) return to_status(their_orders, "reading a waiting list");
      std::vector<std::string> arguments = {mark_of(KeyspaceRole::kArriving, identity_)};
      for (std::size_t i = 0; i < users.size(); ++i) {
        const Reply& order = their_orders.elements()[i];
        if (!order.is_text()) continue;  // nobody can serve this user
        arguments.push_back(std::to_string(users[i].arrival));
        arguments.push_back(users[i].user.text());
        arguments.emplace_back(order.text());
        ++count;
      }
      const std::string names[] = {keys_.stream_owner(), waiting, orders};
      RETURN_IF_ERROR(read_done(run_move(client_, lua::kMoveCopyWaiting, names, arguments), keys_));
    }
  }
  return count;
}

absl::Status KeyspaceMove::note_copied() {
  const std::string names[] = {keys_.stream_owner()};
  const std::string arguments[] = {mark_of(KeyspaceRole::kArriving, identity_)};
  return read_done(run_move(client_, lua::kMoveNoteCopied, names, arguments), keys_);
}

absl::Status KeyspaceMove::open() {
  const std::string names[] = {keys_.stream_owner(), keys_.prefix_owner()};
  const std::string arguments[] = {mark_of(KeyspaceRole::kArriving, identity_), identity_};
  return read_done(run_move(client_, lua::kMoveOpen, names, arguments), keys_);
}

}  // namespace rushgate
