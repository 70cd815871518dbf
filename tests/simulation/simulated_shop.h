// A sale with lanes on a simulated cluster: sellers and workers in several processes, which end at any moment,
// a network that loses and doubles requests, masters that lose what they had, and a database that fails.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include <rushgate/memory_order_store.h>
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/simulated_cluster.h>
#include <rushgate/testing_stores.h>

namespace rushgate::testing {

struct ShopOptions {
  int masters = 3;
  int lanes = 4;
  int vouchers = 4;
  bool masters_lose = true;  // false: a master comes back with everything
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

  void publish_all();
  bool open(Process& process);
  [[nodiscard]] faults::FaultyBackend::Fault choose_fault(const Request& request);
  void interrupt(int waiting);
  Process& choose_process();
  void buy();
  void pay_or_cancel();
  void pay(Process& process, OrderId order, const BuyRequest& request);
  void work();
  void end_process();
  void fail_database();
  void disturb_master();
  void replicate();
  void move_lane();
  void advance();
  void mend();
  void store_all(Process& process);
  void sell_out(Process& process, VoucherId voucher);
  void check_orders(Process& process);
  void check_voucher(Process& process, VoucherId voucher);
  void say(const std::string& event);
  void blame(const std::string& fault);

  const ShopOptions options_;
  Random random_;
  SimulatedCluster cluster_;
  MemoryOrderStore orders_;
  std::array<std::unique_ptr<Process>, 2> processes_;
  bool is_disturbed_ = false;        // false: no faults, and nobody acts while another one waits
  std::optional<int> waiting_ = {};  // the process that waits while others act
  bool has_lost_ = false;            // a master came back with less
  std::int64_t next_user_ = 1'000'000;
  std::map<VoucherId, Voucher> vouchers_;
  std::map<OrderId, BuyRequest> accepted_;
  std::string story_;
  std::string faults_;
};

}  // namespace rushgate::testing
