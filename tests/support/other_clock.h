// Programs on hosts whose clocks are wrong.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tests/support/temporary_directory.h"

namespace rushgate::testing {

/// The time of day of programs that are started while this lives is `ahead` of ours, also after that. Other clocks
/// are as ours. Changes the environment, so no other thread may read that.
class OtherClock {
 public:
  explicit OtherClock(std::chrono::seconds ahead);
  ~OtherClock();
  OtherClock(const OtherClock&) = delete;
  OtherClock& operator=(const OtherClock&) = delete;

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};  // for any user
  const std::optional<std::string> asan_options_;
};

}  // namespace rushgate::testing
