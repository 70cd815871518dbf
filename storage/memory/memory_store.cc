#include "storage/memory/memory_store.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace rushgate {

class MemoryStore::Writer final : public StoreBatch::Visitor {
 public:
  explicit Writer(MemoryStore& store) : store_(store) {}

  void put(std::string_view key, std::string_view value) override {
    if (!store_.options_.keep_state) return;
    store_.state_.insert_or_assign(std::string(key), std::string(value));
  }

  void remove(std::string_view key) override {
    const auto found = store_.state_.find(key);
    if (found != store_.state_.end()) store_.state_.erase(found);
  }

  void remove_range(std::string_view begin, std::string_view end) override {
    if (begin >= end) return;
    store_.state_.erase(store_.state_.lower_bound(begin), store_.state_.lower_bound(end));
  }

  void append_run(std::uint64_t stream, StreamId first, std::string_view bytes) override {
    PackedRuns& runs = store_.streams_[stream];
    const std::size_t before = runs.memory_bytes();
    runs.append(first, bytes);
    store_.stream_bytes_ += runs.memory_bytes() - before;
  }

  void trim_stream(std::uint64_t stream, StreamId before) override {
    const auto found = store_.streams_.find(stream);
    if (found == store_.streams_.end()) return;
    PackedRuns& runs = found->second;
    store_.stream_bytes_ -= runs.memory_bytes();
    runs.trim(before);
    store_.stream_bytes_ += runs.memory_bytes();
  }

  void remove_run(std::uint64_t stream, StreamId first) override {
    const auto found = store_.streams_.find(stream);
    if (found == store_.streams_.end()) return;
    PackedRuns& runs = found->second;
    store_.stream_bytes_ -= runs.memory_bytes();
    runs.remove(first);
    store_.stream_bytes_ += runs.memory_bytes();
    if (runs.empty()) store_.streams_.erase(found);
  }

  void drop_streams(std::uint64_t first, std::uint64_t last) override {
    if (first == last) return drop(store_.streams_.find(first));
    for (auto stream = store_.streams_.begin(); stream != store_.streams_.end();) {
      const auto next = std::next(stream);
      if (stream->first >= first && stream->first <= last) drop(stream);
      stream = next;
    }
  }

 private:
  void drop(Streams::iterator stream) {
    if (stream == store_.streams_.end()) return;
    store_.stream_bytes_ -= stream->second.memory_bytes();
    store_.streams_.erase(stream);
  }

  MemoryStore& store_;
};

absl::Status MemoryStore::load(
    absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) {
  for (const auto& [key, value] : state_) visit(key, value);
  return absl::OkStatus();
}

absl::Status MemoryStore::commit(const StoreBatch& batch) {
  Writer writer(*this);
  batch.visit(writer);
  return absl::OkStatus();
}

absl::Status MemoryStore::sync() { return absl::OkStatus(); }

absl::Status MemoryStore::read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                      std::size_t bytes_max, std::vector<StreamRun>& runs) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second.read(from, to, bytes_max, runs);
  return absl::OkStatus();
}

absl::Status MemoryStore::read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                           std::size_t bytes_max, std::vector<StreamRun>& runs) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second.read_back(from, to, bytes_max, runs);
  return absl::OkStatus();
}

absl::Status MemoryStore::find_last_stream(std::uint64_t& stream) {
  stream = 0;
  for (const auto& [number, runs] : streams_) stream = std::max(stream, number);
  return absl::OkStatus();
}

}  // namespace rushgate
