#include "engine/redis/executor/guarded_part.h"

#include <exception>
#include <new>
#include <stdexcept>

#include "engine/redis/executor/executor_errors.h"

namespace rushgate {

std::optional<Reply> run_guarded(Keyspace& keyspace, absl::FunctionRef<void()> part) {
  const Changes::Savepoint savepoint = keyspace.changes().savepoint();
  Reply error;
  try {
    part();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    error = Reply::error(executor_errors::kOutOfMemoryText);
  } catch (const std::length_error&) {  // more than any memory could hold
    error = Reply::error(executor_errors::kOutOfMemoryText);
  } catch (const std::exception& failure) {
    error = Reply::error(executor_errors::internal(failure.what()));
  } catch (...) {
    error = Reply::error(executor_errors::internal("unknown exception"));
  }
  keyspace.changes().roll_back_to(savepoint);
  return error;
}

}  // namespace rushgate
