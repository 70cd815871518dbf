#include "engine/redis/keyspace/set_records.h"

#include <cassert>
#include <span>

#include "engine/core/base/heap.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/varint.h"
#include "engine/redis/keyspace/records.h"
#include "engine/redis/keyspace/removal_records.h"
#include <rushgate/store.h>

namespace rushgate {
namespace {

// A member in a segment: signed varint << 1 of an integer; length << 1, + 1, and the bytes of a
// string. Integers that the shift would damage are written as strings.
constexpr std::int64_t kIntegerMax = (std::int64_t{1} << 61) - 1;
constexpr std::uint64_t kIsText = 1;

bool visit_member(RecordReader& reader, absl::FunctionRef<void(std::int64_t member)> integer,
                  absl::FunctionRef<void(std::string_view member)> text) {
  const std::uint64_t head = reader.varint();
  if ((head & kIsText) == 0) {
    if (reader.ok()) integer(unfold(head >> 1));
    return reader.ok();
  }
  const std::string_view bytes = reader.bytes(head >> 1);
  if (reader.ok()) text(bytes);
  return reader.ok();
}

void write_text(std::string_view member, VarintAppender& out) {
  out.varint(std::uint64_t{member.size()} << 1 | kIsText);
  out.bytes(member);
}

/// There must be at least one member.
void put_segment(StoreBatch& batch, std::uint64_t object_id, std::span<const std::int64_t> integers,
                 std::span<const std::string> texts) {
  std::string key;
  if (!integers.empty()) {
    key = element_key(RecordKind::kSetSegment, object_id, DecimalText(integers.front()));
    integers = integers.subspan(1);
  } else {
    key = element_key(RecordKind::kSetSegment, object_id, texts.front());
    texts = texts.subspan(1);
  }
  std::string rest;
  VarintAppender out(rest);
  for (const std::int64_t member : integers) {
    if (member <= kIntegerMax && member >= -kIntegerMax) {
      out.varint(fold(member) << 1);
    } else {
      write_text(DecimalText(member), out);
    }
  }
  for (const std::string& member : texts) write_text(member, out);
  out.flush();
  batch.put(key, rest);
}

}  // namespace

void SetRecords::Tombstones::add(std::string_view member) {
  if (tombstones_ == nullptr) tombstones_ = DeepPointer(Counted());
  if (tombstones_->count < kSingleRemovalsMax) {
    tombstones_->members.emplace_back(member);
  } else {
    tombstones_->members = std::vector<std::string>();
  }
  ++tombstones_->count;
}

std::size_t SetRecords::Tombstones::memory_bytes() const {
  if (tombstones_ == nullptr) return 0;
  std::size_t bytes = heap_block(sizeof(Counted)) + heap_bytes(tombstones_->members);
  for (const std::string& member : tombstones_->members) bytes += heap_bytes(member);
  return bytes;
}

void SetRecords::roll_back_to(const Savepoint& savepoint) {
  if (integers_.size() > savepoint.integers) integers_.resize(savepoint.integers);
  if (texts_.size() > savepoint.texts) texts_.resize(savepoint.texts);
}

void SetRecords::complete(StoreBatch& batch, std::uint64_t object_id) {
  if (buffered() == 0) return;
  if (buffered() == 1 || tombstones_.size() > 0 || is_being_rewritten()) {
    for (const std::int64_t member : integers_) {
      put_element(batch, object_id, DecimalText(member), {});
    }
    for (const std::string& member : texts_) put_element(batch, object_id, member, {});
  } else {
    put_segment(batch, object_id, integers_, texts_);
    has_segments_ = true;
  }
  constexpr std::size_t kMembersKeptMax = 16 * 1024;  // memory for so many; `= {}` would keep all
  integers_.clear();
  texts_.clear();
  if (integers_.capacity() > kMembersKeptMax) integers_ = std::vector<std::int64_t>();
  if (texts_.capacity() > kMembersKeptMax) texts_ = std::vector<std::string>();
}

void SetRecords::record_removal(StoreBatch& batch, std::uint64_t object_id,
                                std::string_view member) {
  if (is_being_rewritten()) put_element(batch, old_id(), member, kRemoved);
  if (!has_segments_) return remove_element(batch, object_id, member);
  put_element(batch, object_id, member, kRemoved);
  tombstones_.add(member);
}

void SetRecords::begin_rewrite(std::uint64_t old_id) {
  assert(buffered() == 0);
  rewrite_ = DeepPointer(Rewrite{.old_id = old_id});
  has_segments_ = false;
  tombstones_ = Tombstones();
}

void SetRecords::rewrite(StoreBatch& batch, std::uint64_t object_id,
                         std::span<const std::int64_t> integers, std::span<const std::string> texts,
                         std::uint64_t end) {
  rewrite_->position = end;
  if (integers.empty() && texts.empty()) return;
  // None of them has a tombstone: an element record replaced that of a member that was added again.
  put_segment(batch, object_id, integers, texts);
  has_segments_ = true;
}

void SetRecords::end_rewrite(StoreBatch& batch) {
  remove_range(batch, RecordKind::kElement, old_id(), old_id());
  remove_range(batch, RecordKind::kSetSegment, old_id(), old_id());
  rewrite_ = DeepPointer<Rewrite>();
}

void SetRecords::count(std::size_t size, RecordCounts& counts) const {
  // No object in memory knows all records of both ids.
  if (is_being_rewritten()) size += kSingleRemovalsMax + 1;
  counts[RecordKind::kElement] += size + tombstones_.size();
  if (has_segments_ || is_being_rewritten())
    counts[RecordKind::kSetSegment] += size + tombstones_.size();
}

bool visit_set_segment(std::string_view bytes, absl::FunctionRef<void(std::int64_t member)> integer,
                       absl::FunctionRef<void(std::string_view member)> text) {
  RecordReader reader(bytes);
  while (!reader.at_end()) {
    if (!visit_member(reader, integer, text)) return false;
  }
  return true;
}

}  // namespace rushgate
