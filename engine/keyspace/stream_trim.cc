// The trims of a stream: by length or by id, exact or by whole nodes.
#include <algorithm>
#include <cstdint>

#include "engine/keyspace/stream_log.h"

namespace rushgate {
namespace {

constexpr std::uint32_t kNodeEntries = StreamCounters::kNodeEntries;

using Cut = StreamLog::Cut;
using Gap = StreamDeletions::Gap;
using TrimTo = StreamLog::TrimTo;

/// Finds the whole nodes that a trim may remove. Receives all entries in order.
class NodeCutter {
 public:
  NodeCutter(const TrimTo& to, const StreamCounters& counters, Cut& cut)
      : to_(to), counters_(counters), position_(counters.node_position), cut_(cut) {}

  /// Returns false once the new beginning of the stream is known.
  bool visit(StreamId id, bool is_deleted) {
    if (position_ == kNodeEntries) {
      if (!close_node()) return false;
      position_ = 0;
      node_live_ = 0;
    }
    if (!is_deleted && node_live_++ == 0) {
      node_first_ = id;
      node_first_position_ = position_;
    }
    node_last_ = id;
    ++position_;
    return true;
  }

  /// As visit(), for all entries of a gap. If a node ends within it, the gap's last id stands for
  /// the node's: an approximate trim may keep such a node where Redis removes it.
  bool visit_gap(const Gap& gap) {
    const std::uint64_t left_in_node = kNodeEntries - position_;
    if (left_in_node > 0) node_last_ = gap.last;
    if (gap.count <= left_in_node) {
      position_ += static_cast<std::uint32_t>(gap.count);
      return true;
    }
    if (!close_node()) return false;
    node_live_ = 0;
    // Nodes without a readable entry are removed.
    position_ = static_cast<std::uint32_t>((gap.count - left_in_node - 1) % kNodeEntries) + 1;
    node_last_ = gap.last;
    return true;
  }

  /// Ends the node, at its last entry or the stream's end. Returns false if the node stays.
  bool close_node() {
    if (node_live_ == 0 || may_remove_node()) {
      cut_.removed += node_live_;
      cut_.first_id = {};
      cut_.node_position = 0;
      return true;
    }
    cut_.first_id = node_first_;
    cut_.node_position = node_first_position_;
    return false;
  }

 private:
  [[nodiscard]] bool may_remove_node() const {
    if (to_.removed_max != 0 && cut_.removed + node_live_ > to_.removed_max) return false;
    if (!to_.length_max) return node_last_ < to_.min_id;
    const std::uint64_t length = counters_.length - cut_.removed;
    return length > *to_.length_max && length - node_live_ >= *to_.length_max;
  }

  const TrimTo& to_;
  const StreamCounters& counters_;
  std::uint32_t position_;  // of the next entry, in the node
  std::uint64_t node_live_ = 0;
  StreamId node_first_;  // among the readable entries
  std::uint32_t node_first_position_ = 0;
  StreamId node_last_;
  Cut& cut_;
};

}  // namespace

absl::Status StreamLog::find_cut(const TrimTo& to, Cut& cut) const {
  cut = {0, first_id(), counters_.node_position};
  if (length() == 0) return absl::OkStatus();
  if (to.length_max ? length() <= *to.length_max : first_id() >= to.min_id) return absl::OkStatus();
  if (to.whole_nodes) return cut_whole_nodes(to, cut);
  if (to.length_max ? *to.length_max == 0 : to.min_id > last_id()) {
    cut = {length(), {}, 0};
    return absl::OkStatus();
  }
  const std::uint64_t removed_most = to.length_max ? length() - *to.length_max : length();
  return cut_before(
      [&](StreamId id) {
        return cut.removed == removed_most || (!to.length_max && id >= to.min_id);
      },
      cut);
}

absl::Status StreamLog::cut_whole_nodes(const TrimTo& to, Cut& cut) const {
  if (to.length_max && deletions_.count() == 0 &&
      length() - *to.length_max <
          std::min<std::uint64_t>(kNodeEntries - counters_.node_position, length())) {
    // The usual case, without reading entries: the first node stays.
    return absl::OkStatus();
  }
  NodeCutter cutter(to, counters_, cut);
  bool is_open = true;
  absl::Status status = scan(
      first_id(), last_id(),
      [&](const StreamEntry& entry, bool is_deleted) {
        return is_open = cutter.visit(entry.id(), is_deleted);
      },
      [&](const Gap& gap) { return is_open = cutter.visit_gap(gap); });
  if (is_open) cutter.close_node();
  return status.ok() ? check(cut) : status;
}

absl::Status StreamLog::find_front(Cut& cut) const {
  return cut_before([](StreamId) { return true; }, cut);
}

absl::Status StreamLog::cut_before(absl::FunctionRef<bool(StreamId)> stays, Cut& cut) const {
  cut = {};
  std::uint64_t position = counters_.node_position;
  absl::Status status = scan(
      first_id(), last_id(),
      [&](const StreamEntry& entry, bool is_deleted) {
        if (!is_deleted && stays(entry.id())) {
          cut.first_id = entry.id();
          cut.node_position = static_cast<std::uint32_t>(position % kNodeEntries);
          return false;
        }
        if (!is_deleted) ++cut.removed;
        ++position;
        return true;
      },
      [&position](const Gap& gap) {
        position += gap.count;
        return true;
      });
  return status.ok() ? check(cut) : status;
}

absl::Status StreamLog::check(const Cut& cut) const {
  const bool removes_all = cut.first_id == StreamId{};
  const bool fits = removes_all ? cut.removed == length() : cut.removed < length();
  return fits ? absl::OkStatus() : miscounted();
}

}  // namespace rushgate
