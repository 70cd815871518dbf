#include "engine/redis/keyspace/stream_nodes.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "engine/core/base/numbers.h"
#include "engine/redis/keyspace/hashing.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/stream_segment.h"

namespace rushgate {
namespace {

constexpr std::size_t kListpackBytesMax = std::size_t{1} << 30;  // Redis's, without another limit
constexpr std::size_t kEmptyListpackBytes = 7;

// ---- Sizes of a listpack's elements (engine/redis/rdb/listpack.h) ----

/// `bytes`: of an element without its size, which follows it.
std::size_t with_size(std::size_t bytes) {
  constexpr std::size_t kOneByte = 127;
  constexpr std::size_t kTwoBytes = (1U << 14) - 2;
  constexpr std::size_t kThreeBytes = (1U << 21) - 2;
  constexpr std::size_t kFourBytes = (1U << 28) - 2;
  if (bytes <= kOneByte) return bytes + 1;
  if (bytes <= kTwoBytes) return bytes + 2;
  if (bytes <= kThreeBytes) return bytes + 3;
  return bytes + (bytes <= kFourBytes ? 4 : 5);
}

std::size_t element_bytes(std::int64_t value) {
  const auto fits = [value](unsigned bits) {
    const std::int64_t bound = std::int64_t{1} << (bits - 1);
    return value >= -bound && value < bound;
  };
  if (value >= 0 && value <= 127) return 2;
  if (fits(13)) return 3;
  if (fits(16)) return 4;
  if (fits(24)) return 5;
  return fits(32) ? 6 : 10;
}

std::size_t element_bytes(std::string_view text) {
  constexpr std::size_t kShortMax = 63;
  constexpr std::size_t kMediumMax = 4095;
  if (const auto integer = parse_int64(text)) return element_bytes(*integer);
  if (text.size() <= kShortMax) return with_size(1 + text.size());
  return with_size((text.size() <= kMediumMax ? 2 : 5) + text.size());
}

std::size_t element_bytes(std::size_t count) {
  return element_bytes(static_cast<std::int64_t>(count));
}

std::size_t distance_bytes(std::uint64_t from, std::uint64_t to) {
  return element_bytes(static_cast<std::int64_t>(to - from));
}

std::uint32_t saturated(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

constexpr std::size_t kSmallBytes = 2;  // of an element for the flags, or for 0

/// Returns the size of an entry's values as strings.
std::size_t values_bytes(const StreamEntry& entry) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    bytes +=
        entry.is_integer(i) ? DecimalText(entry.integer(i)).view().size() : entry.text(i).size();
  }
  return bytes;
}

/// Returns an upper bound of it, which takes less time.
std::size_t values_bytes_most(const StreamEntry& entry) {
  constexpr std::size_t kIntegerBytesMax = 20;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    bytes += entry.is_integer(i) ? kIntegerBytesMax : entry.text(i).size();
  }
  return bytes;
}

/// Returns the size of the elements of a node before its entries, without the number of entries.
std::size_t node_bytes(std::size_t fields, std::size_t names_bytes) {
  return kEmptyListpackBytes + kSmallBytes + element_bytes(fields) + names_bytes + kSmallBytes;
}

}  // namespace

// ---- A position ----

std::size_t StreamNodePosition::listpack_bytes() const {
  return bytes + element_bytes(std::size_t{entries});
}

void StreamNodePosition::write(RecordWriter& writer) const {
  writer.varint(entries);
  if (begins_node()) return;
  writer.varint(bytes).varint_id(node_id).fixed64(names);
}

bool StreamNodePosition::read(RecordReader& reader) {
  *this = {};
  const std::uint64_t entries_before = reader.varint();
  if (entries_before == 0 || reader.at_end()) return reader.ok();
  const std::uint64_t bytes_before = reader.varint();
  entries = static_cast<std::uint32_t>(entries_before);
  bytes = static_cast<std::uint32_t>(bytes_before);
  if (entries != entries_before || bytes != bytes_before) return false;
  node_id = reader.varint_id();
  names = reader.fixed64();
  return reader.ok();
}

// ---- A walk ----

bool StreamNodeWalk::is_node_full() const {
  const auto entries_max = static_cast<std::uint64_t>(limits_.stream_node_entries);
  return position_.begins_node() || (entries_max > 0 && position_.entries >= entries_max);
}

bool StreamNodeWalk::begins_node(const StreamEntry& entry) {
  if (is_node_full()) return true;
  read_names(entry);
  const auto given = static_cast<std::size_t>(limits_.stream_node_bytes);
  const std::size_t bytes_max = given == 0 ? kListpackBytesMax : std::min(given, kListpackBytesMax);
  const std::size_t bytes = position_.listpack_bytes() + names_.bytes;
  return bytes + values_bytes_most(entry) >= bytes_max && bytes + values_bytes(entry) >= bytes_max;
}

void StreamNodeWalk::pass(const StreamEntry& entry) {
  const bool begins = begins_node(entry);
  read_names(entry);
  if (begins) {
    position_ = {.entries = 0,
                 .bytes = saturated(node_bytes(entry.size(), names_.listpack_bytes)),
                 .node_id = entry.id(),
                 .names = names_.hash};
  }
  constexpr std::size_t kPartsBeforeFields = 3;  // flags, ms, seq
  const std::size_t fields = entry.size();
  const bool has_node_names = names_.hash == position_.names;
  std::size_t bytes = kSmallBytes + distance_bytes(position_.node_id.ms, entry.id().ms) +
                      distance_bytes(position_.node_id.seq, entry.id().seq);
  for (std::size_t i = 0; i < fields; ++i) {
    bytes += entry.is_integer(i) ? element_bytes(entry.integer(i)) : element_bytes(entry.text(i));
  }
  if (has_node_names) {
    bytes += element_bytes(kPartsBeforeFields + fields);
  } else {
    bytes += element_bytes(fields) + names_.listpack_bytes +
             element_bytes(kPartsBeforeFields + 1 + 2 * fields);
  }
  ++position_.entries;
  position_.bytes = saturated(position_.bytes + bytes);
}

bool StreamNodeWalk::take(const StreamEntry& entry, bool is_deleted) {
  if (!position_.begins_node() && begins_node(entry)) return false;
  if (!is_deleted && node_.live++ == 0) {
    node_.first = entry.id();
    node_.first_position = position_;
  }
  node_.last = entry.id();
  pass(entry);
  return true;
}

bool StreamNodeWalk::take_deleted(StreamId last, const StreamNodePosition& next) {
  if (!is_node_full()) node_.last = last;
  if (next.begins_node() || position_.begins_node() || next.node_id != position_.node_id) {
    return false;
  }
  position_ = next;
  return true;
}

void StreamNodeWalk::begin_node(const StreamNodePosition& position) {
  node_ = {};
  position_ = position;
}

void StreamNodeWalk::read_names(const StreamEntry& entry) {
  bool is_same = names_.names.size() == entry.size();
  for (std::size_t i = 0; i < entry.size() && is_same; ++i) {
    is_same = names_.names[i] == entry.name(i);
  }
  if (is_same) return;
  names_ = {};
  for (std::size_t i = 0; i < entry.size(); ++i) {
    const std::string_view name = entry.name(i);
    names_.names.emplace_back(name);
    names_.hash = hash_bytes(name, names_.hash);
    names_.listpack_bytes += element_bytes(name);
    names_.bytes += name.size();
  }
}

}  // namespace rushgate
