// Arguments picked at random that need more than a list of choices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random.h"

namespace rushgate::testing {

/// Mostly small; the limits of integers; now and then what is no integer.
std::string random_integer(Random& random);

/// Any double, infinities too, in any form; now and then what is none.
std::string random_float(Random& random);

/// Up to a dozen bytes of all kinds.
std::string random_bytes(Random& random);

/// What a command does not expect: a number out of all bounds, an option of some other command.
std::string unexpected_word(Random& random);

/// Which mistakes a command may get.
enum class Mistakes : std::uint8_t {
  kNone,
  kAny,
  kNoShortTimes,  // no number that could become a time which passes during the run
};

/// Makes one or two mistakes in a command: an argument too few or too many, another in its place.
/// The command's name stays.
void make_mistakes(std::vector<std::string>& command, Mistakes allowed, Random& random);

}  // namespace rushgate::testing
