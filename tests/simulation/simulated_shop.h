// A sale with lanes on a simulated cluster, some of whose vouchers are on several: sellers and workers in several
// processes, which end at any moment, a network that loses, delays and doubles requests, masters that lose
// what they had, and a database that fails. In about half of the sales, vouchers have further terms, users wait
// for pieces, and sales are closed and archived.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/planted_bugs.h"
#include "tests/simulation/promises.h"
#include "tests/simulation/waiting_users.h"
#include "tests/support/random.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/simulated_cluster.h>
#include <rushgate/testing_stores.h>

namespace rushgate::testing {

struct ShopOptions {
  int masters = 3;
  int lanes = 3;
  int vouchers = 3;
  bool masters_lose = true;  // false: a master comes back with everything
  PlantedBug bug = PlantedBug::kNone;
};

/// One run of a schedule. Not thread-safe.
class SimulatedShop {
 public:
  SimulatedShop(std::uint64_t seed, const ShopOptions& options);
  ~SimulatedShop();

  /// Does something at random.
  void step();
  /// Mends everything, sells what is left, and stores it. Returns what is wrong: a line for each fault.
  std::string end();

  /// Returns what happened, a line for each event.
  [[nodiscard]] const std::string& story() const { return story_; }

 private:
  /// A process that sells, and has a worker for each lane.
  struct Process;
  /// The free pieces of a voucher when a user was told that it is sold out. Nobody has bought it since.
  struct LeftPieces {
    std::int64_t since_ms = 0;
    std::int64_t pieces = 0;
  };
  /// A request that the network still has.
  struct LateRequest {
    Request request;
    int master = 0;
  };

  void publish_all();
  bool open(Process& process);
  void replace(std::unique_ptr<Process>& process);
  [[nodiscard]] faults::FaultyBackend::Fault choose_fault(Process& process, const Request& request);
  void note_lane_that_gives(const Request& request);
  void pass_point(Process& process);
  void interrupt(const Process& waiting);
  void lose_lane_at_work();
  Process& choose_process();
  template <class Act>
  auto seek(VoucherId voucher, Act act);
  void buy();
  void buy(Process& process, VoucherId voucher);
  void buy(Process& process, const BuyRequest& request);
  void note_result(const BuyRequest& request, const BuyResult& result,
                   const Promises::Losses& losses);
  std::string issue_token(Process& process, const BuyRequest& request);
  void wait(Process& process, VoucherId voucher, const UserId& user);
  void visit_waiting_list();
  void change_order();
  void pay(Process& process, OrderId order);
  void add_stock();
  void end_sale();
  void work();
  void work(Process& process, int lane);
  void end_process();
  void end_dying();
  void repair_some();
  void fail_database();
  void set_database(bool is_up);
  void disturb_master(int master);
  void start_master(int master, Comeback comeback);
  void replicate(int master);
  void move_lane();
  void deliver_late();
  void note_late_call(const Request& request);
  void advance();
  void advance_ms(std::int64_t duration_ms);
  void mend();
  void store_all(Process& process);
  void sell_rest(Process& process, const std::vector<VoucherId>& vouchers);
  void repeat_refunds(Process& process);
  void sell_out(Process& process, VoucherId voucher);
  void check_sold_out(const BuyRequest& request, std::int64_t began_ms);
  void check_waiting(Process& process, VoucherId voucher);
  void give_piece_back(Process& process, VoucherId voucher);
  void check_voucher(Process& process, VoucherId voucher);
  void check_limits(const Voucher& voucher);
  void check_pieces(VoucherId voucher);
  void archive(Process& process, VoucherId voucher);
  void check_archived(Process& process, VoucherId voucher);
  void check_archived_orders(VoucherId voucher);
  void confirm_refunds(Process& process);
  void check_letters(Process& process);
  void say(const std::string& event);
  void blame(const std::string& fault);

  /// Returns true if pieces were taken out of a lane, and are to be recorded.
  [[nodiscard]] bool is_moving() const { return sought_ && lane_at_work_; }
  [[nodiscard]] int random_master();
  [[nodiscard]] int master_of_lane(int lane) const;
  [[nodiscard]] std::vector<int> lanes_of_master(int master) const;
  [[nodiscard]] std::vector<int> lanes_of(VoucherId voucher) const;
  [[nodiscard]] static std::int64_t number_at(const Reply& reply);
  [[nodiscard]] std::int64_t count_free(VoucherId voucher);
  [[nodiscard]] bool is_over(VoucherId voucher);
  [[nodiscard]] bool is_archived(VoucherId voucher);
  [[nodiscard]] bool has_list(VoucherId voucher) const;
  [[nodiscard]] std::vector<LaneList> read_lists(VoucherId voucher);
  [[nodiscard]] std::vector<Order> orders_of(VoucherId voucher);

  const ShopOptions options_;
  Random random_;
  const bool has_terms_;  // limits, waiting lists, tokens; and vouchers are archived
  const std::int32_t utc_offset_minutes_;  // of the days of the limits
  SimulatedCluster cluster_;
  const std::unique_ptr<Backend> network_;  // without processes: for late requests and for looks
  const std::unique_ptr<Client> observer_;
  MemoryOrderStore orders_;
  const std::unique_ptr<OrderStore> database_;  // has the planted bug
  std::array<std::unique_ptr<Process>, 2> processes_;
  bool is_disturbed_ = false;         // false: no faults, and nobody acts while another one waits
  bool is_advancing_ = false;         // timers run
  const Process* waiting_ = nullptr;  // the process that waits while others act
  std::optional<VoucherId> sought_ = {};  // the voucher that somebody wants or changes now
  std::optional<int> lane_at_work_ = {};  // of the worker that works now, or that gives pieces
  bool is_database_up_ = true;
  std::vector<std::int64_t> down_since_ms_;  // of each master
  std::vector<LateRequest> late_;
  std::int64_t next_user_ = 1'000'000;
  std::map<VoucherId, Voucher> vouchers_;
  Promises promises_;
  WaitingUsers waiting_users_;
  std::map<VoucherId, LeftPieces> left_;
  std::string story_;
  std::string faults_;
};

}  // namespace rushgate::testing
