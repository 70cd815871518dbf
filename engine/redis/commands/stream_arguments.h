// Shared code of the stream commands: parsing of arguments, and replies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/redis/commands/arguments.h"
#include "engine/redis/commands/command_context.h"
#include "engine/redis/keyspace/stream_log.h"
#include "engine/redis/keyspace/streams.h"
#include <rushgate/reply.h>
#include <rushgate/stream_id.h>

namespace rushgate {

// ---- Ids. An error is latched in the Arguments ----

/// Parses `<ms>-<seq>`, or `<ms>` with `missing_seq`.
std::optional<StreamId> parse_stream_id(std::string_view text, std::uint64_t missing_seq = 0);
/// As parse_stream_id(); also `-` and `+`, the smallest and the greatest id.
std::optional<StreamId> parse_stream_bound(std::string_view text, std::uint64_t missing_seq = 0);
/// Parse the ends of an interval: an id, `-`, `+`, or `(` and an id, which is then excluded.
StreamId interval_start(Arguments& arguments, std::string_view text);
StreamId interval_end(Arguments& arguments, std::string_view text);

using StreamIds = absl::InlinedVector<StreamId, 8>;
/// Reads all arguments from `first` on as ids.
StreamIds read_stream_ids(Arguments& arguments, RequestView request, std::size_t first);

// ---- MAXLEN and MINID, of XADD and XTRIM ----

/// Reads options of trimming, up to the first other argument.
class TrimOptions {
 public:
  /// Reads MAXLEN|MINID [=|~] threshold, LIMIT count, or KEEPREF|DELREF|ACKED. Returns false for any
  /// other argument.
  bool accept(Arguments& arguments);
  enum class Use : std::uint8_t { kMayTrim, kMustTrim };

  /// Checks the options; must be called after the last one.
  void check(Arguments& arguments, Use use, const EncodingLimits& limits);

  [[nodiscard]] bool given() const { return given_; }
  [[nodiscard]] const StreamLog::TrimTo& to() const { return to_; }
  /// Returns that of KEEPREF, DELREF or ACKED.
  [[nodiscard]] streams::PendingRemoval pending() const {
    return pending_.value_or(streams::PendingRemoval::kKeep);
  }

 private:
  void read_threshold(Arguments& arguments, bool is_length);

  bool given_ = false;
  std::optional<std::int64_t> limit_;
  std::optional<streams::PendingRemoval> pending_;
  StreamLog::TrimTo to_;
};

/// Reads KEEPREF, DELREF or ACKED. Returns false for any other argument. A second one is a syntax
/// error.
bool accept_pending_removal(Arguments& arguments, std::optional<streams::PendingRemoval>& pending);

// ---- XREAD and XREADGROUP ----

struct StreamReadRequest {
  std::optional<std::int64_t> timeout_ms;     // BLOCK
  std::uint64_t count = 0;                    // 0: no limit
  std::optional<std::int64_t> claim_idle_ms;  // CLAIM
  bool no_ack = false;
  std::optional<std::string_view> group;
  std::string_view consumer;
  std::size_t first_key = 0;  // among the arguments; the ids follow the keys
  std::size_t streams = 0;

  /// Returns true if so many entries of a stream are enough.
  [[nodiscard]] bool is_full(std::size_t entries) const { return count != 0 && entries >= count; }
  [[nodiscard]] std::string_view key(RequestView request, std::size_t i) const {
    return request[first_key + i];
  }
  [[nodiscard]] std::string_view id(RequestView request, std::size_t i) const {
    return request[first_key + streams + i];
  }
};

/// Reads all but the ids, whose valid forms depend on the keys. `with_group`: for XREADGROUP.
StreamReadRequest read_stream_read_request(Arguments& arguments, RequestView request,
                                           bool with_group, bool in_script);

/// Ends a read without data: blocks with BLOCK, else replies so. `after` are the ids to write in
/// place of '$'; empty: the ids stay as they are.
Reply wait_for_entries(CommandContext& context, const StreamReadRequest& read,
                       std::span<const StreamId> after, std::vector<TimedRetry> timed_retries = {});
/// Returns true if a blocked read is served: the stream's last id has passed `after`, even if the
/// stream is empty again.
[[nodiscard]] bool ends_waiting(const CommandContext& context, const StreamLog& log,
                                StreamId after);

// ---- Consumers ----

/// Returns the consumer, created or marked as seen. XREADGROUP, XCLAIM and XAUTOCLAIM call it only
/// when their reply has entries for the consumer.
StreamConsumer& seen_consumer(const CommandContext& context, Object& object, StreamGroup& group,
                              std::string_view name);

// ---- Replies ----

inline Reply id_reply(StreamId id) { return Reply::bulk(id.to_string()); }
/// Returns [id, [field, value, …]].
Reply entry_reply(const StreamEntry& entry);
/// Returns [id, [field, value, …], idle time, earlier deliveries].
Reply delivered_entry_reply(const StreamEntry& entry, std::int64_t idle_ms,
                            std::uint64_t deliveries);
/// Returns [[key, entries], …], or a map from keys to entries. `keys_and_entries` alternate.
Reply streams_reply(const CommandContext& context, std::vector<Reply> keys_and_entries);

}  // namespace rushgate
