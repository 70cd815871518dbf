// The users that wait for pieces of a simulated sale, and what they were told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/promises.h"
#include "tests/support/random.h"
#include <rushgate/order_store.h>
#include <rushgate/sale.h>

namespace rushgate::testing {

/// The waiting list of a lane, as its keyspace has it: users in the order of their arrival, and the orders that
/// they will get.
struct LaneList {
  int lane = 0;
  std::vector<std::pair<UserId, OrderId>> users = {};
};

using UserOfVoucher = std::pair<VoucherId, std::string>;

/// Remembers who waits since when. Blames the sale for users that are forgotten, or overtaken. Not thread-safe.
class WaitingUsers {
 public:
  /// A user who was told to wait.
  struct Place {
    VoucherId voucher = 0;
    UserId user = {};
    OrderId order = 0;
    int losses = 0;           // of the lane, before the user came
    std::int64_t began = 0;   // the number of the first call that may have got the place
    std::int64_t joined = 0;  // of the next one: the user has the place since then
  };

  /// `orders` is the database, without faults. Both must outlive this.
  WaitingUsers(Promises& promises, OrderStore& orders, Promises::Blame blame);

  /// Lets a user wait, or repeats that. Returns the result.
  WaitResult wait(Sale& sale, VoucherId voucher, const UserId& user);
  /// Notes a call that may have let a user leave, or come back.
  void note_leave_call(const UserOfVoucher& user);
  /// Lets somebody leave. Returns who it was; nobody if nobody waits.
  std::optional<Place> leave(Sale& sale, Random& random);
  /// Notes whether a user has been served. Returns who it was, and whether.
  std::optional<std::pair<Place, bool>> look(Sale& sale, Random& random);

  /// Checks that each user who waits has kept the place, has got the order, or may not buy any more.
  void check_kept(Sale& sale, const Voucher& voucher, const std::vector<LaneList>& lists);
  /// Checks what pieces that came back have changed in the lists: on each lane, those who came first are served.
  void check_served(Sale& sale, const Voucher& voucher, const std::vector<LaneList>& before,
                    const std::vector<LaneList>& after);
  /// Checks that no user who has left has got the order. Requires that all is stored.
  void check_left() const;
  /// Checks that nobody was served before somebody who came earlier on the same lane. Requires that all is stored.
  void check_sequence() const;

 private:
  struct LeftPlace {
    Place place;
    std::int64_t call = 0;  // the number of the call by which the user left
  };

  bool note_if_served(Sale& sale, const Place& place);
  [[nodiscard]] bool may_buy_no_more(const Place& place, const Limits& limits) const;
  [[nodiscard]] bool may_have_left(const Place& place, std::int64_t since) const;
  [[nodiscard]] Place last_place_of(const UserOfVoucher& user) const;
  [[nodiscard]] bool has_lost(const Place& place) const;

  Promises& promises_;
  OrderStore& orders_;
  const Promises::Blame blame_;
  std::int64_t calls_ = 0;
  std::vector<Place> places_;
  std::map<UserOfVoucher, std::int64_t> doubtful_;  // the first such call of a user
  std::map<UserOfVoucher, std::int64_t>
      leave_calls_;  // the last call that may have let a user leave, or come back
  std::vector<LeftPlace> left_;
};

}  // namespace rushgate::testing
