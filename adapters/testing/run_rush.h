// Runs a rush against a sale and detects faults: oversold, doubled, lost.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/testing/rush.h"
#include "adapters/testing/rush_report.h"
#include "adapters/testing/sale_under_test.h"
#include "adapters/testing/test_engine.h"
#include "engine/client/client.h"

namespace rushgate::testing {

/// The events of a rush other than requests. All random choices use the rush's seed.
struct RushConditions {
  /// Up to so many requests that are due together go to the sale as one pipeline, in any order.
  std::size_t group_max = 8;
  /// Of a sale that takes several commands: how long after a reply the next may follow, at most.
  std::int64_t pause_ms_max = 3;

  /// The number of crashes: during a commit (its writes may survive, or not) or between two
  /// requests. The rush continues with the sale reopened; open requests lose their replies. Crashes
  /// come at commits; a sale with fewer commits than its stock may have fewer.
  std::size_t crashes = 0;
  /// Requests without a reply are repeated once, with the same RushRequest::number.
  bool ask_again = false;

  /// Time by which the clock moves after the last reply, before the orders are read.
  std::int64_t settle_ms = 0;
  /// Off: the sale may refuse for reasons of its own (a limit per day).
  bool find_withheld = true;
  /// On a port: off for a server whose clock cannot be moved, as a redis-server. Requests then
  /// follow one another at once.
  bool move_clock = true;
};

/// On an engine of the test's own. A second rush on the same engine needs a sale that does not find
/// the orders of the first. Throws std::invalid_argument if `rush` or `conditions` make no sense,
/// or the sale has no SaleUnderTest::buy.
RushReport run_rush(TestEngine& engine, const SaleUnderTest& sale, const RushOptions& rush = {},
                    const RushConditions& conditions = {});

/// Over a port: `rushgate serve --manual-clock`, whose clock RUSHGATE.ADVANCE moves, or a
/// RespServer on an engine in manual mode. There are no crashes (std::invalid_argument if there
/// shall be). With the same options it gives the same report as an engine of the test's own.
RushReport run_rush(Client& port, const SaleUnderTest& sale, const RushOptions& rush = {},
                    const RushConditions& conditions = {});

}  // namespace rushgate::testing
