// The nodes of a stream's entries (stream_nodes.h).
#include <algorithm>
#include <iterator>

#include "engine/redis/keyspace/stream_log.h"

namespace rushgate {

absl::Status StreamLog::scan_nodes(StreamId from, StreamNodeWalk& walk,
                                   absl::FunctionRef<bool()> end_node,
                                   absl::FunctionRef<bool()> may_read) const {
  return scan(
      from, last_id(),
      [&](const StreamEntry& entry, bool is_deleted) {
        if (!may_read()) return false;
        if (walk.take(entry, is_deleted)) return true;
        if (!end_node()) return false;
        walk.begin_node({});
        return walk.take(entry, is_deleted);
      },
      [&](const Gap& gap) {
        if (walk.take_deleted(gap.last, gap.next)) return true;
        if (!end_node()) return false;
        walk.begin_node(gap.next);
        return true;
      });
}

absl::Status StreamLog::read_first_node(const EncodingLimits& limits) const {
  if (first_node_ == nullptr || first_node_->limit_entries != limits.stream_node_entries ||
      first_node_->limit_bytes != limits.stream_node_bytes) {
    first_node_ = std::make_unique<FirstNode>(FirstNode{.limit_entries = limits.stream_node_entries,
                                                        .limit_bytes = limits.stream_node_bytes,
                                                        .next = counters_.position,
                                                        .node = {}});
  }
  FirstNode& first = *first_node_;
  if (first.is_complete) return absl::OkStatus();
  const auto from = first.node.last == StreamId{} ? first_id() : first.node.last.next();
  if (!from) return absl::OkStatus();
  StreamNodeWalk walk(limits, first.next, first.node);
  absl::Status read = scan_nodes(*from, walk, [&first] {
    first.is_complete = true;
    return false;
  });
  if (read.ok()) {
    first.next = walk.position();
    first.node = walk.node();
  } else {
    first_node_.reset();
  }
  return read;
}

absl::Status StreamLog::count_nodes(const EncodingLimits& limits, std::uint64_t entries_max,
                                    std::uint64_t& count) const {
  count = 0;
  std::uint64_t live = 0;
  StreamNodeWalk walk(limits, counters_.position);
  std::uint64_t left = entries_max;
  const auto end_node = [&] {
    if (walk.node().live > 0) ++count;
    live += walk.node().live;
    return true;
  };
  absl::Status read = scan_nodes(first_id(), walk, end_node, [&left] { return left-- > 0; });
  end_node();
  if (live > 0) count = std::max(count, count * length() / live);
  return read;
}

StreamNodePosition StreamLog::find_position_behind(StreamId last, const EncodingLimits& limits,
                                                   std::uint64_t& entries_left) const {
  std::optional<StreamId> from = first_id();
  StreamNodeWalk walk(limits, counters_.position);
  const StreamDeletions::Gaps& gaps = deletions_.gaps();
  const auto above = gaps.upper_bound(last);
  if (above != gaps.begin()) {
    from = std::prev(above)->second.last.next();
    walk.move_to(std::prev(above)->second.next);
  }
  bool is_read = true;
  const absl::Status read = scan(*from, last, [&](const StreamEntry& entry, bool) {
    is_read = entries_left > 0;
    if (!is_read) return false;
    --entries_left;
    walk.pass(entry);
    return true;
  });
  return read.ok() && is_read ? walk.position() : StreamNodePosition{};
}

bool StreamLog::is_last_node_gone(StreamId last, const StreamNodePosition& position) const {
  if (position.begins_node()) return false;
  bool is_gone = true;
  const auto next = last.next();
  if (next) {
    const absl::Status followed = scan(
        *next, last_id(), [&](const StreamEntry&, bool) { return is_gone = false; },
        [&](const Gap&) { return is_gone = false; });
    if (!followed.ok() || !is_gone) return false;
  }
  const absl::Status readable =
      read(position.node_id, last_id(), [&](const StreamEntry&) { return is_gone = false; });
  return readable.ok() && is_gone;
}

}  // namespace rushgate
