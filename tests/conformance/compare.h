// Compares two raw replies, except for differences that a transcript allows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tests/conformance/transcript.h"

namespace rushgate::testing {

/// One backend's reply, and the values of its variables.
struct Answer {
  std::string_view raw;
  const Variables& variables;
};

/// Returns the difference between the replies of `subject` and `oracle`. Empty if they agree. With
/// neither slack nor variables every byte counts.
std::optional<std::string> difference(std::span<const Slack> slack, const Answer& oracle,
                                      const Answer& subject);

/// Returns the string, or the integer in decimal, at step.set_at. Throws std::runtime_error if
/// there is none.
std::string captured(const Step& step, std::string_view raw);

}  // namespace rushgate::testing
