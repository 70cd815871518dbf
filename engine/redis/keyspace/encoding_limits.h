// Redis's size limits for compact encodings. Up to these a hash or a set of integers is packed. They
// also determine OBJECT ENCODING, the form of a HyperLogLog, that SCAN and similar commands return a
// small collection in one step, and the nodes that an approximate trim of a stream removes.
#pragma once

#include <cstdint>

namespace rushgate {

/// Each with the name of its parameter in CONFIG.
struct EncodingLimits {
  std::int64_t hash_entries = 512;         // hash-max-listpack-entries
  std::int64_t hash_value_bytes = 64;      // hash-max-listpack-value
  std::int64_t set_integers = 512;         // set-max-intset-entries
  std::int64_t zset_entries = 128;         // zset-max-listpack-entries
  std::int64_t zset_value_bytes = 64;      // zset-max-listpack-value
  std::int64_t list_node_size = -2;        // list-max-listpack-size
  std::int64_t hll_sparse_bytes = 3'000;   // hll-sparse-max-bytes
  std::int64_t stream_node_entries = 100;  // stream-node-max-entries; 0: no limit
  std::int64_t stream_node_bytes = 4'096;  // stream-node-max-bytes; 0: no limit
};

}  // namespace rushgate
