// Makes hiredis's parser build Replies in place. Private to this module.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rushgate/reply.h>

struct redisReader;

namespace rushgate {

/// Makes redisReaderGetReply() on `reader` return a Reply*, owned by the caller. Unlike hiredis's
/// own objects, it distinguishes a null bulk string from a null array.
void make_reader_build_replies(redisReader& reader);

/// Parses the replies of one connection. Not thread-safe.
class ReplyReader {
 public:
  ReplyReader();

  /// Adds received bytes.
  void feed(std::string_view bytes);
  /// Returns the next complete reply; nothing if there is none, or if the bytes are no RESP.
  [[nodiscard]] std::optional<Reply> next();
  /// Returns why the bytes are no RESP; empty if they are.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };

  std::unique_ptr<redisReader, Free> reader_;
  std::string error_;
};

}  // namespace rushgate
