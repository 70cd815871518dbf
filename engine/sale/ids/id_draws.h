// Draws the counters that order ids are made of: one draw at a time, off the buyers' threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"
#include "engine/time/clock.h"

namespace rushgate {

/// Counters of one day that nothing else in the world was given.
struct IdRange {
  std::int64_t next = 0;
  std::int64_t end = 0;          // the first counter after the range
  std::int64_t seconds_min = 0;  // since 1970: no id of the range may be of an earlier second
};

/// Keeps ranges of counters ahead of need. Thread-safe. A draw that is under way keeps the object
/// alive, but uses the client and the order store only until close().
///
/// A draw is INCRBY alone, so no two processes are ever given the same counter, whatever the key
/// held before. If the key lost what it held, the draw goes on above every counter that is known
/// from this process's draws or from the order store. It then leaves kLostGap counters unused,
/// since another process may still hold a range that this one knows nothing of.
class IdDraws : public std::enable_shared_from_this<IdDraws> {
 public:
  static constexpr std::int64_t kLostGap = std::int64_t{1} << 20;
  /// Two draws of a day within kBusyMs make the next one twice as large, up to kGrowthMax times the
  /// block size: a draw wakes the thread that runs completions, which costs about 100 us.
  static constexpr std::int64_t kBusyMs = 100;
  static constexpr std::int64_t kGrowthMax = 64;

  IdDraws(Client& client, OrderStore& orders, const Clock& clock, const SaleKeys& keys,
          std::int64_t block_size);

  /// Reads from the order store above which counter `day` begins, unless that is known. Spares the
  /// day's first draw the look.
  absl::Status look_up(std::int64_t day);

  /// Returns a range that was drawn for `day`, if one is ready. Forgets earlier days.
  std::optional<IdRange> take(std::int64_t day);

  /// Begins to draw at least `count_min` counters for `day`, and returns. Does nothing if a range
  /// for the day is ready, or if a draw is under way.
  void ask(std::int64_t day, std::int64_t count_min);

  /// Asks for a range, and waits for it as the client waits. OK means that take() is worth a try.
  /// If no draw ends, draws on the calling thread: within a callback of the engine the completion
  /// of what ask() began comes only after the callback.
  absl::Status wait(std::int64_t day, std::int64_t count_min);

  /// Forgets the ranges that are ready: the keyspace may have lost the draws of them.
  void drop_ranges();

  /// From now on no draw uses the client or the order store. Waits for one that does so now.
  void close();

 private:
  struct Day {
    bool is_looked_up = false;
    std::int64_t stored = 0;       // greatest counter in the order store
    std::int64_t seconds_min = 0;  // of the id that has it
    std::int64_t drawn = 0;        // greatest counter that was drawn …
    std::int64_t drawn_at_ms = 0;  // … and when; monotonic
    std::vector<IdRange> ranges = {};
  };
  struct Draw {
    std::int64_t day = 0;
    std::int64_t size = 0;
    std::int64_t above = 0;  // greatest counter that had been drawn before
    bool is_asked = false;   // by ask()
  };

  [[nodiscard]] std::string key_of(const Draw& draw) const;
  /// Nothing while a range is ready or the draw is still to end.
  std::optional<absl::Status> result(std::int64_t day, std::uint64_t draws_ended_before);
  absl::Status pause(int round);
  void draw_here(std::int64_t day, std::int64_t count_min);
  void end(const Draw& draw, const absl::StatusOr<IdRange>& range);
  absl::StatusOr<IdRange> complete(const Draw& draw, const Reply& reply);

  Client& client_;
  OrderStore& orders_;
  const Clock& clock_;
  const SaleKeys keys_;
  const std::int64_t size_max_;

  std::mutex mutex_;
  // Guarded by mutex_:
  std::int64_t size_;  // of the next draw
  std::map<std::int64_t, Day> days_;
  bool is_drawing_ = false;  // a draw that ask() began
  std::uint64_t draws_ended_ = 0;
  absl::Status failure_;         // of the last draw that ended …
  std::int64_t failed_day_ = 0;  // … and its day

  std::mutex use_mutex_;    // held while a completion uses the client or the order store
  bool is_closed_ = false;  // guarded by use_mutex_
};

}  // namespace rushgate
