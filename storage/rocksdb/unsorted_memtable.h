// A memtable for data written in any order and read only when it is flushed.
#pragma once

#include <rocksdb/memtablerep.h>

namespace rushgate {

/// As rocksdb::VectorRepFactory: an insertion appends, and an iterator sorts a copy. It sorts by
/// numbers built from the keys' bytes, because calls of RocksDB's comparator took most of the time
/// of a flush. For column families in the order of rocksdb::BytewiseComparator(), read only by
/// iterators (DB::Get() aborts), with one writer at a time
/// (DBOptions::allow_concurrent_memtable_write off).
class UnsortedMemTableFactory final : public rocksdb::MemTableRepFactory {
 public:
  [[nodiscard]] const char* Name() const override { return "rushgate.unsorted"; }

  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& compare,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*,
                                          rocksdb::Logger*) override;
};

}  // namespace rushgate
