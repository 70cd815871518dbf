// Runs a rush against a sale and detects overselling, doubled orders and lost orders.
#pragma once

#include <cstddef>
#include <cstdint>

#include "adapters/testing/rush.h"
#include "adapters/testing/rush_report.h"
#include "adapters/testing/sale_under_test.h"
#include "adapters/testing/test_engine.h"
#include <rushgate/client.h>

namespace rushgate::testing {

/// Events of a rush other than requests. All random choices use the rush's seed.
struct RushConditions {
  /// The maximum of concurrent requests that are sent as one pipeline, in any order.
  std::size_t group_max = 8;
  /// The longest pause between a reply and the next command of the same request.
  std::int64_t pause_ms_max = 3;

  /// The number of crashes. One happens during a commit (its writes may survive or not) or between
  /// two requests. The rush continues with the reopened sale. Open requests lose their replies.
  /// Crashes come at commits, so a sale with few commits may have fewer.
  std::size_t crashes = 0;
  /// Repeats requests without a reply once, under the same RushRequest::number.
  bool ask_again = false;

  /// The time to advance after the last reply, before the orders are read.
  std::int64_t drain_ms = 0;
  /// False: the sale has own reasons to refuse, such as a limit per day.
  bool find_withheld = true;
  /// On a port: false if the server's clock cannot be moved, as on a redis-server. Requests then
  /// follow each other without pauses.
  bool move_clock = true;
};

/// Runs a rush on the test's engine. A second rush on the same engine needs a sale that ignores the
/// orders of the first. Throws std::invalid_argument if `rush` or `conditions` are invalid, or the
/// sale has no SaleUnderTest::buy.
RushReport run_rush(TestEngine& engine, const SaleUnderTest& sale, const RushOptions& rush = {},
                    const RushConditions& conditions = {});

/// Runs a rush over a port: `rushgate serve --manual-clock`, whose clock RUSHGATE.ADVANCE moves, or
/// a RespServer on an engine in manual mode. Crashes are impossible (std::invalid_argument if
/// requested). Equal options give the same report as on the test's engine.
RushReport run_rush(Client& port, const SaleUnderTest& sale, const RushOptions& rush = {},
                    const RushConditions& conditions = {});

}  // namespace rushgate::testing
