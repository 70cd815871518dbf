// Lets users in at a given rate, in the order in which they came.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"

namespace rushgate {

/// A value type.
struct WaitingRoomOptions {
  std::string key_prefix = "waiting-room:";
  std::int64_t per_second = 100;  // how many are let in
  /// How many at most are let in at once, after a time in which nobody asked.
  std::int64_t burst = 100;
  std::int64_t size_max = 1'000'000;     // users who wait
  std::int64_t entered_ms = 5 * 60'000;  // how long a user who was let in stays so
  ClientOptions client = {};
};

/// A queue of users per name. Nobody lets them in: each call does as much of it as the time that
/// passed allows, in portions of kPortion. A user who was let in and does not come takes his place
/// all the same. Its time is the server's; while a clock that went back catches up, for at most
/// burst / per_second, nobody is let in. Thread-safe. Does not own the backend, which must outlive
/// it.
///
/// Keys: <prefix>{<name>}:queue, :entered (sorted sets of users), :state (a hash).
class WaitingRoom {
 public:
  static constexpr std::int64_t kPortion = 128;
  static constexpr std::int64_t kPerSecondMax = 1'000'000;
  static constexpr std::int64_t kEnteredMsMax = 366LL * 24 * 60 * 60 * 1'000;

  struct Place {
    bool has_entered = false;
    std::int64_t position = 0;  // 1: the next to be let in; 0: has entered
    std::int64_t wait_ms = 0;   // until his turn, if all goes well
  };

  /// kInvalidArgument: an option is out of range.
  static absl::StatusOr<std::unique_ptr<WaitingRoom>> create(Backend& backend,
                                                             WaitingRoomOptions options);

  /// Puts the user at the end of the queue, unless he is in it or has entered, and returns his
  /// place. Ask again for where he is now. kResourceExhausted: size_max users wait.
  absl::StatusOr<Place> visit(std::string_view name, std::int64_t user);

  /// Takes the user out: out of the queue, or out of those who were let in.
  absl::Status leave(std::string_view name, std::int64_t user);

 private:
  WaitingRoom(Backend& backend, WaitingRoomOptions options);

  const WaitingRoomOptions options_;
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
