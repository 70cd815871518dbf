// Checks the options of a recipe.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "engine/core/base/concat.h"

namespace rushgate {

/// Checks ranges one after another, and keeps the first fault. For one thread.
class OptionRanges {
 public:
  /// `recipe` begins the messages: "token bucket". It must outlive this object.
  explicit OptionRanges(std::string_view recipe) : recipe_(recipe) {}

  OptionRanges& check(std::string_view option, std::int64_t value, std::int64_t low,
                      std::int64_t high) {
    if (fault_.ok() && (value < low || value > high)) {
      fault_ = absl::InvalidArgumentError(
          concat(recipe_, ": ", option, " is ", value, ", and must be from ", low, " to ", high));
    }
    return *this;
  }

  /// Returns kInvalidArgument, naming the first option that is out of its range; else OK.
  [[nodiscard]] const absl::Status& fault() const { return fault_; }

 private:
  const std::string_view recipe_;
  absl::Status fault_;
};

}  // namespace rushgate
