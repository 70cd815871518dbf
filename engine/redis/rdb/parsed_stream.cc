#include "engine/redis/rdb/parsed_stream.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include "engine/redis/keyspace/stream_counters.h"
#include "engine/redis/rdb/little_endian.h"
#include "engine/redis/rdb/rdb_reader.h"
#include "engine/redis/rdb/stream_node.h"

namespace rushgate::rdb {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// ---- Entries ----

/// The readable entries of the nodes so far.
struct Entries {
  std::uint64_t count = 0;
  StreamId last;  // deleted ones included
};

/// Reads the entries of a node, which must ascend, and exceed those of earlier nodes.
bool check_node(const ParsedStream::Node& node, Entries& entries) {
  if (node.first <= entries.last) return false;
  StreamNodeReader reader(node.first, node.listpack);
  while (reader.next()) {
    if (!reader.is_deleted()) ++entries.count;
    entries.last = reader.id();
  }
  return reader.ok();
}

ParsedStream::Node read_node(RdbReader& reader) {
  constexpr std::size_t kIdBytes = 16;
  const std::string first = reader.string();
  ParsedStream::Node node{.first = {}, .listpack = reader.string()};
  if (first.size() == kIdBytes) {
    node.first = RdbReader(first).id();
  } else {
    reader.fail();
  }
  return node;
}

Entries read_nodes(RdbReader& reader, ParsedStream& stream) {
  Entries entries;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    ParsedStream::Node node = read_node(reader);
    if (!reader.ok() || !check_node(node, entries)) {
      reader.fail();
      break;
    }
    stream.nodes.push_back(std::move(node));
  }
  return entries;
}

void read_counters(RdbReader& reader, StreamFormat format, ParsedStream& stream,
                   const Entries& entries) {
  const std::uint64_t length = reader.length();
  stream.last_id = reader.id_pair();
  stream.entries_added = length;
  if (format == StreamFormat::k7) {
    reader.id_pair();  // that of the first entry, which the nodes show
    stream.max_deleted_id = reader.id_pair();
    stream.entries_added = reader.length();
  }
  if (length != entries.count || stream.entries_added < length ||
      stream.entries_added > StreamCounters::kEntriesAddedMax || stream.last_id < entries.last ||
      stream.last_id < stream.max_deleted_id) {
    reader.fail();
  }
}

// ---- Groups ----

std::int64_t read_entries_read(RdbReader& reader) {
  const std::uint64_t count = reader.length();
  if (count > StreamCounters::kEntriesAddedMax && count != kUnknown) reader.fail();
  return static_cast<std::int64_t>(count);  // kUnknown: -1
}

/// Reads a time that a difference to another one cannot overflow.
std::int64_t read_time(RdbReader& reader) {
  const std::int64_t time_ms = reader.time_ms();
  if (time_ms < 0) reader.fail();
  return time_ms;
}

void read_pending(RdbReader& reader, ParsedStream::Group& group) {
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    const StreamId id = reader.id();
    ParsedStream::Pending pending{.delivered_ms = read_time(reader), .deliveries = reader.length()};
    if (!group.pending.emplace(id, pending).second) reader.fail();
  }
}

/// Reads the pending entries of the last consumer. They are entries of the group, and of no other
/// consumer.
void read_its_pending(RdbReader& reader, ParsedStream::Group& group) {
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    const auto pending = group.pending.find(reader.id());
    if (pending == group.pending.end() || pending->second.consumer.has_value()) {
      reader.fail();
    } else {
      pending->second.consumer = group.consumers.size() - 1;
    }
  }
}

void read_consumers(RdbReader& reader, ParsedStream::Group& group) {
  std::set<std::string> names;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    std::string name = reader.string();
    if (!names.insert(name).second) reader.fail();
    group.consumers.push_back({.name = std::move(name), .seen_ms = read_time(reader)});
    read_its_pending(reader, group);
  }
  const bool have_consumers = std::ranges::all_of(
      group.pending, [](const auto& pending) { return pending.second.consumer.has_value(); });
  if (!have_consumers) reader.fail();
}

ParsedStream::Group read_group(RdbReader& reader, StreamFormat format) {
  ParsedStream::Group group;
  group.name = reader.string();
  group.last_delivered = reader.id_pair();
  if (format == StreamFormat::k7) group.entries_read = read_entries_read(reader);
  read_pending(reader, group);
  read_consumers(reader, group);
  return group;
}

void read_groups(RdbReader& reader, StreamFormat format, ParsedStream& stream) {
  std::set<std::string> names;
  for (std::uint64_t left = reader.length(); left > 0 && reader.ok(); --left) {
    ParsedStream::Group group = read_group(reader, format);
    if (!names.insert(group.name).second) reader.fail();
    stream.groups.push_back(std::move(group));
  }
}

}  // namespace

ParsedStream read_stream(RdbReader& reader, StreamFormat format) {
  ParsedStream stream;
  const Entries entries = read_nodes(reader, stream);
  read_counters(reader, format, stream, entries);
  read_groups(reader, format, stream);
  return stream;
}

}  // namespace rushgate::rdb
