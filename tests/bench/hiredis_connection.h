// A blocking connection to a Redis server through hiredis, without any code of Rushgate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rushgate/request.h>

struct redisContext;

namespace rushgate::bench {

/// Connects to a socket. Not thread-safe. Throws std::runtime_error if the connection fails.
class HiredisConnection {
 public:
  explicit HiredisConnection(const std::string& unix_path);

  /// Buffers a request.
  void append(const Request& request);
  /// Sends the buffered requests, and returns the next reply, which must be an integer.
  std::int64_t next_integer();

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  const std::unique_ptr<redisContext, Free> context_;
};

}  // namespace rushgate::bench
