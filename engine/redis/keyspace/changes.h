// The changeset: the changes of the current commit batch, their undo steps, and their records for
// the store.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/redis/keyspace/memory_count.h"
#include "engine/redis/keyspace/object.h"
#include "engine/redis/keyspace/undo_log.h"
#include <rushgate/store.h>

namespace rushgate {

/// Every mutator of the keyspace does four things. It reserves an undo step, changes memory, and
/// pushes the step, which can no longer fail then. It also appends records(), or makes the
/// object dirty so that its header is written once at the commit. An undo step allocates
/// nothing: it holds the removed data. Not thread-safe: it belongs to the thread that holds the
/// turn.
class Changes {
 public:
  /// A savepoint. Valid until the batch ends, or until a change is recorded after a rollback to an
  /// earlier savepoint.
  struct Savepoint {
    std::size_t undo_steps;
    std::size_t record_bytes;
    std::size_t dirty;
  };

  /// `keeps_state`: as Store::keeps_state() of the store that gets records().
  explicit Changes(bool keeps_state) : records_(keeps_state) {}

  /// Called before an object's value is changed. The following push_undo() does not throw.
  void reserve_undo(Object& object) {
    memory_.note(object);
    undo_.reserve();
  }
  /// Called before any other change: of the set of keys, of published messages, ….
  void reserve_undo() { undo_.reserve(); }
  /// Pushes the undo step reserved by reserve_undo() (UndoLog::push()). Does nothing if the
  /// object was created after the newest savepoint, because a rollback removes it as a
  /// whole.
  template <class Step>
  void push_undo(Object& object, Step step) {
    if (!object.is_newborn) push_undo_always(object, std::move(step));
  }
  /// Pushes the step in any case: it owns data that must live until the batch ends.
  template <class Step>
  void push_undo_always(Object& object, Step step) {
    static_assert(sizeof(Step) <= UndoLog::kStepBytesMax);
    assert(object.is_noted);
    undo_.push(std::move(step), &object);
  }
  template <class Step>
  void push_undo(Step step) {
    static_assert(sizeof(Step) <= UndoLog::kStepBytesMax);
    undo_.push(std::move(step));
  }
  [[nodiscard]] StoreBatch& records() { return records_; }
  [[nodiscard]] MemoryCount& memory() { return memory_; }

  /// Notes that the object was created, and that its creation has an undo step.
  void note_creation(Object& object) {
    newborn_.push_back(&object);
    object.is_newborn = true;
  }

  /// Schedules the buffered elements of a set or stream for the commit.
  void mark_elements_dirty(Object& object);
  /// As above, and also the object's header.
  void mark_dirty(Object& object);

  /// Returns a savepoint.
  [[nodiscard]] Savepoint savepoint() {
    forget_newborn();
    return {undo_.size(), records_.size_bytes(), dirty_.size()};
  }

  /// Returns true if there are changes since the savepoint.
  [[nodiscard]] bool changed_since(const Savepoint& savepoint) const {
    return undo_.size() != savepoint.undo_steps;
  }

  /// Undoes all changes since the savepoint. Does nothing after a rollback to an earlier one.
  void roll_back_to(const Savepoint& savepoint);

  /// Appends the headers of dirty objects to records(), which completes the batch.
  void complete_records();

  /// Forgets the changes after the batch was committed.
  void forget();

  [[nodiscard]] bool empty() const { return undo_.size() == 0; }

 private:
  void forget_newborn() {
    for (Object* const object : newborn_) object->is_newborn = false;
    newborn_.clear();
  }

  MemoryCount memory_;
  UndoLog undo_;
  StoreBatch records_;
  std::vector<Object*> newborn_;  // created since the newest savepoint (Object::is_newborn)
  std::vector<Object*> dirty_;    // each once (Object::change); alive until the batch ends:
                                  // undo_ owns removed ones
};

}  // namespace rushgate
