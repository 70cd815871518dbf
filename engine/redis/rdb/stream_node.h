// A node of a stream in a payload of DUMP: some entries in a listpack.
//
//   node    = number of entries, number of deleted ones, n, name * n, 0, entry*
//   entry   = flags, ms, seq, n, (name, value) * n, m    ms and seq: the distance to the node's id
//             flags, ms, seq, value * n, m               flags & 2: the names are those of the node
//                                                        m: the number of parts before it
//
// Deleted entries (flags & 1) do not count as entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/redis/keyspace/stream_segment.h"
#include "engine/redis/rdb/listpack.h"
#include <rushgate/stream_id.h>

namespace rushgate::rdb {

/// Reads the entries of a node and checks all of it. Valid as long as the bytes.
class StreamNodeReader {
 public:
  StreamNodeReader(StreamId first, std::string_view listpack);

  /// Reads the next entry. Returns false at the end, and if the node is invalid.
  bool next();
  /// Returns false if the node is invalid as far as it was read.
  [[nodiscard]] bool ok() const { return ok_ && listpack_.ok(); }

  // ---- The entry that was read. Valid until the next one ----
  [[nodiscard]] bool is_deleted() const { return is_deleted_; }
  [[nodiscard]] StreamId id() const { return id_; }
  /// Returns the fields; there is at least one.
  [[nodiscard]] StreamFields fields() const { return fields_; }

 private:
  bool fail();
  std::int64_t read_number_of_fields();
  void read_node_names();
  bool read_id();
  void read_fields();
  void read_node_fields();
  bool read_entry();
  bool check_end();

  const StreamId first_;
  ListpackReader listpack_;
  std::uint64_t left_ = 0;          // entries, deleted ones included
  std::uint64_t deleted_left_ = 0;  // of them
  std::vector<std::string> node_names_;
  bool has_read_ = false;
  bool ok_ = true;

  bool is_deleted_ = false;
  StreamId id_;
  std::vector<std::string> names_;  // if they are not those of the node
  std::vector<std::string> values_;
  std::vector<StreamField> fields_;
};

/// Writes a node.
class StreamNodeWriter {
 public:
  void append(const StreamEntry& entry);

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] StreamId first() const { return first_; }
  [[nodiscard]] std::size_t size_bytes() const { return entries_.size_bytes(); }
  /// Returns the listpack.
  [[nodiscard]] std::string bytes() const;

 private:
  [[nodiscard]] bool has_names_of(const StreamEntry& entry) const;

  std::int64_t count_ = 0;
  StreamId first_;
  std::vector<std::string> names_;  // of the node
  ListpackWriter entries_;
};

}  // namespace rushgate::rdb
