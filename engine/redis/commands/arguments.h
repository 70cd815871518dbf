// Reads a command's arguments from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/core/base/letter_case.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

/// Returns true if `text`, up to its first NUL, is `keyword` in any case.
bool is_keyword(std::string_view text, std::string_view keyword);

/// Latches the first error; everything read after it is 0 or empty. A handler
/// reads all its arguments and then checks once. Valid as long as the
/// request.
class Arguments {
 public:
  /// Begins at position `first`; argument 0 is the command's name.
  explicit Arguments(RequestView request, std::size_t first = 1) : request_(request), at_(first) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  /// Returns the first error; call it once.
  [[nodiscard]] Reply take_error();
  /// Latches an error of the handler, unless there is an earlier one.
  void fail(Reply error);

  [[nodiscard]] bool at_end() const { return at_ >= request_.size() || error_.has_value(); }
  /// Returns the number of unread arguments.
  [[nodiscard]] std::size_t left() const { return at_end() ? 0 : request_.size() - at_; }

  /// Returns the next argument; a syntax error if there is none.
  std::string_view next();
  /// Returns the next argument as a signed 64-bit integer.
  std::int64_t next_integer() { return to_integer(next()); }
  /// Returns the next argument as an integer in [min, max].
  std::int64_t next_integer(std::int64_t min, std::int64_t max);
  /// Returns the next argument as an integer of at least `min`; else latches `error`.
  std::int64_t next_at_least(std::int64_t min, Reply error);
  /// Returns the next argument as the number of a database.
  std::uint8_t next_database();
  /// Reads the optional rest `LIMIT limit`; returns 0 without it. A limit of 0 means no limit.
  std::uint64_t rest_as_limit();
  /// Skips `count` arguments.
  void skip(std::size_t count) { at_ += count; }
  /// Consumes the next argument if it is `keyword`, in any case.
  bool accept(std::string_view keyword);
  /// Latches an arity error unless the remaining arguments form pairs.
  void expect_pairs();

  /// Parses an argument that was read before, for values that Redis checks after the syntax of the
  /// rest.
  std::int64_t to_integer(std::string_view text);

 private:
  RequestView request_;
  std::size_t at_;
  std::optional<Reply> error_;
};

}  // namespace rushgate
