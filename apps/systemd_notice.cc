#include "apps/systemd_notice.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "engine/core/base/thread_name.h"
#include <rushgate/maybe_integer.h>

namespace rushgate {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns the interval of the watchdog in µs; 0 if there is none for this process.
std::int64_t watchdog_us() {
  const std::string process = variable("WATCHDOG_PID");
  if (!process.empty() && process != std::to_string(::getpid())) return 0;
  return std::max<std::int64_t>(0, parse_int64(variable("WATCHDOG_USEC")).value_or(0));
}

}  // namespace

SystemdNotice::SystemdNotice(std::function<bool()> works)
    : socket_(variable("NOTIFY_SOCKET")), works_(std::move(works)) {
  send("READY=1");
  const std::int64_t interval_us = watchdog_us();
  if (socket_.empty() || interval_us == 0) return;
  thread_ = std::jthread(
      [this, interval_us](const std::stop_token& ends) { keep_watch(ends, interval_us); });
}

SystemdNotice::~SystemdNotice() { send("STOPPING=1"); }

/// Sends a datagram. A failure leaves systemd without the notice, which it logs by itself.
void SystemdNotice::send(std::string_view state) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::ranges::copy(socket_, address.sun_path);
  if (socket_.front() == '@') address.sun_path[0] = '\0';  // an abstract socket
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int file = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return;
  static_cast<void>(::sendto(file, state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), bytes));
  ::close(file);
}

void SystemdNotice::keep_watch(const std::stop_token& ends, std::int64_t interval_us) const {
  name_this_thread("rg-watchdog");
  std::mutex mutex;
  std::condition_variable_any wait;
  std::unique_lock lock(mutex);
  while (!ends.stop_requested()) {
    if (works_()) send("WATCHDOG=1");
    wait.wait_for(lock, ends, std::chrono::microseconds(interval_us / 2),
                  [&] { return ends.stop_requested(); });
  }
}

}  // namespace rushgate
