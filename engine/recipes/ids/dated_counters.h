// Draws ids that stay unique without a database, even if the keyspace loses the counter.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "engine/recipes/ids/day_name.h"
#include "engine/recipes/ids/id_range.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/ids.h>

namespace rushgate {

/// Makes and reads the requests of draws. Thread-safe. Owns nothing.
///
/// The seconds of an id are those of its draw, by the server's clock, and never those of its use.
/// So a counter that is drawn both before and after a loss makes different ids, unless both draws
/// have the same second. A draw that may follow a loss gets the next second, and so do the other
/// draws of its second. A draw may follow a loss if it
/// - finds no counter, or one below the counters that this generator was given;
/// - is the generator's first;
/// - is sent over a new connection: a server that lost writes has ended all earlier ones.
/// The last two cover a server that comes back with an older counter.
///
/// Another system may share the counter by INCR, with the seconds of its use. A draw that finds the
/// counter missing or too low begins it a gap above the counters that this generator was given. So
/// the other system repeats none of that second either.
class DatedCounters {
 public:
  DatedCounters(IdLayout layout, CounterKeys keys, const Clock& clock);

  struct Draw {
    std::int64_t size = 0;
    std::int64_t losses = 0;  // possible_losses_ when the request was made
  };

  /// Returns the request for `draw.size` counters of the current day.
  Request make_request(Draw& draw);

  /// Returns false if complete() draws once more after this reply.
  [[nodiscard]] static bool is_last(const Reply& reply);
  /// Makes a range of the reply. Draws once more if the server's clock shows another day.
  absl::StatusOr<IdRange> complete(Client& client, Draw draw, Reply reply);

  /// Assumes a loss before the next draws over `connection`. For a ConnectionCheck.
  void declare_loss(Client& connection);

 private:
  [[nodiscard]] static std::string loss_key(const std::string& counter_key);
  absl::StatusOr<IdRange> read(const Draw& draw, const Reply& reply);

  const IdLayout layout_;
  const CounterKeys keys_;
  const Clock& clock_;

  std::mutex mutex_;
  // Guarded by mutex_:
  std::int64_t possible_losses_ = 1;  // the generator's start counts as one
  std::int64_t losses_covered_ = 0;   // by draws that got the second after the loss
  std::int64_t day_ = -1;             // of the next draw; -1: the clock's
  std::int64_t day_drawn_ = -1;       // of the greatest id drawn …
  std::int64_t last_id_ = 0;          // … and that id
  std::int64_t clock_day_ = -1;       // the clock's day when day_ was set
};

}  // namespace rushgate
