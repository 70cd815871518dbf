#include "engine/redis/keyspace/stream_log.h"

#include <algorithm>
#include <iterator>

#include "engine/core/base/concat.h"
#include "engine/core/base/heap.h"
#include "engine/core/base/status_macros.h"
#include "engine/redis/keyspace/stream_segment_reader.h"

namespace rushgate {
namespace {

// The store trims when so many entries can go, because a range deletion has a fixed
// cost.
constexpr std::uint64_t kEntriesWorthTrimming = 1000;

}  // namespace

std::optional<StreamId> StreamLog::id_after(StreamId last, std::int64_t now_ms) {
  const StreamId now{static_cast<std::uint64_t>(std::max(now_ms, std::int64_t{0})), 0};
  if (now.ms > last.ms) return now;
  return last.next();
}

// ---- Reading ----

absl::Status StreamLog::read(StreamId from, StreamId to, Visit visit) const {
  return scan(from, to, [&](const StreamEntry& entry, bool is_deleted) {
    return is_deleted || visit(entry);
  });
}

absl::Status StreamLog::scan(StreamId from, StreamId to,
                             absl::FunctionRef<bool(const StreamEntry&, bool)> visit,
                             absl::FunctionRef<bool(const Gap&)> visit_gap) const {
  if (length() == 0) return absl::OkStatus();
  StreamSegmentReader segment(segments_);
  const DecodedSegment& entries = segment.decoded();
  const StreamDeletions::Gaps& gaps = deletions_.gaps();
  from = std::max(from, first_id());
  to = std::min(to, last_id());
  auto gap = gaps.lower_bound(from);
  if (gap != gaps.begin() && std::prev(gap)->second.last >= from) {
    const auto behind = std::prev(gap)->second.last.next();
    if (!behind) return absl::OkStatus();
    from = *behind;
  }
  const auto is_at_gap = [&](StreamId id) { return gap != gaps.end() && id >= gap->first; };
  while (from <= to) {
    RETURN_IF_ERROR(segment.find_from(from));
    if (segment.found()) {
      RETURN_IF_ERROR(segment.decode());
    }
    // The gap comes first if there is no segment, or if its entries are still in memory.
    std::size_t i = segment.found() ? entries.lower_bound(from) : 0;
    const std::size_t end = segment.found() ? entries.size() : 0;
    for (; i < end && !is_at_gap(entries.id(i)); ++i) {
      const StreamId id = entries.id(i);
      if (id > to || !visit(segment.entry(i), deletions_.contains(id))) return absl::OkStatus();
    }
    const bool meets_gap = gap != gaps.end() && (!segment.found() || i < end);
    if (meets_gap && (gap->first > to || !visit_gap(gap->second))) return absl::OkStatus();
    if (!meets_gap && !segment.found()) break;
    const auto next = (meets_gap ? (gap++)->second.last : entries.last()).next();
    if (!next) break;
    from = *next;
  }
  return absl::OkStatus();
}

absl::Status StreamLog::read_back(StreamId from, StreamId to, Visit visit) const {
  if (length() == 0) return absl::OkStatus();
  StreamSegmentReader segment(segments_);
  const DecodedSegment& entries = segment.decoded();
  from = std::max(from, first_id());
  to = std::min(to, last_id());
  while (from <= to) {
    RETURN_IF_ERROR(segment.find_back(to));
    if (!segment.found()) break;
    RETURN_IF_ERROR(segment.decode());
    for (std::size_t i = entries.lower_bound(to) + 1; i-- > 0;) {
      if (i == entries.size() || entries.id(i) > to || deletions_.contains(entries.id(i))) continue;
      if (entries.id(i) < from || !visit(segment.entry(i))) return absl::OkStatus();
    }
    const auto previous = segment.first().previous();
    if (!previous) break;
    to = *previous;
  }
  return absl::OkStatus();
}

absl::Status StreamLog::contains(StreamId id, bool& found) const {
  found = false;
  return read(id, id, [&](const StreamEntry&) {
    found = true;
    return false;
  });
}

absl::Status StreamLog::miscounted() const {
  return absl::DataLossError(concat("the store holds more or fewer entries of stream ", object_id_,
                                    " than its header counts"));
}

// ---- Appending ----

void StreamLog::append(StreamId id, StreamFields fields) {
  segments_.append(id, fields);
  counters_.add(id, id, 1);
}

void StreamLog::append_rows(StreamId id, std::span<const std::string_view> names,
                            std::span<const std::int64_t> values) {
  const StreamId last = segments_.append_rows(id, names, values);
  counters_.add(id, last, last.seq - id.seq + 1);
}

void StreamLog::roll_back_appends(const StreamSegments::Savepoint& savepoint,
                                  const StreamCounters& counters) {
  segments_.roll_back_to(savepoint);
  set_counters(counters);
}

void StreamLog::set_history(StreamId last_id, std::uint64_t entries_added,
                            StreamId max_deleted_id) {
  // The difference counts as trimmed: these entries are not in the store.
  trimmed_in_store_ += entries_added - counters_.entries_added;
  counters_.last_id = last_id;
  counters_.entries_added = entries_added;
  counters_.max_deleted_id = max_deleted_id;
  segments_.forget_known_end();
}

// ---- Deleting ----

absl::Status StreamLog::find_dead_segment(StreamId id, std::vector<StreamId>& ids) {
  ids.clear();
  if (length() == 0 || id <= first_id() || !deletions_.contains(id) || deletions_.is_in_gap(id)) {
    return absl::OkStatus();
  }
  StreamSegmentReader segment(segments_);
  RETURN_IF_ERROR(segment.find_from(id));
  if (!segment.found() || segment.first() > id) return absl::OkStatus();
  if (segment.is_open()) {
    constexpr std::size_t kUncheckedMax = 1'024;
    if (unchecked_.size() < kUncheckedMax) unchecked_.push_back(id);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(segment.decode());
  const DecodedSegment& entries = segment.decoded();
  const auto is_deleted = [&](std::size_t i) { return deletions_.contains(entries.id(i)); };
  // In most cases one of the two ends is not deleted.
  if (!is_deleted(entries.size() - 1) || !is_deleted(0)) return absl::OkStatus();
  ids.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_deleted(i)) {
      ids.push_back(entries.id(i));
    } else {
      ids.clear();
      break;
    }
  }
  return absl::OkStatus();
}

// ---- The store ----

bool StreamLog::read_header(RecordReader& reader) {
  segments_.forget_checked_end();
  return counters_.read(reader);
}

void StreamLog::complete_records(StoreBatch& batch) {
  const std::uint64_t trimmed = entries_added() - length() - deletions_.count();
  if (trimmed - trimmed_in_store_ >= kEntriesWorthTrimming) {
    trimmed_in_store_ = trimmed;
    batch.trim_stream(object_id_, length() > 0 ? first_id() : last_id());
  }
  segments_.record_open(batch);
}

std::size_t StreamLog::rest_bytes() const {
  const std::size_t first_node = first_node_ == nullptr ? 0 : heap_block(sizeof(FirstNode));
  return deletions_.memory_bytes() + heap_bytes(unchecked_) + first_node;
}

}  // namespace rushgate
