// What has happened, as INFO tells it. CONFIG RESETSTAT begins anew.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"

namespace rushgate {

/// Answers that are errors, by their codes: the first word.
class ErrorCounts {
 public:
  /// A client's request begins.
  void begin_request() {
    if (!last_in_script_.empty()) last_in_script_.clear();
  }
  /// A command was answered with the error `text`. What a script got, and ended with or passed on,
  /// counts once.
  void note(std::string_view text, bool in_script);

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] const absl::btree_map<std::string, std::uint64_t>& by_code() const {
    return by_code_;
  }

 private:
  std::uint64_t total_ = 0;
  absl::btree_map<std::string, std::uint64_t> by_code_;  // the first so many: scripts invent codes
  std::string last_in_script_;                           // of the current request
};

/// Belongs to whoever has the turn.
struct Statistics {
  std::uint64_t commands = 0;    // that ran; those of scripts and transactions, too
  std::uint64_t keys_found = 0;  // by commands that only read
  std::uint64_t keys_missed = 0;
  ErrorCounts errors;
};

}  // namespace rushgate
