// A process of a simulated shop.
#pragma once

#include <map>
#include <memory>

#include "tests/simulation/planted_bugs.h"
#include "tests/simulation/simulated_shop.h"
#include <rushgate/order_worker.h>
#include <rushgate/sale.h>
#include <rushgate/testing_stores.h>

namespace rushgate::testing {

/// Sells, and has a worker for each lane. Its network and its database fail as the shop says.
struct SimulatedShop::Process {
  Process(SimulatedShop& shop, int its_number)
      : number(its_number),
        connections(shop.cluster_.connect()),
        with_bug(testing::with_bug(*connections, shop.options_.bug)),
        backend(
            *with_bug,
            [this, &shop](const Request& request) { return shop.choose_fault(*this, request); },
            [this, &shop](const Request& /*request*/) { shop.pass_point(*this); }),
        orders(*shop.database_) {
    orders.at_every_point(
        [this, &shop](faults::FaultyOrderStore::Point /*point*/) { shop.pass_point(*this); });
  }

  void set_database(const absl::Status& status) {
    orders.fail_writes(status);
    orders.fail_reads(status);
    orders.fail_voucher_writes(status);
  }

  int number;
  std::unique_ptr<Backend> connections;
  std::unique_ptr<Backend> with_bug;
  faults::FaultyBackend backend;
  faults::FaultyOrderStore orders;
  std::unique_ptr<Sale> sale = {};
  std::map<int, std::unique_ptr<OrderWorker>> workers = {};  // by lane
  bool is_dying = false;  // it does nothing more, and ends after the step
  bool is_in_transaction = false;
};

}  // namespace rushgate::testing
