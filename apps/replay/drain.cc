#include "apps/replay/drain.h"

#include <thread>

namespace rushgate {

absl::Status drain(Shop& shop, absl::FunctionRef<void(const std::string& note)> waiting) {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{2};
  constexpr std::chrono::seconds kPatience{30};
  constexpr std::chrono::seconds kPatienceWithoutKeyspace{5};  // the replay was patient before
  std::size_t settled = 0;
  SteadyClock::time_point progress = SteadyClock::now();
  std::string reason;
  while (true) {
    const auto backlog = shop.backlog();
    if (backlog.ok() && backlog->empty) return absl::OkStatus();
    reason = backlog.ok() ? backlog->pause_reason : std::string(backlog.status().message());
    const std::size_t now_settled = shop.stored() + shop.buried();
    if (now_settled != settled) progress = SteadyClock::now();
    settled = now_settled;
    absl::Status health = shop.health();
    if (!health.ok()) return health;
    if (SteadyClock::now() > progress + (backlog.ok() ? kPatience : kPatienceWithoutKeyspace))
      break;
    waiting(reason.empty() ? "storing orders" : "the workers pause: " + reason);
    std::this_thread::sleep_for(kLook);
  }
  return absl::UnavailableError("accepted orders wait to be stored: " +
                                (reason.empty() ? "the workers make no progress" : reason));
}

}  // namespace rushgate
