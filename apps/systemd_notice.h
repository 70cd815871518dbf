// Tells systemd that the program is ready, and that it still works (sd_notify(3)).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace rushgate {

/// Does nothing unless systemd asks for notices, by NOTIFY_SOCKET and WATCHDOG_USEC in the environment.
class SystemdNotice {
 public:
  /// Says that the program is ready. From now on, says that it works, twice per watchdog interval, as
  /// long as `works` returns true. It runs on a thread of its own, and may block.
  explicit SystemdNotice(std::function<bool()> works);
  /// Says that the program ends.
  ~SystemdNotice();
  SystemdNotice(const SystemdNotice&) = delete;
  SystemdNotice& operator=(const SystemdNotice&) = delete;

 private:
  void send(std::string_view state) const;
  void keep_watch(const std::stop_token& ends, std::int64_t interval_us) const;

  const std::string socket_;  // empty: nobody listens
  const std::function<bool()> works_;
  std::jthread thread_;  // ends first
};

}  // namespace rushgate
