// Admits users at a given rate, in order of arrival.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct WaitingRoomOptions {
  std::string key_prefix = "waiting-room:";
  std::int64_t per_second = 100;  // users admitted
  std::int64_t burst = 100;       // the most users admitted at once, after a time without visits
  std::int64_t size_max = 1'000'000;     // users in the queue
  std::int64_t entered_ms = 5 * 60'000;  // how long an admitted user stays admitted
  ClientOptions client = {};
};

/// Keeps a queue of users per name. There is no timer: each visit admits as many users as the time
/// since the last visit allows, at most kPortion. An admitted user that never comes back still
/// counts. Time is the server's. If that clock goes back, no user is admitted until it has caught
/// up, for at most burst / per_second. Thread-safe. Does not own the backend, which must outlive
/// it.
///
/// Keys: <prefix>{<name>}:queue, :entered (sorted sets of users), :state (a hash).
class WaitingRoom {
 public:
  static constexpr std::int64_t kPortion = 128;
  static constexpr std::int64_t kPerSecondMax = 1'000'000;
  static constexpr std::int64_t kSizeMax = std::int64_t{1} << 53;
  static constexpr std::int64_t kEnteredMsMax = 366LL * 24 * 60 * 60 * 1'000;

  struct Place {
    bool has_entered = false;
    std::int64_t position = 0;  // 1: the next to be admitted; 0: has entered
    std::int64_t wait_ms = 0;   // until admission, as estimated from per_second
  };

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<WaitingRoom>> create(Backend& backend,
                                                             WaitingRoomOptions options);

  /// Puts the user at the end of the queue, unless the user waits or has entered already. Returns
  /// the current place, so a later visit shows progress. kResourceExhausted: size_max users wait.
  absl::StatusOr<Place> visit(std::string_view name, std::int64_t user);

  /// Removes the user from the queue and from the admitted users.
  absl::Status leave(std::string_view name, std::int64_t user);

 private:
  WaitingRoom(Backend& backend, WaitingRoomOptions options);

  const WaitingRoomOptions options_;
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
