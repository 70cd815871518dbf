// The changeset: what the current group of requests has changed, how to take it back, and what the
// store must keep of it.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/keyspace/memory_count.h"
#include "engine/keyspace/object.h"
#include "engine/keyspace/undo_log.h"
#include "engine/store/store_batch.h"

namespace rushgate {

/// Every mutator of the keyspace does four things. It reserves an undo step, changes memory, and
/// pushes the step, which thus cannot fail once memory is changed. And it either appends to
/// records() what the store must keep or touches the object, whose header is then written once when
/// the group commits. An undo step allocates nothing: it holds what the change removed. Not
/// thread-safe: it belongs to the thread that has the turn.
class Changes {
 public:
  /// A savepoint. It is valid until the batch ends, or until something is recorded after a
  /// roll-back to an earlier one.
  struct Mark {
    std::size_t undo_steps;
    std::size_t record_bytes;
    std::size_t touched;
  };

  /// Before the object's value is changed: the push_undo() that follows throws nothing.
  void reserve_undo(Object& object) {
    memory_.note(object);
    undo_.reserve();
  }
  /// Before anything else is changed: which keys there are, what is published, ….
  void reserve_undo() { undo_.reserve(); }
  /// Records how to undo the change for which reserve_undo() was called (UndoLog::push()). No
  /// effect if the object was created after the newest savepoint: a roll-back removes it as a
  /// whole.
  template <class Step>
  void push_undo(Object& object, Step step) {
    if (!object.is_newborn) push_undo_always(object, std::move(step));
  }
  /// Records the step in any case: it holds something that must live until the batch ends.
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

  /// What the set or stream gathered is to be written when the group commits.
  void gather(Object& object);
  /// That, and the object's header.
  void touch(Object& object);

  /// Returns a savepoint at the present point.
  [[nodiscard]] Mark mark() {
    forget_newborn();
    return {undo_.size(), records_.size_bytes(), touched_.size()};
  }

  /// Has anything been changed since `mark`?
  [[nodiscard]] bool changed_since(const Mark& mark) const {
    return undo_.size() != mark.undo_steps;
  }

  /// Undoes all changes since `mark`. No effect if a roll-back to an earlier one came before.
  void roll_back_to(const Mark& mark);

  /// Appends the touched objects' headers to records(): the batch is then complete.
  void complete_records();

  /// The batch was kept: everything stays as it is.
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
  std::vector<Object*> newborn_;  // those created since the newest savepoint (Object::is_newborn)
  std::vector<Object*> touched_;  // each once (Object::change); alive until the group ends:
                                  // removed ones are held by undo_
};

}  // namespace rushgate
