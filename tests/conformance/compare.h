// Whether two raw answers are the same, but for what a transcript allows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tests/conformance/transcript.h"

namespace rushgate::testing {

/// One backend's answer and what its variables stand for.
struct Answer {
  std::string_view raw;
  const Variables& variables;
};

/// Nothing if `subject` answers as `oracle` does, else what is different. With neither slack nor
/// variables every byte counts.
std::optional<std::string> difference(std::span<const Slack> slack, const Answer& oracle,
                                      const Answer& subject);

/// The text, or the integer in decimal, at step.set_at. Throws std::runtime_error if there is none.
std::string captured(const Step& step, std::string_view raw);

}  // namespace rushgate::testing
