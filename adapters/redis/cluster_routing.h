// Which nodes of a cluster run a request: by its keys, or by its command. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "adapters/redis/submission.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// Where a request runs that has no slot.
enum class Reach : std::uint8_t {
  kAnyMaster,
  kAllMasters,
};

/// How the replies of all masters become one.
enum class Merge : std::uint8_t {
  kFirstError,    // an error if any has one, else the first reply
  kFirstSuccess,  // an error if all have one, else the first other reply
  kSum,           // of integers
  kConcatenated,  // arrays
  kLeast,         // arrays of integers: the least of each position
};

/// Returns one reply for those of all masters, of which there is at least one.
Reply merged(Merge merge, std::vector<Reply> replies);

/// Consecutive requests that run on one connection without others in between: one request, or a
/// transaction from WATCH or MULTI on, and the WAIT behind them.
struct RequestUnit {
  std::size_t first = 0;  // of the submission's requests
  std::size_t count = 1;
  std::optional<int> slot = {};  // nothing: no keys
  Reach reach = Reach::kAnyMaster;
  Merge merge = Merge::kFirstError;
  Route route = Route::kShared;
  bool blocks = false;                // others must not wait for it
  bool subscribes = false;            // SUBSCRIBE and similar
  std::optional<Reply> refusal = {};  // the error of all its requests; they are not sent
};

using RequestUnits = absl::InlinedVector<RequestUnit, 1>;

/// Divides the requests of a submission, of which none is empty. Refuses units whose keys are in
/// several slots, or that would change a connection.
RequestUnits units_of(std::span<const Request> requests);

}  // namespace rushgate
