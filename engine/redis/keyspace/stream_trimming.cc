// The trims of a stream: by length or by id, exact or by whole nodes.
#include <cstdint>

#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/stream_log.h"

namespace rushgate {
namespace {

using Cut = StreamLog::Cut;
using TrimTo = StreamLog::TrimTo;

/// Returns true if a trim that has removed `removed` entries may remove this node, too.
bool may_remove(const StreamNode& node, const TrimTo& to, std::uint64_t length,
                std::uint64_t removed) {
  if (to.removed_max != 0 && removed + node.live > to.removed_max) return false;
  if (!to.length_max) return node.last < to.min_id;
  const std::uint64_t left = length - removed;
  return left > *to.length_max && left - node.live >= *to.length_max;
}

}  // namespace

absl::Status StreamLog::find_cut(const TrimTo& to, const EncodingLimits& limits, Cut& cut) const {
  cut = {0, first_id(), counters_.position};
  if (length() == 0) return absl::OkStatus();
  if (to.length_max ? length() <= *to.length_max : first_id() >= to.min_id) return absl::OkStatus();
  if (to.whole_nodes) return cut_whole_nodes(to, limits, cut);
  if (to.length_max ? *to.length_max == 0 : to.min_id > last_id()) {
    cut = {length(), {}, {}};
    return absl::OkStatus();
  }
  const std::uint64_t removed_most = to.length_max ? length() - *to.length_max : length();
  return cut_before(
      [&](StreamId id) {
        return cut.removed == removed_most || (!to.length_max && id >= to.min_id);
      },
      limits, cut);
}

absl::Status StreamLog::cut_whole_nodes(const TrimTo& to, const EncodingLimits& limits,
                                        Cut& cut) const {
  // In most cases the first node stays.
  RETURN_IF_ERROR(read_first_node(limits));
  const StreamNode& first = first_node_->node;
  if (first.live > 0 && !may_remove(first, to, length(), 0)) return absl::OkStatus();

  StreamNodeWalk walk(limits, counters_.position);
  bool is_open = true;
  const auto end_node = [&] {
    const StreamNode& node = walk.node();
    is_open = node.live == 0 || may_remove(node, to, length(), cut.removed);
    cut = is_open ? Cut{cut.removed + node.live, {}, {}}
                  : Cut{cut.removed, node.first, node.first_position};
    return is_open;
  };
  RETURN_IF_ERROR(scan_nodes(first_id(), walk, end_node));
  if (is_open) end_node();
  return check(cut);
}

absl::Status StreamLog::find_front(const EncodingLimits& limits, Cut& cut) const {
  return cut_before([](StreamId) { return true; }, limits, cut);
}

absl::Status StreamLog::cut_before(absl::FunctionRef<bool(StreamId)> stays,
                                   const EncodingLimits& limits, Cut& cut) const {
  cut = {};
  StreamNodeWalk walk(limits, counters_.position);
  absl::Status status = scan(
      first_id(), last_id(),
      [&](const StreamEntry& entry, bool is_deleted) {
        if (!is_deleted && stays(entry.id())) {
          cut.first_id = entry.id();
          if (!walk.begins_node(entry)) cut.position = walk.position();
          return false;
        }
        if (!is_deleted) ++cut.removed;
        walk.pass(entry);
        return true;
      },
      [&walk](const Gap& gap) {
        walk.move_to(gap.next);
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
