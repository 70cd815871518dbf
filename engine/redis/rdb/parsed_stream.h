// A stream in a payload of DUMP.
//
//   stream    = n, node * n, length (entries), id pair (last), counters, n, group * n
//   node      = string of 16 bytes: the id of its first entry; a string: its entries (stream_node.h)
//   counters  = id pair (first entry), id pair (greatest deleted id), length (entries ever added)
//   group     = string (name), id pair (last delivered), length (entries read; 2^64 - 1: unknown),
//               n, pending * n, n, consumer * n
//   pending   = id, time (of the delivery), length (deliveries)
//   consumer  = string (name), time (last seen), n, id * n (its pending entries)
//
// Before Redis 7.0 there were no counters, and no entries read. (n: a length.)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rushgate/stream_id.h>

namespace rushgate::rdb {

class RdbReader;

/// A stream whose entries and groups have been checked.
struct ParsedStream {
  struct Node {
    StreamId first;
    std::string listpack;
  };
  struct Pending {
    std::int64_t delivered_ms = 0;
    std::uint64_t deliveries = 0;
    std::optional<std::size_t> consumer = {};  // index in consumers
  };
  struct Consumer {
    std::string name;
    std::int64_t seen_ms = 0;
  };
  struct Group {
    std::string name;
    StreamId last_delivered;
    std::optional<std::int64_t> entries_read;  // empty: not in this format
    std::map<StreamId, Pending> pending;
    std::vector<Consumer> consumers;
  };

  std::vector<Node> nodes;
  StreamId last_id;
  StreamId max_deleted_id;
  std::uint64_t entries_added = 0;
  std::vector<Group> groups;
};

enum class StreamFormat : std::uint8_t { kBefore7, k7 };

/// Reads a stream. Latches an error of the reader if it is invalid.
ParsedStream read_stream(RdbReader& reader, StreamFormat format);

}  // namespace rushgate::rdb
