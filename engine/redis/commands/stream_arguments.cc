#include "engine/redis/commands/stream_arguments.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "engine/core/base/numbers.h"
#include "engine/redis/commands/errors.h"
#include "engine/redis/commands/stream_errors.h"
#include "engine/redis/keyspace/streams.h"

namespace rushgate {
namespace {

constexpr std::uint64_t kMaxSeq = std::numeric_limits<std::uint64_t>::max();

/// Returns the greatest number of entries that an approximate trim removes without LIMIT.
std::uint64_t removed_usually(const EncodingLimits& limits) {
  constexpr std::uint64_t kNodes = 100;
  constexpr std::uint64_t kEntriesMax = 1'000'000;
  const auto in_node = static_cast<std::uint64_t>(limits.stream_node_entries);
  if (in_node == 0)
    return kNodes * static_cast<std::uint64_t>(EncodingLimits{}.stream_node_entries);
  return std::min(in_node, kEntriesMax / kNodes) * kNodes;
}

}  // namespace

// ---- Ids ----

std::optional<StreamId> parse_stream_id(std::string_view text, std::uint64_t missing_seq) {
  constexpr std::size_t kLongestId = 127;
  if (text.size() > kLongestId) return std::nullopt;
  return StreamId::parse(errors::as_c_string(text), missing_seq);
}

std::optional<StreamId> parse_stream_bound(std::string_view text, std::uint64_t missing_seq) {
  const std::string_view c_string = errors::as_c_string(text);
  if (c_string == "-") return StreamId::min();
  if (c_string == "+") return StreamId::max();
  return parse_stream_id(text, missing_seq);
}

StreamId interval_start(Arguments& arguments, std::string_view text) {
  const bool excluded = text.size() > 1 && text.front() == '(';
  const auto id = excluded ? parse_stream_id(text.substr(1)) : parse_stream_bound(text);
  if (!id) arguments.fail(errors::invalid_stream_id());
  if (!id || !excluded) return id.value_or(StreamId{});
  const auto next = id->next();
  if (!next) arguments.fail(errors::invalid_interval_start());
  return next.value_or(StreamId{});
}

StreamId interval_end(Arguments& arguments, std::string_view text) {
  const bool excluded = text.size() > 1 && text.front() == '(';
  const auto id =
      excluded ? parse_stream_id(text.substr(1), kMaxSeq) : parse_stream_bound(text, kMaxSeq);
  if (!id) arguments.fail(errors::invalid_stream_id());
  if (!id || !excluded) return id.value_or(StreamId{});
  const auto previous = id->previous();
  if (!previous) arguments.fail(errors::invalid_interval_end());
  return previous.value_or(StreamId{});
}

StreamIds read_stream_ids(Arguments& arguments, RequestView request, std::size_t first) {
  StreamIds ids;
  for (std::size_t i = first; i < request.size(); ++i) {
    const auto id = parse_stream_id(request[i]);
    if (!id) arguments.fail(errors::invalid_stream_id());
    ids.push_back(id.value_or(StreamId{}));
  }
  return ids;
}

// ---- MAXLEN and MINID ----

bool accept_pending_removal(Arguments& arguments, std::optional<streams::PendingRemoval>& pending) {
  using streams::PendingRemoval;
  const auto accept = [&](std::string_view name, PendingRemoval value) {
    if (!arguments.accept(name)) return false;
    if (pending) arguments.fail(errors::syntax());
    pending = value;
    return true;
  };
  return accept("KEEPREF", PendingRemoval::kKeep) || accept("DELREF", PendingRemoval::kForget) ||
         accept("ACKED", PendingRemoval::kAcknowledgedOnly);
}

bool TrimOptions::accept(Arguments& arguments) {
  if (accept_pending_removal(arguments, pending_)) return true;
  if (arguments.left() < 2) return false;  // without a value they are no options
  if (arguments.accept("MAXLEN")) {
    read_threshold(arguments, true);
  } else if (arguments.accept("MINID")) {
    read_threshold(arguments, false);
  } else if (arguments.accept("LIMIT")) {
    limit_ = arguments.next_integer();
    if (*limit_ < 0) arguments.fail(errors::negative_limit());
  } else {
    return false;
  }
  return true;
}

void TrimOptions::read_threshold(Arguments& arguments, bool is_length) {
  if (given_) return arguments.fail(errors::two_trim_strategies());
  given_ = true;
  if (arguments.left() >= 2) {
    to_.whole_nodes = arguments.accept("~");
    if (!to_.whole_nodes) static_cast<void>(arguments.accept("="));
  }
  if (is_length) {
    const std::int64_t length_max = arguments.next_integer();
    if (length_max < 0) arguments.fail(errors::negative_max_length());
    to_.length_max = static_cast<std::uint64_t>(length_max);
  } else {
    const auto min_id = parse_stream_id(arguments.next());
    if (!min_id) arguments.fail(errors::invalid_stream_id());
    to_.min_id = min_id.value_or(StreamId{});
  }
}

void TrimOptions::check(Arguments& arguments, Use use, const EncodingLimits& limits) {
  if (limit_.value_or(0) != 0 && !given_) return arguments.fail(errors::limit_without_strategy());
  if (use == Use::kMustTrim && !given_) return arguments.fail(errors::no_trim_strategy());
  if (limit_ && !to_.whole_nodes) return arguments.fail(errors::limit_without_approximation());
  if (to_.whole_nodes) {
    to_.removed_max = limit_ ? static_cast<std::uint64_t>(*limit_) : removed_usually(limits);
  }
}

// ---- XREAD and XREADGROUP ----

namespace {

std::int64_t read_timeout(Arguments& arguments) {
  const auto timeout = parse_int64(arguments.next());
  if (!timeout) {
    arguments.fail(errors::timeout_not_an_integer());
  } else if (*timeout < 0) {
    arguments.fail(errors::negative_timeout());
  }
  return timeout.value_or(0);
}

std::int64_t read_claim_idle(Arguments& arguments) {
  const auto idle_ms = parse_int64(arguments.next());
  if (!idle_ms) {
    arguments.fail(errors::claim_idle_not_an_integer());
  } else if (*idle_ms < 0) {
    arguments.fail(errors::negative_claim_idle());
  }
  return idle_ms.value_or(0);
}

}  // namespace

StreamReadRequest read_stream_read_request(Arguments& arguments, RequestView request,
                                           bool with_group, bool in_script) {
  StreamReadRequest read;
  while (!arguments.at_end() && read.first_key == 0) {
    const bool has_value = arguments.left() >= 2;
    if (has_value && arguments.accept("BLOCK")) {
      if (in_script) arguments.fail(errors::block_in_script(request[0]));
      read.timeout_ms = read_timeout(arguments);
    } else if (has_value && arguments.accept("COUNT")) {
      read.count = static_cast<std::uint64_t>(std::max(arguments.next_integer(), std::int64_t{0}));
    } else if (has_value && arguments.accept("STREAMS")) {
      if (arguments.left() % 2 != 0) arguments.fail(errors::unbalanced_streams());
      read.streams = arguments.left() / 2;
      read.first_key = request.size() - arguments.left();
    } else if (has_value && arguments.accept("CLAIM")) {
      if (!with_group) arguments.fail(errors::claim_in_xread());
      read.claim_idle_ms = read_claim_idle(arguments);
    } else if (arguments.left() >= 3 && arguments.accept("GROUP")) {
      if (!with_group) arguments.fail(errors::group_in_xread());
      read.group = arguments.next();
      read.consumer = arguments.next();
    } else if (arguments.accept("NOACK")) {
      if (!with_group) arguments.fail(errors::noack_in_xread());
      read.no_ack = true;
    } else {
      arguments.fail(errors::syntax());
    }
  }
  if (read.first_key == 0) arguments.fail(errors::syntax());
  if (with_group && !read.group) arguments.fail(errors::group_missing());
  return read;
}

namespace {

/// Returns the streams to wait for: the first one of each key.
std::vector<std::size_t> streams_to_wait_for(RequestView request, const StreamReadRequest& read) {
  std::vector<std::size_t> streams;
  std::unordered_set<std::string_view> keys;
  for (std::size_t i = 0; i < read.streams; ++i) {
    if (keys.insert(read.key(request, i)).second) streams.push_back(i);
  }
  return streams;
}

/// Returns the request for `streams` alone, which runs again when a key is signalled.
Request retry_request(RequestView request, const StreamReadRequest& read,
                      std::span<const std::size_t> streams, std::span<const StreamId> after) {
  Request retry(request.first(read.first_key));
  for (const std::size_t i : streams) retry.add(read.key(request, i));
  for (const std::size_t i : streams) {
    if (after.empty()) {
      retry.add(read.id(request, i));
    } else {
      retry.add(after[i].to_string());
    }
  }
  return retry;
}

}  // namespace

Reply wait_for_entries(CommandContext& context, const StreamReadRequest& read,
                       std::span<const StreamId> after, std::vector<TimedRetry> timed_retries) {
  if (!read.timeout_ms) return Reply::nil_array();
  const std::vector<std::size_t> streams = streams_to_wait_for(context.request(), read);
  BlockRequest block;
  for (const std::size_t i : streams) block.keys.emplace_back(read.key(context.request(), i));
  block.timeout_ms = *read.timeout_ms;
  block.retry = retry_request(context.request(), read, streams, after);
  block.on_timeout = Reply::nil_array();
  block.timed_retries = std::move(timed_retries);
  return context.block(std::move(block));
}

bool ends_waiting(const CommandContext& context, const StreamLog& log, StreamId after) {
  return context.is_woken_by_signal() && log.last_id() > after;
}

// ---- Consumers ----

StreamConsumer& seen_consumer(const CommandContext& context, Object& object, StreamGroup& group,
                              std::string_view name) {
  StreamConsumer* const consumer = group.find_consumer(name);
  if (consumer != nullptr) {
    streams::see_consumer(context.db(), object, group, *consumer);
    return *consumer;
  }
  StreamConsumer& made = streams::create_consumer(context.db(), object, group, name);
  context.notify(kStreamEvents, "xgroup-createconsumer", object.key());
  return made;
}

// ---- Replies ----

namespace {

Reply fields_reply(const StreamEntry& entry) {
  std::vector<Reply> fields;
  fields.reserve(2 * entry.size());
  for (std::size_t i = 0; i < entry.size(); ++i) {
    fields.push_back(Reply::bulk(entry.name(i)));
    fields.push_back(Reply::bulk(entry.value(i)));
  }
  return Reply::array(std::move(fields));
}

}  // namespace

Reply entry_reply(const StreamEntry& entry) {
  std::vector<Reply> reply;
  reply.reserve(2);
  reply.push_back(id_reply(entry.id()));
  reply.push_back(fields_reply(entry));
  return Reply::array(std::move(reply));
}

Reply delivered_entry_reply(const StreamEntry& entry, std::int64_t idle_ms,
                            std::uint64_t deliveries) {
  std::vector<Reply> reply;
  reply.reserve(4);
  reply.push_back(id_reply(entry.id()));
  reply.push_back(fields_reply(entry));
  reply.push_back(Reply::integer(idle_ms));
  reply.push_back(Reply::integer(static_cast<std::int64_t>(deliveries)));
  return Reply::array(std::move(reply));
}

Reply streams_reply(const CommandContext& context, std::vector<Reply> keys_and_entries) {
  if (context.resp3()) return Reply::map(std::move(keys_and_entries));
  std::vector<Reply> streams;
  streams.reserve(keys_and_entries.size() / 2);
  for (std::size_t i = 0; i < keys_and_entries.size(); i += 2) {
    std::vector<Reply> stream;
    stream.reserve(2);
    stream.push_back(std::move(keys_and_entries[i]));
    stream.push_back(std::move(keys_and_entries[i + 1]));
    streams.push_back(Reply::array(std::move(stream)));
  }
  return Reply::array(std::move(streams));
}

}  // namespace rushgate
