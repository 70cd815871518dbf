// Parses requests from a client's bytes: arrays of bulk strings, or lines ("inline commands"), like
// Redis 7.0.
// Format: https://redis.io/docs/latest/develop/reference/protocol-spec/
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <rushgate/request.h>

namespace rushgate {

/// A value type. It keeps the parsed part of a request, so it reads no byte twice. Input that
/// next() consumed may be freed. Not thread-safe.
class RequestParser {
 public:
  static constexpr std::size_t kLineBytesMax = 64 * 1024;
  static constexpr std::int64_t kArgumentBytesMax = 512 * 1'024 * 1'024;

  /// Lower limits apply to clients without authentication.
  struct Limits {
    std::int64_t arguments_max;
    std::int64_t argument_bytes_max;  // proto-max-bulk-len, at most kArgumentBytesMax
    bool is_authenticated;
  };
  static constexpr Limits kAuthenticated{.arguments_max = std::numeric_limits<int>::max(),
                                         .argument_bytes_max = kArgumentBytesMax,
                                         .is_authenticated = true};
  static constexpr Limits kUnauthenticated{
      .arguments_max = 10, .argument_bytes_max = 16'384, .is_authenticated = false};

  enum class Result : std::uint8_t {
    kRequest,     // complete
    kIncomplete,  // the input ends within the request: call again with more
    kBroken,      // invalid, see error(): close the connection
  };

  /// Parses `input` up to the end of the next request, and removes that part from it. Skips
  /// requests without arguments, as in Redis.
  Result next(std::string_view& input, const Limits& limits, Request& request);

  /// Returns the error for the client: "ERR Protocol error: …".
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Returns the memory of the partial request.
  [[nodiscard]] std::size_t memory_bytes() const { return partial_.memory_bytes(); }

 private:
  Result next_inline(std::string_view& input, Request& request);
  Result next_array(std::string_view& input, const Limits& limits, Request& request);
  Result read_array_length(std::string_view& input, const Limits& limits);
  Result read_argument_length(std::string_view& input, const Limits& limits);
  Result broken(std::string_view what);

  Request partial_;
  std::int64_t arguments_left_ = 0;        // of an array; 0: none has begun
  std::int64_t argument_bytes_left_ = -1;  // of the next argument; -1: its length is not read yet
  std::string error_;
};

}  // namespace rushgate
