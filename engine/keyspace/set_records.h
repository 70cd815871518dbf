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
// When a set would have more marks than members, and more than kMarksMax, its records are all
// removed and its members written anew, as runs. So a set in which members come and go costs no
// more than twice what its members do, and a removal as much as an addition, on an average.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
  /// Of a set that is written anew.
  static constexpr std::size_t kRunMembersMax = 1'000;

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

  /// Is the set, now of `size` members, to be written anew instead of a removal being recorded?
  [[nodiscard]] bool has_marks_enough(std::size_t size) const {
    return has_runs_ && marks_.size() >= kMarksMax && marks_.size() >= size;
  }
  /// Removes all records of the set, which must not have gathered anything: its members are to be
  /// recorded anew.
  void start_anew(StoreBatch& batch, std::uint64_t object_id);

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
    return heap_bytes(integers_) + heap_bytes(texts_) + marks_.memory_bytes();
  }

  // ---- At open ----

  void loaded_run() { has_runs_ = true; }
  void loaded_removal(std::string_view member) { marks_.add(member); }

 private:
  /// Members that were removed from runs. Few are known by name. Most sets have none.
  class Marks {
   public:
    Marks() = default;
    Marks(Marks&&) = default;
    Marks& operator=(Marks&&) = default;
    Marks(const Marks& other)
        : marks_(other.marks_ ? std::make_unique<Counted>(*other.marks_) : nullptr) {}
    Marks& operator=(const Marks&) = delete;
    ~Marks() = default;

    [[nodiscard]] std::size_t size() const { return marks_ ? marks_->count : 0; }
    /// Empty if there are more than a few.
    [[nodiscard]] std::span<const std::string> members() const {
      return marks_ ? std::span<const std::string>(marks_->members)
                    : std::span<const std::string>();
    }
    void add(std::string_view member);
    void clear() { marks_.reset(); }
    [[nodiscard]] std::size_t memory_bytes() const;

   private:
    struct Counted {
      std::size_t count = 0;
      std::vector<std::string> members;
    };
    std::unique_ptr<Counted> marks_;
  };

  void put_run(StoreBatch& batch, std::uint64_t object_id) const;

  // What was gathered.
  std::vector<std::int64_t> integers_;
  std::vector<std::string> texts_;
  bool has_runs_ = false;  // or had some that were rolled back
  Marks marks_;            // at most: some may have been rolled back, or their members came back
};

/// Calls one of both for each member in the bytes of a run; false if they make no sense.
bool visit_set_run(std::string_view bytes, absl::FunctionRef<void(std::int64_t member)> integer,
                   absl::FunctionRef<void(std::string_view member)> text);

}  // namespace rushgate
