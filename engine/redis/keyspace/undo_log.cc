#include "engine/redis/keyspace/undo_log.h"

#include <algorithm>

namespace rushgate {

void UndoLog::use_next_chunk(std::size_t bytes_min) {
  while (chunks_used_ < chunks_.size() && bytes_min > chunks_[chunks_used_].size) ++chunks_used_;
  if (chunks_used_ == chunks_.size()) {
    const std::size_t size = std::max(kChunkBytes, bytes_min);
    chunks_.push_back({std::make_unique<std::byte[]>(size), size});
  }
  const Chunk& chunk = chunks_[chunks_used_++];
  free_ = chunk.bytes.get();
  free_bytes_ = chunk.size;
}

void UndoLog::roll_back_to(std::size_t size, absl::FunctionRef<void(Object*)> is_changed) {
  while (steps_.size() > size) {
    const Entry step = steps_.back();
    steps_.pop_back();
    step.run(step.closure);
    if (step.changed != nullptr) is_changed(step.changed);
    if (step.destroy != nullptr) step.destroy(step.closure);
  }
  if (steps_.empty()) forget();
}

void UndoLog::forget() {
  constexpr std::size_t kChunksKept = 16;  // 1 MiB: enough for an ordinary batch
  for (const Entry& step : steps_) {
    if (step.destroy != nullptr) step.destroy(step.closure);
  }
  steps_.clear();
  if (chunks_.size() > kChunksKept) chunks_.resize(kChunksKept);
  chunks_used_ = 0;
  free_bytes_ = 0;
}

}  // namespace rushgate
