// The records of one set's members in the store. A rush adds a thousand buyers in a batch, which
// cost one record.
//
//   element record   object id, member        -> nothing: it is a member; kRemoved: it is none,
//                                                even if a segment holds it
//   segment record   object id, one member    -> the others that the same batch added
//
// A batch that adds one member writes an element record; one that adds more writes a segment. A
// segment never changes. Once a set has segments, a removal writes a tombstone in the member's
// element record, and a set with tombstones gets no more segments. So the members of a set are
//
//   those in segments without a tombstone, and those with an element record that is no tombstone
//
// A set with more tombstones than members, and more than kTombstonesMax, is rewritten. It gets
// another object id, and its members are written as segments under that, a portion with every few
// removals. Meanwhile a removal is recorded under both ids, and an addition as an element under the
// new id. The members of a set that is being rewritten are
//
//   the members by the old id's records, and those with an element record of the new id
//
// Once all members are written, the old id's records are removed, as two ranges. So a set with
// additions and removals uses at most about three times the space of its members, and an average
// removal writes as much as an addition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/core/base/heap.h"

namespace rushgate {

class RecordCounts;
class StoreBatch;

/// Belongs to its set. `object_id` is always the set's.
class SetRecords {
 public:
  /// The value of a tombstone: the member was removed.
  static constexpr std::string_view kRemoved = "\x01";
  /// A set may have this number of tombstones even if it has fewer members.
  static constexpr std::size_t kTombstonesMax = 1'000;
  /// Members per segment of a copied set.
  static constexpr std::size_t kSegmentMembersMax = 1'000;
  /// Members written with every so many removals while a set is rewritten.
  static constexpr std::size_t kRewrittenAtOnce = 256;
  static constexpr std::size_t kRemovalsPerPortion = 4;

  /// Buffers a new member for complete().
  void add_integer(std::int64_t member) { integers_.push_back(member); }
  void add_text(std::string_view member) { texts_.emplace_back(member); }
  /// Reserves memory: `more` calls of add_integer() throw nothing.
  void reserve_integers(std::size_t more) {
    const std::size_t wanted = integers_.size() + more;
    if (wanted > integers_.capacity()) {
      integers_.reserve(std::max(wanted, 2 * integers_.capacity()));
    }
  }

  /// A savepoint of the buffer.
  struct Savepoint {
    std::size_t integers;
    std::size_t texts;
  };
  [[nodiscard]] Savepoint savepoint() const { return {integers_.size(), texts_.size()}; }
  /// Returns the integers buffered since the savepoint, if nothing was recorded meanwhile.
  [[nodiscard]] std::span<const std::int64_t> integers_since(const Savepoint& savepoint) const {
    return std::span(integers_).subspan(savepoint.integers);
  }
  /// Undoes buffering since the savepoint. Members recorded meanwhile stay.
  void roll_back_to(const Savepoint& savepoint);

  /// Records the buffered members.
  void complete(StoreBatch& batch, std::uint64_t object_id);
  /// Records the removal of a member. The buffer must be empty.
  void record_removal(StoreBatch& batch, std::uint64_t object_id, std::string_view member);

  // ---- Rewriting ----

  /// Returns true if a set of `size` members must be rewritten.
  [[nodiscard]] bool has_many_tombstones(std::size_t size) const {
    return !is_being_rewritten() && has_segments_ && tombstones_.size() >= kTombstonesMax &&
           tombstones_.size() >= size;
  }
  /// Begins to rewrite the set, whose object gets another id. The buffer must be empty.
  void begin_rewrite(std::uint64_t old_id);
  [[nodiscard]] bool is_being_rewritten() const { return rewrite_ != nullptr; }
  /// Returns the set's old id. The set must be in rewriting.
  [[nodiscard]] std::uint64_t old_id() const { return rewrite_->old_id; }
  /// Counts a removal. Returns true if it must write a portion.
  [[nodiscard]] bool is_portion_due() {
    return is_being_rewritten() && rewrite_->removals++ % kRemovalsPerPortion == 0;
  }
  /// Members with table positions from here on are not rewritten yet.
  [[nodiscard]] std::uint64_t rewritten_to() const { return rewrite_->position; }
  /// Records some members as a segment. They are all members up to `end`.
  void rewrite(StoreBatch& batch, std::uint64_t object_id, std::span<const std::int64_t> integers,
               std::span<const std::string> texts, std::uint64_t end);
  /// Removes the records of the old id after all members were rewritten.
  void end_rewrite(StoreBatch& batch);

  // ---- To remove the set ----

  [[nodiscard]] bool has_segments() const { return has_segments_; }
  /// Adds the number of records of a set of `size` members, or more. Their keys are its members and
  /// known_tombstones(), unless there are too many for single removals.
  void count(std::size_t size, RecordCounts& counts) const;
  /// Returns the members with tombstones; empty if there are too many.
  [[nodiscard]] std::span<const std::string> known_tombstones() const {
    return tombstones_.members();
  }

  /// Returns the number of buffered members.
  [[nodiscard]] std::size_t buffered() const { return integers_.size() + texts_.size(); }
  /// Returns true if each member has an element record, and nothing else is known.
  [[nodiscard]] bool are_plain() const {
    return buffered() == 0 && !has_segments_ && tombstones_.size() == 0 && !is_being_rewritten();
  }

  /// Returns the memory on the heap, without buffered strings, which live until the commit.
  [[nodiscard]] std::size_t memory_bytes() const {
    return heap_bytes(integers_) + heap_bytes(texts_) + tombstones_.memory_bytes() +
           (is_being_rewritten() ? heap_block(sizeof(Rewrite)) : 0);
  }

  // ---- At open ----

  void loaded_rewrite(std::uint64_t old_id) { rewrite_ = DeepPointer(Rewrite{.old_id = old_id}); }
  void loaded_segment() { has_segments_ = true; }
  void loaded_removal(std::string_view member) { tombstones_.add(member); }

 private:
  /// Rarely used data on the heap. A copy copies the data.
  template <class T>
  class DeepPointer {
   public:
    DeepPointer() = default;
    explicit DeepPointer(T value) : value_(std::make_unique<T>(std::move(value))) {}
    DeepPointer(DeepPointer&&) noexcept = default;
    DeepPointer& operator=(DeepPointer&&) noexcept = default;
    DeepPointer(const DeepPointer& other)
        : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
    DeepPointer& operator=(const DeepPointer&) = delete;
    ~DeepPointer() = default;

    T* operator->() const { return value_.get(); }
    T& operator*() const { return *value_; }
    friend bool operator==(const DeepPointer& pointer, std::nullptr_t) {
      return pointer.value_ == nullptr;
    }

   private:
    std::unique_ptr<T> value_;
  };

  /// Tombstones in segments. A small number of names is kept.
  class Tombstones {
   public:
    [[nodiscard]] std::size_t size() const {
      return tombstones_ == nullptr ? 0 : tombstones_->count;
    }
    /// Returns the names; empty if there are too many.
    [[nodiscard]] std::span<const std::string> members() const {
      return tombstones_ == nullptr ? std::span<const std::string>()
                                    : std::span<const std::string>(tombstones_->members);
    }
    void add(std::string_view member);
    [[nodiscard]] std::size_t memory_bytes() const;

   private:
    struct Counted {
      std::size_t count = 0;
      std::vector<std::string> members;
    };
    DeepPointer<Counted> tombstones_;
  };

  struct Rewrite {
    std::uint64_t old_id;
    std::uint64_t position = 0;  // members before this position are written
    std::uint64_t removals = 0;  // since the beginning, or since the store was opened
  };

  // The buffer.
  std::vector<std::int64_t> integers_;
  std::vector<std::string> texts_;
  bool has_segments_ = false;  // or had some that were rolled back
  Tombstones tombstones_;      // upper bound: some may have been rolled back or added again
  DeepPointer<Rewrite> rewrite_;
};

/// Calls a function for each member of a segment. Returns false if the bytes are invalid.
bool visit_set_segment(std::string_view bytes, absl::FunctionRef<void(std::int64_t member)> integer,
                       absl::FunctionRef<void(std::string_view member)> text);

}  // namespace rushgate
