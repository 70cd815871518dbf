#include "tests/support/other_clock.h"

#include <cstdlib>
#include <filesystem>

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kAsanOptions[] = "ASAN_OPTIONS";

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

OtherClock::OtherClock(std::chrono::seconds ahead) : asan_options_(variable(kAsanOptions)) {
  const fs::path library = directory_.path() / "shifted_clock.so";
  fs::copy_file(RUSHGATE_SHIFTED_CLOCK, library);
  fs::permissions(directory_.path(), fs::perms(0755));
  ::setenv("LD_PRELOAD", library.c_str(), 1);
  ::setenv("RUSHGATE_CLOCK_AHEAD_S", std::to_string(ahead.count()).c_str(), 1);
  // A library in front of its own is refused otherwise.
  const std::string options = asan_options_ ? *asan_options_ + ":" : "";
  ::setenv(kAsanOptions, (options + "verify_asan_link_order=0").c_str(), 1);
}

OtherClock::~OtherClock() {
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("RUSHGATE_CLOCK_AHEAD_S");
  if (asan_options_) {
    ::setenv(kAsanOptions, asan_options_->c_str(), 1);
  } else {
    ::unsetenv(kAsanOptions);
  }
}

}  // namespace rushgate::testing
