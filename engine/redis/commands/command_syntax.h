// The arguments of a command, as the syntax of its documentation has them:
//
//   key               a value          [x]         may be left out
//   NX                a word           x [x ...]   once or more often
//   <x | y>  [x | y]  one of them      EX seconds  a word and its value
//   x@8.4.0           the argument before the sign came with this version of Redis
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rushgate {

struct SyntaxArgument {
  enum class Kind : std::uint8_t { kWord, kValue, kOneOf, kBlock };

  Kind kind;
  std::string_view text = {};  // the word or the value
  std::string_view word = {};  // the word before it, if not empty
  bool is_optional = false;
  bool is_multiple = false;
  bool repeats_word = false;               // if it is multiple: the word precedes each of them
  std::string_view since = {};             // a version of Redis; empty: that of the command
  std::vector<SyntaxArgument> parts = {};  // of kOneOf and kBlock
};

/// Parses a syntax, which must be well-formed.
std::vector<SyntaxArgument> parse_syntax(std::string_view syntax);

/// Returns the argument's name: "key", "nx_xx".
std::string argument_name(const SyntaxArgument& argument);
/// Returns the type in COMMAND DOCS ("integer"). A value's type follows from its name.
std::string_view argument_type(const SyntaxArgument& argument);

}  // namespace rushgate
