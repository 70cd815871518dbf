// A memtable for what is written in any order, and read only when it is written out.
#pragma once

#include <rocksdb/memtablerep.h>

namespace rushgate {

/// As rocksdb::VectorRepFactory: an insertion appends, an iterator takes a copy and sorts it. But
/// it sorts by numbers made of the keys' bytes, where calls of RocksDB's comparator were most of
/// what it took to write a table out. For families in rocksdb::BytewiseComparator()'s order, of
/// which nothing is read but through iterators (a DB::Get() aborts), and one writer at a time
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
