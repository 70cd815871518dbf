// How the members of one set are kept in the store: a rush adds a thousand buyers in a group, and
// they cost one record.
//
//   element record   object id, member        -> nothing: a member; kRemoved: none, whatever runs
//   say run record       object id, first member  -> the members that the same group added after it
//
// A group that adds one member writes an element record, one that adds more writes a run. A run is
// never changed: once a set has runs, a removal leaves a mark in the member's element record, and a
// set in which members were removed gets no more runs. So the members of a set are
//
//   those of all runs, less those marked as removed, and those with an unmarked element record
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"

namespace rushgate {

class StoreBatch;

/// Belongs to its set. `object_id` is always that of the set.
class SetRecords {
 public:
  /// Value of an element record: the member was removed.
  static constexpr std::string_view kRemoved = "\x01";

  /// Gathers a new member, to be recorded by complete().
  void add_integer(std::int64_t member);
  void add_text(std::string_view member);

  /// Where the gathered members end, to be taken back to.
  struct Mark {
    std::size_t bytes;
    std::uint32_t count;
  };
  [[nodiscard]] Mark mark() const { return {gathered_.bytes.size(), gathered_.count}; }
  /// No effect on what has been recorded meanwhile.
  void take_back_to(const Mark& mark);

  /// Records what was gathered.
  void complete(StoreBatch& batch, std::uint64_t object_id);
  /// Records the removal of a member. What was gathered must have been recorded.
  void record_removal(StoreBatch& batch, std::uint64_t object_id, std::string_view member);

  /// Members of the current group that are not recorded yet, as a run has them.
  struct Gathered {
    std::string bytes;
    std::uint32_t count = 0;
  };
  [[nodiscard]] const Gathered& gathered() const { return gathered_; }
  /// Undoes complete().
  void restore(Gathered gathered) { gathered_ = std::move(gathered); }

  // ---- At open ----

  void loaded_run() { has_runs_ = true; }
  void loaded_removal() { has_removals_ = true; }

 private:
  Gathered gathered_;
  bool has_runs_ = false;      // or had some that were rolled back
  bool has_removals_ = false;  // the same of marks
};

/// Calls visit(member) for each member in the bytes of a run; false if they make no sense.
bool visit_set_run(std::string_view bytes, absl::FunctionRef<void(std::string_view member)> visit);

}  // namespace rushgate
