#include "engine/sale/audit/waiting_audit.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/status_macros.h"
#include "engine/core/client/hash_scan.h"
#include "engine/core/client/reply_status.h"
#include "engine/sale/holds/waiting_list.h"

namespace rushgate {
namespace {

/// Audits the list of one voucher.
class WaitingAuditor {
 public:
  WaitingAuditor(Client& client, OrderStore& orders, const SaleKeys& keys,
                 const VoucherVersion& version, AuditReport& report)
      : client_(client),
        orders_(orders),
        keys_(keys),
        version_(version),
        id_(version.voucher.id),
        report_(report) {}

  absl::Status run() {
    absl::Status checked = check_service();
    if (checked.ok()) checked = read_lists();
    for (auto user = waiting_.begin(); user != waiting_.end() && checked.ok(); ++user) {
      checked = check_user(user->first, user->second);
    }
    return checked;
  }

 private:
  /// The users as the two keys have them.
  struct Waiting {
    bool is_listed = false;
    std::string order = {};
  };

  void problem(const std::string& description) {
    report_.problems.push_back(concat("voucher ", id_, ": ", description));
  }

  /// Looks several times: a list that another process serves becomes shorter meanwhile.
  absl::Status check_service() {
    constexpr int kLooks = 5;
    std::int64_t users = 0;
    for (int look = 1; look <= kLooks; ++look) {
      ASSIGN_OR_RETURN(const auto list, look_at_waiting_list(client_, keys_, id_));
      // A version in force that is not recorded as applied is being published.
      if (!list.could_be_served || list.version != version_.version) return absl::OkStatus();
      if (look == 1) users = list.users;
      if (list.users < users) look = 1;
      users = list.users;
    }
    problem(concat(users, " users wait, and pieces are free"));
    return absl::OkStatus();
  }

  absl::Status read_lists() {
    constexpr int kUsersPerScan = 1'000;
    ASSIGN_OR_RETURN(const auto users, read_waiting_list(client_, keys_, id_));
    for (const UserId& user : users) waiting_[user.text()].is_listed = true;
    return for_each_field(client_, keys_.waiting_orders(id_), kUsersPerScan,
                          "reading the orders of a waiting list",
                          [&](std::string_view user, std::string_view order) {
                            waiting_[std::string(user)].order = order;
                          });
  }

  absl::Status check_user(const std::string& user, const Waiting& read) {
    const auto order = parse_int64(read.order);
    if (read.is_listed && order) {
      ASSIGN_OR_RETURN(const auto stored, orders_.find(*order));
      if (!stored.has_value()) return absl::OkStatus();
    }
    // The user may have been served, or may have left. A user that waits has both entries.
    ASSIGN_OR_RETURN(const auto before, is_listed(user));
    const Reply now = client_("HGET", keys_.waiting_orders(id_), user);
    if (!now.is_nil() && !now.is_text()) return to_status(now, "looking for a waiting user");
    ASSIGN_OR_RETURN(const auto after, is_listed(user));
    const std::string its_order(now.is_nil() ? "" : now.text());
    if (before != after || its_order != read.order) return absl::OkStatus();
    if (after != !its_order.empty()) {
      problem(after ? concat("user ", user, " waits without an order")
                    : concat("user ", user, " is not on the waiting list, but has order ",
                             its_order, " ready"));
    } else if (after) {
      problem(concat("user ", user, " waits with order \"", its_order,
                     order ? "\", which is stored" : "\", which is no number"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> is_listed(const std::string& user) {
    const Reply score = client_("ZSCORE", keys_.waiting(id_), user);
    if (score.is_error()) return to_status(score, "looking for a waiting user");
    return !score.is_nil();
  }

  Client& client_;
  OrderStore& orders_;
  const SaleKeys& keys_;
  const VoucherVersion& version_;
  const VoucherId id_;
  AuditReport& report_;
  absl::btree_map<std::string, Waiting> waiting_;  // by user
};

}  // namespace

absl::Status audit_waiting_lists(Client& client, const SaleStores& stores, const SaleKeys& keys,
                                 AuditReport& report) {
  ASSIGN_OR_RETURN(const auto vouchers, stores.vouchers.all_applied());
  for (const VoucherVersion& version : vouchers) {
    if (version.voucher.waiting_max == 0) continue;
    WaitingAuditor auditor(client, stores.orders, keys, version, report);
    RETURN_IF_ERROR(auditor.run());
  }
  return absl::OkStatus();
}

}  // namespace rushgate
