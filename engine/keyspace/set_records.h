// How the members of one set are kept in the store: a rush adds a thousand buyers in a group, and
// they cost one record.
//
//   element record   object id, member        -> nothing: it is a member; kRemoved: it is none,
//                                                whatever runs say
//   run record       object id, one member    -> the others that the same group added
//
// A group that adds one member writes an element record, one that adds more writes a run. A run is
// never changed: once a set has runs, a removal leaves a mark in the member's element record, and a
// set with marks gets no more runs. So the members of a set are
//
//   those of all runs, less those marked as removed, and those with an unmarked element record
//
// When a set would have more marks than members, and more than kMarksMax, it is rewritten. It gets
// another object id, and its members are written under that as runs, a portion with every few
// removals. Meanwhile a removal is recorded under both ids, and an addition as an element under the
// new one. So the members of a set that is being rewritten are
//
//   those that the old id's records say, and those with an unmarked element record of the new id
//
// Once all members are written, the old id's records are removed, as two ranges. So a set in which
// members come and go costs no more than about three times what its members do, and a removal
// writes as much as an addition, on an average.
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
#include "engine/base/heap.h"

namespace rushgate {

class RecordCounts;
class StoreBatch;

/// Belongs to its set. `object_id` is always that of the set.
class SetRecords {
 public:
  /// Value of an element record: the member was removed.
  static constexpr std::string_view kRemoved = "\x01";
  /// A set with no more members than that may have so many marks.
  static constexpr std::size_t kMarksMax = 1'000;
  /// Of a set that is copied.
  static constexpr std::size_t kRunMembersMax = 1'000;
  /// Of a set that is being rewritten: about so many members with one of so many removals.
  static constexpr std::size_t kRewrittenAtOnce = 256;
  static constexpr std::size_t kRemovalsPerPortion = 4;

  /// Gathers a new member, to be recorded by complete().
  void add_integer(std::int64_t member) { integers_.push_back(member); }
  void add_text(std::string_view member) { texts_.emplace_back(member); }
  /// So many more calls of add_integer() will throw nothing.
  void reserve_integers(std::size_t more) {
    const std::size_t wanted = integers_.size() + more;
    if (wanted > integers_.capacity()) {
      integers_.reserve(std::max(wanted, 2 * integers_.capacity()));
    }
  }

  /// Where the gathered members end, to be taken back to.
  struct Mark {
    std::size_t integers;
    std::size_t texts;
  };
  [[nodiscard]] Mark mark() const { return {integers_.size(), texts_.size()}; }
  /// The integers gathered since `mark`, if nothing was recorded meanwhile.
  [[nodiscard]] std::span<const std::int64_t> integers_since(const Mark& mark) const {
    return std::span(integers_).subspan(mark.integers);
  }
  /// No effect on what has been recorded meanwhile.
  void take_back_to(const Mark& mark);

  /// Records what was gathered.
  void complete(StoreBatch& batch, std::uint64_t object_id);
  /// Records the removal of a member. What was gathered must have been recorded.
  void record_removal(StoreBatch& batch, std::uint64_t object_id, std::string_view member);

  // ---- Rewriting ----

  /// Returns true if a set that now has `size` members is to be rewritten.
  [[nodiscard]] bool has_marks_enough(std::size_t size) const {
    return !is_being_rewritten() && has_runs_ && marks_.size() >= kMarksMax &&
           marks_.size() >= size;
  }
  /// Begins to rewrite the set, whose object gets another id. Nothing may be gathered.
  void begin_rewrite(std::uint64_t old_id);
  [[nodiscard]] bool is_being_rewritten() const { return rewrite_ != nullptr; }
  /// The id that the set had before. It must be being rewritten.
  [[nodiscard]] std::uint64_t old_id() const { return rewrite_->old_id; }
  /// Counts a removal. Returns true if it is to write a portion.
  [[nodiscard]] bool is_portion_due() {
    return is_being_rewritten() && rewrite_->removals++ % kRemovalsPerPortion == 0;
  }
  /// The members with table positions from here on are not yet rewritten.
  [[nodiscard]] std::uint64_t rewritten_to() const { return rewrite_->position; }
  /// Records some of these members as a run. They are the set's up to `end`.
  void rewrite(StoreBatch& batch, std::uint64_t object_id, std::span<const std::int64_t> integers,
               std::span<const std::string> texts, std::uint64_t end);
  /// Removes the records of the old id: all members are rewritten.
  void end_rewrite(StoreBatch& batch);

  // ---- To remove the set ----

  [[nodiscard]] bool has_runs() const { return has_runs_; }
  /// Adds how many records a set of `size` members has, or more. Their keys name its members and
  /// known_marks(), unless that is more than are removed one by one.
  void count(std::size_t size, RecordCounts& counts) const;
  /// The members that were removed and left a mark. Empty if there are too many.
  [[nodiscard]] std::span<const std::string> known_marks() const { return marks_.members(); }

  /// How many members of the current group are not recorded yet.
  [[nodiscard]] std::size_t gathered() const { return integers_.size() + texts_.size(); }

  /// Bytes held beside itself, without those of gathered texts: they go with the commit.
  [[nodiscard]] std::size_t memory_bytes() const {
    return heap_bytes(integers_) + heap_bytes(texts_) + marks_.memory_bytes() +
           (is_being_rewritten() ? heap_block(sizeof(Rewrite)) : 0);
  }

  // ---- At open ----

  void loaded_rewrite(std::uint64_t old_id) { rewrite_ = DeepPointer(Rewrite{.old_id = old_id}); }
  void loaded_run() { has_runs_ = true; }
  void loaded_removal(std::string_view member) { marks_.add(member); }

 private:
  /// What most sets have not. It is copied with what it points to.
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

  /// Members that were removed from runs. Few are known by name.
  class Marks {
   public:
    [[nodiscard]] std::size_t size() const { return marks_ == nullptr ? 0 : marks_->count; }
    /// Empty if there are more than a few.
    [[nodiscard]] std::span<const std::string> members() const {
      return marks_ == nullptr ? std::span<const std::string>()
                               : std::span<const std::string>(marks_->members);
    }
    void add(std::string_view member);
    [[nodiscard]] std::size_t memory_bytes() const;

   private:
    struct Counted {
      std::size_t count = 0;
      std::vector<std::string> members;
    };
    DeepPointer<Counted> marks_;
  };

  struct Rewrite {
    std::uint64_t old_id;
    std::uint64_t position = 0;  // so far the members are written
    std::uint64_t removals = 0;  // since it began, or since the store was opened
  };

  // What was gathered.
  std::vector<std::int64_t> integers_;
  std::vector<std::string> texts_;
  bool has_runs_ = false;  // or had some that were rolled back
  Marks marks_;            // at most: some may have been rolled back, or their members came back
  DeepPointer<Rewrite> rewrite_;
};

/// Calls one of both for each member in the bytes of a run; false if they make no sense.
bool visit_set_run(std::string_view bytes, absl::FunctionRef<void(std::int64_t member)> integer,
                   absl::FunctionRef<void(std::string_view member)> text);

}  // namespace rushgate
