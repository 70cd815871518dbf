// The open files that servers need.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"

namespace rushgate {

/// The open files that all servers of this process may need. Thread-safe.
class FileReservation {
 public:
  FileReservation() = default;
  ~FileReservation() {
    const std::lock_guard lock(mutex_);
    of_all_ -= own_;
  }
  FileReservation(const FileReservation&) = delete;
  FileReservation& operator=(const FileReservation&) = delete;

  /// Raises the limit of open files by `clients`, the server's option `name`, and lowers that to the
  /// number of descriptors that fit. kResourceExhausted: none do. (Redis: adjustOpenFilesLimit.)
  absl::Status reserve_for(std::string_view name, std::size_t& clients, spdlog::logger* logger) {
    const std::size_t fitting = reserve(clients);
    if (fitting == 0) return leaves_none(raise_limit(0));
    if (fitting < clients && logger != nullptr) {
      log_warning(*logger, concat(name, " ", clients, " is lowered to ", fitting, ": ",
                                  raise_limit(0), " open files are allowed (ulimit -n)"));
    }
    clients = fitting;
    return absl::OkStatus();
  }

  /// Lowers the clients of two servers that will be started, if the limit of open files cannot be raised
  /// to fit both: neither then takes the other's half. Returns the limit. kResourceExhausted: it leaves
  /// none.
  static absl::StatusOr<rlim_t> divide(std::size_t& one, std::size_t& other) {
    constexpr rlim_t kOthers = 2 * kFilesOfOthers;
    const rlim_t limit = raise_limit(one + other + kOthers);
    if (limit < kOthers + 2) return leaves_none(limit);
    const std::size_t fitting = limit - kOthers;
    if (one + other <= fitting) return limit;
    const std::size_t half = fitting / 2;
    if (one <= half) {
      other = fitting - one;
    } else if (other <= half) {
      one = fitting - other;
    } else {
      one = half;
      other = half;
    }
    return limit;
  }

 private:
  // Descriptors for the rest of the process: 64 tables of the store, up to 96 that compactions read
  // concurrently, and 32 logs, sockets and databases.
  static constexpr rlim_t kFilesOfOthers = 192;

  static absl::Status leaves_none(rlim_t limit) {
    return absl::ResourceExhaustedError(
        concat(limit, " open files are allowed (ulimit -n): that leaves none for clients"));
  }

  std::size_t reserve(std::size_t clients) {
    const std::lock_guard lock(mutex_);
    const rlim_t others = of_all_ + kFilesOfOthers;
    const rlim_t limit = raise_limit(others + clients);
    if (limit <= others) return 0;
    const std::size_t fitting = std::min<std::size_t>(clients, limit - others);
    own_ = kFilesOfOthers + fitting;
    of_all_ += own_;
    return fitting;
  }
  static rlim_t raise_limit(rlim_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    if (limit.rlim_cur >= wanted) return limit.rlim_cur;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }

  static inline std::mutex mutex_;
  static inline rlim_t of_all_ = 0;  // guarded by mutex_
  rlim_t own_ = 0;
};

}  // namespace rushgate
