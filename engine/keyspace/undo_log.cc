#include "engine/keyspace/undo_log.h"

#include <algorithm>

namespace rushgate {

void* UndoLog::allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + rounded > chunks_[chunk_].size) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::size_t size = std::max(kChunkBytes, rounded);
    chunks_.push_back({std::make_unique<std::byte[]>(size), size});
  }
  void* memory = chunks_[chunk_].bytes.get() + used_;
  used_ += rounded;
  return memory;
}

void UndoLog::roll_back_to(std::size_t size) {
  while (steps_.size() > size) {
    const Entry step = steps_.back();
    steps_.pop_back();
    step.run(step.closure);
    if (step.destroy != nullptr) step.destroy(step.closure);
  }
  if (steps_.empty()) forget();
}

void UndoLog::forget() {
  constexpr std::size_t kChunksKept = 16;  // 1 MiB: what an ordinary group needs
  for (const Entry& step : steps_) {
    if (step.destroy != nullptr) step.destroy(step.closure);
  }
  steps_.clear();
  if (chunks_.size() > kChunksKept) chunks_.resize(kChunksKept);
  chunk_ = 0;
  used_ = 0;
}

}  // namespace rushgate
