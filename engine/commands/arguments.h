// Reads a command's arguments from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/client/reply.h"
#include "engine/client/request.h"

namespace rushgate {

bool equal_in_any_case(std::string_view a, std::string_view b);
/// As keywords are compared: without regard to case, `text` to its first NUL.
bool is_keyword(std::string_view text, std::string_view keyword);

/// Latches the first error, after which there is nothing more to read: a handler reads all that it
/// expects and checks once. What is read after an error is zero or empty. Valid as long as the
/// request.
class Arguments {
 public:
  /// Begins at position `first`; argument 0 is the command's name.
  explicit Arguments(RequestView request, std::size_t first = 1) : request_(request), at_(first) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  /// The first error, once.
  [[nodiscard]] Reply take_error();
  /// Latches an error found by the handler, unless there was one already.
  void fail(Reply error);

  [[nodiscard]] bool at_end() const { return at_ >= request_.size() || error_.has_value(); }
  /// Arguments not read yet.
  [[nodiscard]] std::size_t left() const { return at_end() ? 0 : request_.size() - at_; }

  /// The next argument as it is; a syntax error if there is none.
  std::string_view next();
  /// The next argument as a signed integer of 64 bits.
  std::int64_t next_integer() { return to_integer(next()); }
  /// The next argument as an integer in [min, max].
  std::int64_t next_integer(std::int64_t min, std::int64_t max);
  /// The next argument as an integer that is `min` or more; else `error`.
  std::int64_t next_at_least(std::int64_t min, Reply error);
  /// The next argument as the number of a database.
  std::uint8_t next_database();
  /// All that is left may be `LIMIT limit`; 0, which is none, if it is not there.
  std::uint64_t rest_as_limit();
  /// Passes over so many arguments.
  void skip(std::size_t count) { at_ += count; }
  /// Takes the next argument if it is `keyword`, in any case.
  bool accept(std::string_view keyword);
  /// All that is left must be pairs; else it is an error of arity.
  void expect_pairs();

  /// An argument read before as a signed integer of 64 bits: for a value that is judged after the
  /// syntax of the rest.
  std::int64_t to_integer(std::string_view text);

 private:
  RequestView request_;
  std::size_t at_;
  std::optional<Reply> error_;
};

}  // namespace rushgate
