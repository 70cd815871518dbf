// The users that wait for a piece of a sold-out voucher.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/purchase.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Adds a user. `order` will be its order. Empty if the keyspace lacks the voucher, wholly or in part:
/// rebuild it, and call again. kUnknownVoucher too may mean that. An error is in doubt (failure.h) if the user
/// may be waiting.
absl::StatusOr<WaitResult> join_waiting_list(Client& client, const SaleKeys& keys,
                                             VoucherId voucher, const UserId& user, OrderId order);

/// Removes a user. Returns false if the user did not wait.
absl::StatusOr<bool> leave_waiting_list(Client& client, const SaleKeys& keys, VoucherId voucher,
                                        const UserId& user);

/// Removes users, in bounded portions.
absl::Status leave_waiting_list(Client& client, const SaleKeys& keys, VoucherId voucher,
                                std::span<const UserId> users);

/// Sells free pieces to waiting users, up to 256 of them. Returns false if that may not be all: then
/// nobody else may buy until a further call has served the rest.
absl::StatusOr<bool> serve_waiting_portion(Client& client, const SaleKeys& keys, VoucherId voucher);
/// Does so until all of them are served.
absl::Status serve_waiting_list(Client& client, const SaleKeys& keys, VoucherId voucher);

/// A waiting list at one moment.
struct WaitingListLook {
  std::int64_t users = 0;
  bool could_be_served = false;  // a user waits, and a piece could be sold
  std::int64_t version = 0;      // of the voucher in force; 0: it is closed or lost
};
absl::StatusOr<WaitingListLook> look_at_waiting_list(Client& client, const SaleKeys& keys,
                                                     VoucherId voucher);

/// Reads a page of a waiting list, as read_waiting_users() (waiting_users.h).
using ReadWaitingUsers = absl::FunctionRef<absl::StatusOr<std::vector<WaitingUser>>(
    std::int64_t after, std::size_t count_max)>;
/// Returns the users on all pages, in their order.
absl::StatusOr<std::vector<UserId>> read_waiting_list(ReadWaitingUsers read_page);
/// Returns the users that wait, in the order of their arrival, read in bounded portions.
absl::StatusOr<std::vector<UserId>> read_waiting_list(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher);
/// Returns the users that have an order ready, by that order, read in bounded portions. An order that
/// is no number is left out: the database would refuse it.
absl::StatusOr<absl::flat_hash_map<OrderId, UserId>> read_waiting_orders(Client& client,
                                                                         const SaleKeys& keys,
                                                                         VoucherId voucher);

}  // namespace rushgate
