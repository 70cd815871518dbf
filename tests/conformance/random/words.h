// Random arguments that a list of choices cannot express.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/random.h"

namespace rushgate::testing {

/// Returns an integer: mostly a small one, sometimes a limit of its range or an invalid one.
std::string random_integer(Random& random);

/// Returns any double in any form, infinities included, and sometimes an invalid one.
std::string random_float(Random& random);

/// Returns up to a dozen bytes of all kinds.
std::string random_bytes(Random& random);

/// Returns a word that a command does not expect: a number out of range, or an option of another
/// command.
std::string unexpected_word(Random& random);

/// Mistakes that a command may get.
enum class Mistakes : std::uint8_t {
  kNone,
  kAny,
  kNoShortTimes,  // no number that may become a time within the run
};

/// Makes one or two mistakes in a command: an argument too few, too many, or replaced. Keeps the
/// command's name.
void make_mistakes(std::vector<std::string>& command, Mistakes allowed, Random& random);

}  // namespace rushgate::testing
