#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "storage/memory/packed_segments.h"
#include <rushgate/memory_store.h>

namespace rushgate {
namespace {

using State = std::map<std::string, std::string, std::less<>>;
using Streams = std::unordered_map<std::uint64_t, PackedSegments>;  // moving segments needs memory

}  // namespace

struct MemoryStore::Data {
  State state;  // empty unless MemoryStoreOptions::keep_state
  Streams streams;
};

MemoryStore::MemoryStore(MemoryStoreOptions options)
    : options_(options), data_(std::make_unique<Data>()) {}

MemoryStore::~MemoryStore() = default;

/// Writes a batch. Visiting it does all work that needs memory; apply() does the rest. Without
/// apply(), the destructor undoes the appends, the only changes so far.
class MemoryStore::Writer final : public StoreBatch::Visitor {
 public:
  explicit Writer(MemoryStore& store) : store_(store) {}
  ~Writer() override {
    if (!is_applied_) roll_back_appends();
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void put(std::string_view key, std::string_view value) override {
    if (!store_.options_.keep_state) return;
    State alone;
    alone.emplace(key, value);
    steps_.emplace_back(Put{alone.extract(alone.begin())});
  }

  void remove(std::string_view key) override { steps_.emplace_back(Remove{key}); }

  void remove_range(std::string_view begin, std::string_view end) override {
    if (begin < end) steps_.emplace_back(RemoveRange{begin, end});
  }

  void append_segment(std::uint64_t stream, StreamId first, std::string_view bytes) override {
    const auto found = store_.data_->streams.find(stream);
    appends_.push_back({stream, found == store_.data_->streams.end() ? PackedSegments::Savepoint{}
                                                                     : found->second.savepoint()});
    PackedSegments& segments = store_.data_->streams[stream];
    if (is_dropped(stream)) return made_[stream].append(first, bytes);
    store_.stream_bytes_ -= segments.memory_bytes();
    const absl::Cleanup count = [&] { store_.stream_bytes_ += segments.memory_bytes(); };
    segments.append(first, bytes);
  }

  void trim_stream(std::uint64_t stream, StreamId before) override {
    if (is_dropped(stream)) {
      if (const auto made = made_.find(stream); made != made_.end()) made->second.trim(before);
      return;
    }
    // Later appends do not extend the trim.
    if (const auto last = last_segment(stream)) {
      steps_.emplace_back(Trim{stream, std::min(before, *last)});
    }
  }

  void remove_segment(std::uint64_t stream, StreamId first) override {
    if (is_dropped(stream)) {
      const auto made = made_.find(stream);
      if (made != made_.end()) made->second.remove(first, PackedSegments::memory_for_remove());
      return;
    }
    const auto last = last_segment(stream);
    if (!last || first > *last) return;  // a later append may have this id
    steps_.emplace_back(RemoveSegment{stream, first, PackedSegments::memory_for_remove()});
  }

  void drop_streams(std::uint64_t first, std::uint64_t last) override {
    const Drop drop{first, last};
    steps_.emplace_back(drop);
    if (first == last) {
      dropped_.insert(first);
    } else {
      dropped_ranges_.push_back(drop);
    }
    std::erase_if(made_, [&](const auto& made) { return drop.contains(made.first); });
  }

  /// Needs no memory.
  void apply() {
    is_applied_ = true;
    for (Step& step : steps_) {
      std::visit([this](auto& what) { apply(what); }, step);
    }
    Streams made;
    made.swap(made_);
    for (auto& [stream, segments_made] : made) {
      change(stream,
             [&from = segments_made](PackedSegments& segments) { segments = std::move(from); });
    }
  }

 private:
  struct Put {
    State::node_type record;
  };
  struct Remove {
    std::string_view key;
  };
  struct RemoveRange {
    std::string_view begin;
    std::string_view end;
  };
  struct Trim {
    std::uint64_t stream;
    StreamId before;
  };
  struct RemoveSegment {
    std::uint64_t stream;
    StreamId first;
    std::string memory;  // for the segments around it
  };
  struct Drop {
    std::uint64_t first;
    std::uint64_t last;

    [[nodiscard]] bool contains(std::uint64_t stream) const {
      return first <= stream && stream <= last;
    }
  };
  using Step = std::variant<Put, Remove, RemoveRange, Trim, RemoveSegment, Drop>;

  struct Append {
    std::uint64_t stream;
    PackedSegments::Savepoint before;
  };

  [[nodiscard]] bool is_dropped(std::uint64_t stream) const {
    return dropped_.contains(stream) ||
           std::ranges::any_of(dropped_ranges_,
                               [=](const Drop& range) { return range.contains(stream); });
  }

  /// Returns the first id of the stream's last segment, of those appended so far; empty if it has none.
  [[nodiscard]] std::optional<StreamId> last_segment(std::uint64_t stream) const {
    const auto found = store_.data_->streams.find(stream);
    if (found == store_.data_->streams.end() || found->second.empty()) return std::nullopt;
    return found->second.last();
  }

  void apply(Put& put) {
    auto done = store_.data_->state.insert(std::move(put.record));
    if (!done.inserted) done.position->second.swap(done.node.mapped());
  }

  void apply(const Remove& remove) {
    const auto found = store_.data_->state.find(remove.key);
    if (found != store_.data_->state.end()) store_.data_->state.erase(found);
  }

  void apply(const RemoveRange& range) {
    store_.data_->state.erase(store_.data_->state.lower_bound(range.begin),
                              store_.data_->state.lower_bound(range.end));
  }

  void apply(const Trim& trim) {
    change(trim.stream, [&](PackedSegments& segments) { segments.trim(trim.before); });
  }

  void apply(RemoveSegment& remove) {
    change(remove.stream, [&](PackedSegments& segments) {
      segments.remove(remove.first, std::move(remove.memory));
    });
  }

  void apply(const Drop& drop) {
    Streams& streams = store_.data_->streams;
    if (drop.first == drop.last) return drop_stream(streams.find(drop.first));
    for (auto stream = streams.begin(); stream != streams.end();) {
      const auto next = std::next(stream);
      if (drop.contains(stream->first)) drop_stream(stream);
      stream = next;
    }
  }

  void drop_stream(Streams::iterator stream) {
    // If segments were appended later, they replace these.
    if (stream == store_.data_->streams.end() || made_.contains(stream->first)) return;
    store_.stream_bytes_ -= stream->second.memory_bytes();
    store_.data_->streams.erase(stream);
  }

  template <class Change>
  void change(std::uint64_t stream, Change change) {
    const auto found = store_.data_->streams.find(stream);
    if (found == store_.data_->streams.end()) return;
    PackedSegments& segments = found->second;
    store_.stream_bytes_ -= segments.memory_bytes();
    change(segments);
    store_.stream_bytes_ += segments.memory_bytes();
    if (segments.empty() && !made_.contains(stream)) store_.data_->streams.erase(found);
  }

  void roll_back_appends() {
    for (; !appends_.empty(); appends_.pop_back()) {
      change(appends_.back().stream,
             [&](PackedSegments& segments) { segments.roll_back_to(appends_.back().before); });
    }
  }

  MemoryStore& store_;
  std::vector<Step> steps_;
  std::vector<Append> appends_;
  std::unordered_set<std::uint64_t> dropped_;
  std::vector<Drop> dropped_ranges_;
  Streams made_;  // segments appended to streams after their drop
  bool is_applied_ = false;
};

absl::Status MemoryStore::load(
    absl::FunctionRef<void(std::string_view key, std::string_view value)> visit) {
  for (const auto& [key, value] : data_->state) visit(key, value);
  return absl::OkStatus();
}

absl::Status MemoryStore::commit(const StoreBatch& batch) {
  if (batch.empty()) return absl::OkStatus();
  Writer writer(*this);
  batch.visit(writer);
  writer.apply();
  return absl::OkStatus();
}

absl::Status MemoryStore::sync() { return absl::OkStatus(); }

absl::Status MemoryStore::read_stream(std::uint64_t stream, StreamId from, StreamId to,
                                      std::size_t bytes_max, std::vector<StreamSegment>& segments) {
  const auto found = data_->streams.find(stream);
  if (found != data_->streams.end()) found->second.read(from, to, bytes_max, segments);
  return absl::OkStatus();
}

absl::Status MemoryStore::read_stream_back(std::uint64_t stream, StreamId from, StreamId to,
                                           std::size_t bytes_max,
                                           std::vector<StreamSegment>& segments) {
  const auto found = data_->streams.find(stream);
  if (found != data_->streams.end()) found->second.read_back(from, to, bytes_max, segments);
  return absl::OkStatus();
}

absl::Status MemoryStore::find_last_stream(std::uint64_t& stream) {
  stream = 0;
  for (const auto& [number, segments] : data_->streams) stream = std::max(stream, number);
  return absl::OkStatus();
}

}  // namespace rushgate
