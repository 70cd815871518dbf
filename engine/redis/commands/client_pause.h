// CLIENT PAUSE: https://redis.io/docs/latest/commands/client-pause/
#pragma once

#include <algorithm>
#include <cstdint>

namespace rushgate {

class CommandContext;
struct CommandSpec;

/// The present pause, if any. Times are in ms since 1970 UTC. DueWork ends it in time.
class ClientPause {
 public:
  enum class Kind : std::uint8_t { kNone, kWrites, kAll };  // in ascending order of strictness

  /// Begins a pause, or extends the present one to the later end and the stricter kind.
  void begin(Kind kind, std::int64_t end_ms) {
    kind_ = std::max(kind_, kind);
    end_ms_ = std::max(end_ms_, end_ms);
  }
  void end() { *this = {}; }

  [[nodiscard]] bool is_active() const { return kind_ != Kind::kNone; }
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] std::int64_t end_ms() const { return end_ms_; }
  [[nodiscard]] bool is_over(std::int64_t now_ms) const { return is_active() && end_ms_ <= now_ms; }

 private:
  Kind kind_ = Kind::kNone;
  std::int64_t end_ms_ = 0;
};

/// Returns true if a pause of writes delays the request: it may write, or publish.
[[nodiscard]] bool may_write(const CommandContext& context, const CommandSpec& spec);

/// Returns true if the present pause delays the client's request.
[[nodiscard]] bool is_paused(const CommandContext& context, const CommandSpec& spec);

}  // namespace rushgate
