// What the commands on streams have in common: how they read their arguments, and how they answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/base/stream_id.h"
#include "engine/client/reply.h"
#include "engine/commands/arguments.h"
#include "engine/commands/command_context.h"
#include "engine/keyspace/stream.h"

namespace rushgate {

// ---- Ids. An error is latched in the Arguments ----

/// `<ms>-<seq>` or `<ms>`, which takes `missing_seq`.
std::optional<StreamId> parse_stream_id(std::string_view text, std::uint64_t missing_seq = 0);
/// The same, or `-` or `+`: the smallest and the greatest id.
std::optional<StreamId> parse_stream_bound(std::string_view text, std::uint64_t missing_seq = 0);
/// The ends of an interval: an id, `-`, `+`, or `(` and an id, which then is not part of it.
StreamId interval_start(Arguments& arguments, std::string_view text);
StreamId interval_end(Arguments& arguments, std::string_view text);

using StreamIds = absl::InlinedVector<StreamId, 8>;
/// All arguments from `first` on.
StreamIds read_stream_ids(Arguments& arguments, RequestView request, std::size_t first);

// ---- MAXLEN and MINID, of XADD and XTRIM ----

/// Reads the options up to something else, which it leaves.
class TrimOptions {
 public:
  /// MAXLEN|MINID [=|~] threshold, or LIMIT count. False if the next argument is neither.
  bool accept(Arguments& arguments);
  enum class Use : std::uint8_t { kMayTrim, kMustTrim };

  /// After the last option.
  void check(Arguments& arguments, Use use);

  [[nodiscard]] bool given() const { return given_; }
  [[nodiscard]] const Stream::TrimTo& to() const { return to_; }

 private:
  void read_threshold(Arguments& arguments, bool is_length);

  bool given_ = false;
  std::optional<std::int64_t> limit_;
  Stream::TrimTo to_;
};

// ---- XREAD and XREADGROUP ----

struct StreamReadRequest {
  std::optional<std::int64_t> timeout_ms;  // BLOCK
  std::uint64_t count = 0;                 // 0: no limit
  bool no_ack = false;
  std::optional<std::string_view> group;
  std::string_view consumer;
  std::size_t first_key = 0;  // among the arguments; the ids follow the keys
  std::size_t streams = 0;

  [[nodiscard]] std::string_view key(RequestView request, std::size_t i) const {
    return request[first_key + i];
  }
  [[nodiscard]] std::string_view id(RequestView request, std::size_t i) const {
    return request[first_key + streams + i];
  }
};

/// All but the ids: what they may be depends on the keys. `with_group`: it is XREADGROUP.
StreamReadRequest read_stream_read_request(Arguments& arguments, RequestView request,
                                           bool with_group, bool in_script);

/// There is nothing to read: waits with BLOCK, else answers so. `after` are the ids to be fixed in
/// place of '$'; empty: as they are.
Reply wait_for_entries(CommandContext& context, const StreamReadRequest& read,
                       std::span<const StreamId> after);
/// Who has waited for entries after `after` is answered when the stream has moved on, even if it is
/// empty again.
[[nodiscard]] bool ends_waiting(const CommandContext& context, const Stream& stream,
                                StreamId after);

// ---- Answers ----

inline Reply id_reply(StreamId id) { return Reply::bulk(id.to_string()); }
/// [id, [field, value, …]]
Reply entry_reply(const StreamEntry& entry);
/// [[key, entries], …], or a map from keys to entries. `keys_and_entries` alternate.
Reply streams_reply(const CommandContext& context, std::vector<Reply> keys_and_entries);

}  // namespace rushgate
