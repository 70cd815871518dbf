#include "engine/sale/holds/waiting_list.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/hash_scan.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/model/failure.h"
#include "engine/sale/scripts/payment_scripts.h"
#include "engine/sale/scripts/waiting_users.h"

namespace rushgate {
namespace {

std::optional<WaitOutcome> outcome_of(std::int64_t code) {
  switch (code) {
    case payment_scripts::kJoined:
    case payment_scripts::kWaitsAlready:
      return WaitOutcome::kWaiting;
    case payment_scripts::kListFull:
      return WaitOutcome::kFull;
    case payment_scripts::kNoList:
      return WaitOutcome::kNoWaitingList;
    case payment_scripts::kNotOnSale:
      return WaitOutcome::kNotOnSale;
    case payment_scripts::kMayNotBuy:
      return WaitOutcome::kLimitReached;
    case payment_scripts::kListClosed:
      return WaitOutcome::kOverloaded;
    case payment_scripts::kNoSuchVoucher:
      return WaitOutcome::kUnknownVoucher;
    case payment_scripts::kIsFree:
      return WaitOutcome::kFree;
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<WaitResult> join_waiting_list(Client& client, const SaleKeys& keys,
                                             VoucherId voucher, const UserId& user, OrderId order) {
  constexpr std::size_t kParts = 3;
  const lua::VoucherKeys names = payment_scripts::keys_of(keys, voucher);
  const auto views = names.in_order();
  const DecimalText voucher_text(voucher);
  const std::string user_text = user.text();
  const DecimalText order_text(order);
  const std::string_view arguments[] = {voucher_text, user_text, order_text};
  const Reply reply = client.run(payment_scripts::wait(), views, arguments);
  const std::string doing = concat("waiting for voucher ", voucher);
  const bool is_list =
      reply.is_aggregate() && !reply.elements().empty() && reply.elements()[0].is_integer();
  if (has_code(reply, error_code::kOutcomeUnknown)) return in_doubt(to_status(reply, doing));
  if (!is_list) return to_status(reply, doing);
  const auto outcome = outcome_of(reply.elements()[0].integer());
  if (!outcome) return to_status(reply, doing);
  WaitResult result{.outcome = *outcome};
  if (*outcome != WaitOutcome::kWaiting) return result;
  if (reply.elements().size() != kParts) return to_status(reply, doing);
  const auto its_order =
      reply.elements()[1].is_text() ? parse_int64(reply.elements()[1].text()) : std::nullopt;
  if (!its_order || !reply.elements()[2].is_integer()) return to_status(reply, doing);
  result.order = *its_order;
  result.place = reply.elements()[2].integer();
  return result;
}

absl::StatusOr<bool> leave_waiting_list(Client& client, const SaleKeys& keys, VoucherId voucher,
                                        const UserId& user) {
  const std::string waiting = keys.waiting(voucher);
  const std::string orders = keys.waiting_orders(voucher);
  const std::string_view names[] = {waiting, orders};
  const std::string user_text = user.text();
  const std::string_view arguments[] = {user_text};
  const Reply reply = client.run(payment_scripts::leave(), names, arguments);
  if (!reply.is_integer()) return to_status(reply, concat("leaving the list of voucher ", voucher));
  return reply.integer() == 1;
}

absl::Status leave_waiting_list(Client& client, const SaleKeys& keys, VoucherId voucher,
                                std::span<const UserId> users) {
  constexpr std::size_t kPortion = 1'000;
  const std::string waiting = keys.waiting(voucher);
  const std::string orders = keys.waiting_orders(voucher);
  const std::string_view names[] = {waiting, orders};
  while (!users.empty()) {
    std::vector<Request> requests;
    for (const UserId& user : users.first(std::min(users.size(), kPortion))) {
      const std::string user_text = user.text();
      const std::string_view arguments[] = {user_text};
      requests.push_back(client.script_request(payment_scripts::leave(), names, arguments));
    }
    for (const Reply& reply : client.run_all(payment_scripts::leave(), requests)) {
      if (reply.is_integer()) continue;
      return to_status(reply, concat("removing users from the list of voucher ", voucher));
    }
    users = users.subspan(requests.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> serve_waiting_portion(Client& client, const SaleKeys& keys,
                                           VoucherId voucher) {
  constexpr std::int64_t kPortion = 256;
  const lua::VoucherKeys names = payment_scripts::keys_of(keys, voucher);
  const auto views = names.in_order();
  const DecimalText voucher_text(voucher);
  const DecimalText portion(kPortion);
  const std::string_view arguments[] = {voucher_text, portion};
  const Reply served = client.run(payment_scripts::serve_waiting(), views, arguments);
  if (!served.is_integer()) {
    return to_status(served, concat("serving the waiting users of voucher ", voucher));
  }
  return served.integer() < kPortion;
}

absl::Status serve_waiting_list(Client& client, const SaleKeys& keys, VoucherId voucher) {
  while (true) {
    ASSIGN_OR_RETURN(const auto are_all_served, serve_waiting_portion(client, keys, voucher));
    if (are_all_served) return absl::OkStatus();
  }
}

absl::StatusOr<WaitingListLook> look_at_waiting_list(Client& client, const SaleKeys& keys,
                                                     VoucherId voucher) {
  constexpr std::size_t kParts = 3;
  const lua::VoucherKeys names = payment_scripts::keys_of(keys, voucher);
  const auto views = names.in_order();
  const Reply reply = client.run(payment_scripts::look_at_waiting_list(), views, {});
  const bool is_look = reply.is_aggregate() && reply.elements().size() == kParts;
  if (!is_look) return to_status(reply, concat("looking at the list of voucher ", voucher));
  for (const Reply& part : reply.elements()) {
    if (!part.is_integer()) return to_status(part, concat("reading the list of voucher ", voucher));
  }
  return WaitingListLook{.users = reply.elements()[0].integer(),
                         .could_be_served = reply.elements()[1].integer() != 0,
                         .version = reply.elements()[2].integer()};
}

absl::StatusOr<std::vector<UserId>> read_waiting_list(ReadWaitingUsers read_page) {
  constexpr std::size_t kPortion = 1'000;
  std::vector<UserId> users;
  std::int64_t after = 0;
  while (true) {
    ASSIGN_OR_RETURN(auto portion, read_page(after, kPortion));
    for (WaitingUser& waiting : portion) users.push_back(std::move(waiting.user));
    if (portion.size() < kPortion) return users;
    after = portion.back().arrival;
  }
}

absl::StatusOr<std::vector<UserId>> read_waiting_list(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher) {
  return read_waiting_list([&](std::int64_t after, std::size_t count_max) {
    return read_waiting_users(client, keys, voucher, after, count_max);
  });
}

absl::StatusOr<absl::flat_hash_map<OrderId, UserId>> read_waiting_orders(Client& client,
                                                                         const SaleKeys& keys,
                                                                         VoucherId voucher) {
  constexpr int kUsersPerScan = 1'000;
  absl::flat_hash_map<OrderId, UserId> users;
  const auto add = [&](std::string_view user, std::string_view order) {
    if (const auto id = parse_int64(order)) users.emplace(*id, UserId(user));
  };
  RETURN_IF_ERROR(for_each_field(client, keys.waiting_orders(voucher), kUsersPerScan,
                                 "reading the orders of a waiting list", add));
  return users;
}

}  // namespace rushgate
