#include "storage/rocksdb/unsorted_memtable.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <rocksdb/slice.h>

#include "storage/rocksdb/layout.h"

namespace rushgate {
namespace {

using KeyComparator = rocksdb::MemTableRep::KeyComparator;

struct Entry {
  std::uint64_t piece;  // of its key, during the sort
  const char* data;     // in RocksDB's format
};

/// Returns the eight bytes of `key` from `offset` on, with zeros after its end. Numbers compare
/// like keys, unless they are equal.
std::uint64_t piece_of(const rocksdb::Slice& key, std::size_t offset) {
  if (offset + sizeof(std::uint64_t) <= key.size()) return read_big_endian(key.data() + offset);
  char bytes[sizeof(std::uint64_t)] = {};
  if (offset < key.size()) std::memcpy(bytes, key.data() + offset, key.size() - offset);
  return read_big_endian(bytes);
}

class UnsortedMemTable final : public rocksdb::MemTableRep {
 public:
  UnsortedMemTable(const KeyComparator& compare, rocksdb::Allocator* allocator)
      : MemTableRep(allocator), compare_(compare) {}

  void Insert(rocksdb::KeyHandle handle) override {
    const std::lock_guard lock(mutex_);
    entries_.push_back(static_cast<const char*>(handle));
    bytes_.store(entries_.capacity() * sizeof(entries_[0]), std::memory_order_relaxed);
  }

  [[nodiscard]] bool Contains(const char* key) const override {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(entries_,
                               [&](const char* entry) { return compare_(entry, key) == 0; });
  }

  // Unused. The argument's type is not in a public header, and MemTableRep's Get() leaks its
  // iterator.
  void Get(const rocksdb::LookupKey&, void*, bool (*)(void*, const char*)) override {
    std::abort();
  }

  [[nodiscard]] std::size_t ApproximateMemoryUsage() override {
    return bytes_.load(std::memory_order_relaxed);
  }

  Iterator* GetIterator(rocksdb::Arena* arena) override;

 private:
  class SortedCopy;

  std::vector<Entry> copy() const;
  void sort(std::span<Entry> entries, std::size_t offset) const;
  void sort_by_comparator(std::span<Entry> entries) const;

  const KeyComparator& compare_;
  mutable std::mutex mutex_;
  std::vector<const char*> entries_;                  // guarded by mutex_; the oldest first
  std::vector<std::unique_ptr<std::byte[]>> places_;  // guarded by mutex_; see GetIterator()
  std::atomic<std::size_t> bytes_ = 0;
};

/// Sorted at its first use, mostly on RocksDB's own thread.
class UnsortedMemTable::SortedCopy final : public rocksdb::MemTableRep::Iterator {
 public:
  explicit SortedCopy(const UnsortedMemTable& table) : table_(table), entries_(table.copy()) {}

  [[nodiscard]] bool Valid() const override { return position_ < entries_.size(); }
  [[nodiscard]] const char* key() const override { return entries_[position_].data; }
  void Next() override { ++position_; }
  void Prev() override { position_ = position_ == 0 ? entries_.size() : position_ - 1; }

  void Seek(const rocksdb::Slice& key, const char*) override {
    sort();
    position_ = how_many([&](const Entry& entry) { return table_.compare_(entry.data, key) < 0; });
  }
  void SeekForPrev(const rocksdb::Slice& key, const char*) override {
    sort();
    position_ = how_many([&](const Entry& entry) { return table_.compare_(entry.data, key) <= 0; });
    Prev();
  }
  void SeekToFirst() override {
    sort();
    position_ = 0;
  }
  void SeekToLast() override {
    sort();
    position_ = entries_.size();
    Prev();
  }

 private:
  void sort() {
    if (!std::exchange(is_sorted_, true)) table_.sort(entries_, 0);
  }
  /// Moves behind the first entries that are `below`. Those precede all others.
  template <class Below>
  std::size_t how_many(const Below& below) const {
    return static_cast<std::size_t>(std::ranges::partition_point(entries_, below) -
                                    entries_.begin());
  }

  const UnsortedMemTable& table_;
  std::vector<Entry> entries_;
  std::size_t position_ = entries_.size();
  bool is_sorted_ = false;
};

// The arena should provide the memory, and only the iterator's destructor is called. Public headers
// define no arenas, so the table owns the memory. A table has one or two iterators.
rocksdb::MemTableRep::Iterator* UnsortedMemTable::GetIterator(rocksdb::Arena* arena) {
  if (arena == nullptr) return new SortedCopy(*this);
  auto place = std::make_unique<std::byte[]>(sizeof(SortedCopy));
  void* const memory = place.get();
  {
    const std::lock_guard lock(mutex_);
    places_.push_back(std::move(place));
  }
  return new (memory) SortedCopy(*this);
}

/// Returns the newest first, RocksDB's order for versions of one key.
std::vector<Entry> UnsortedMemTable::copy() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> copied;
  copied.reserve(entries_.size());
  std::for_each(entries_.rbegin(), entries_.rend(),
                [&](const char* entry) { copied.push_back({.piece = 0, .data = entry}); });
  return copied;
}

/// The entries are equal before `offset`, except for zeros after the end of some.
void UnsortedMemTable::sort(std::span<Entry> entries, std::size_t offset) const {
  constexpr std::size_t kFew = 8;         // too few to look at all of them again
  constexpr std::size_t kOffsetMax = 64;  // maximum length of the compared prefix
  if (entries.size() <= kFew || offset >= kOffsetMax) return sort_by_comparator(entries);
  bool all_end_before = true;
  for (Entry& entry : entries) {
    const rocksdb::Slice key = UserKey(entry.data);
    entry.piece = piece_of(key, offset);
    all_end_before &= key.size() <= offset;
  }
  if (all_end_before) return sort_by_comparator(entries);
  if (!std::ranges::is_sorted(entries, {}, &Entry::piece)) {
    std::ranges::stable_sort(entries, {}, &Entry::piece);
  }
  for (auto run = entries.begin(); run != entries.end();) {
    const auto end =
        std::find_if(run, entries.end(), [&](const Entry& e) { return e.piece != run->piece; });
    if (end - run > 1) sort({run, end}, offset + sizeof(Entry::piece));
    run = end;
  }
}

/// Orders entries with equal numbers: a key and the same key with zeros appended. Versions of a key
/// are in order already.
void UnsortedMemTable::sort_by_comparator(std::span<Entry> entries) const {
  const auto less = [&](const Entry& left, const Entry& right) {
    return compare_(left.data, right.data) < 0;
  };
  if (!std::ranges::is_sorted(entries, less)) std::ranges::sort(entries, less);
}

}  // namespace

rocksdb::MemTableRep* UnsortedMemTableFactory::CreateMemTableRep(
    const rocksdb::MemTableRep::KeyComparator& compare, rocksdb::Allocator* allocator,
    const rocksdb::SliceTransform*, rocksdb::Logger*) {
  return new UnsortedMemTable(compare, allocator);
}

}  // namespace rushgate
