#include "engine/keyspace/stream.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/heap.h"
#include "engine/keyspace/records.h"

namespace rushgate {
namespace {

// Memory of the newest segments of one stream: enough that current consumers never read the store.
// At 10 to 20 bytes an order, the last fifty thousand or more.
constexpr std::size_t kTailBytesMax = 1024 * 1024;

// Bytes read from the store at once: enough to make the cost of seeking small, and few enough to
// drop.
constexpr std::size_t kChunkBytes = 64 * 1024;

// The store trims when so many entries can go, because a range deletion has a fixed
// cost.
constexpr std::uint64_t kEntriesWorthTrimming = 1000;

template <class Segments>
auto first_after(Segments& segments, StreamId id) {
  return std::upper_bound(
      segments.begin(), segments.end(), id,
      [](StreamId bound, const auto& segment) { return bound < segment.first; });
}

template <class Segments>
auto first_ending_at_or_after(Segments& segments, StreamId id) {
  return std::lower_bound(segments.begin(), segments.end(), id,
                          [](const auto& segment, StreamId bound) { return segment.last < bound; });
}

}  // namespace

Stream::Stream(std::uint64_t object_id, Store& store, StreamCaches& caches)
    : object_id_(object_id), store_(store), cache_slot_(caches) {}

Stream::~Stream() = default;

std::optional<StreamId> Stream::id_after(StreamId last, std::int64_t now_ms) {
  const StreamId now{static_cast<std::uint64_t>(std::max(now_ms, std::int64_t{0})), 0};
  if (now.ms > last.ms) return now;
  return last.next();
}

// ---- Reading ----

absl::Status Stream::read(StreamId from, StreamId to, Visit visit) const {
  return scan(from, to, [&](const StreamEntry& entry, bool is_deleted) {
    return is_deleted || visit(entry);
  });
}

absl::Status Stream::scan(StreamId from, StreamId to,
                          absl::FunctionRef<bool(const StreamEntry&, bool)> visit,
                          absl::FunctionRef<bool(const Gap&)> visit_gap) const {
  if (length() == 0) return absl::OkStatus();
  const StreamCaches::Use use(cache_slot_);
  const DecodedSegment& decoded = use->decoded;
  from = std::max(from, first_id());
  to = std::min(to, last_id());
  auto gap = gaps_.lower_bound(from);
  if (gap != gaps_.begin() && std::prev(gap)->second.last >= from) {
    const auto behind = std::prev(gap)->second.last.next();
    if (!behind) return absl::OkStatus();
    from = *behind;
  }
  while (from <= to) {
    SegmentView segment;
    if (absl::Status found = find_segment_from(from, segment); !found.ok()) return found;
    if (!segment.bytes.empty()) {
      if (absl::Status read = decode(segment); !read.ok()) return read;
    }
    // The gap comes first if there is no segment, or if its entries are still in memory.
    std::size_t i = segment.bytes.empty() ? 0 : decoded.lower_bound(from);
    const std::size_t end = segment.bytes.empty() ? 0 : decoded.size();
    const auto is_at_gap = [&](StreamId id) { return gap != gaps_.end() && id >= gap->first; };
    for (; i < end && !is_at_gap(decoded.id(i)); ++i) {
      const StreamId id = decoded.id(i);
      if (id > to || !visit(decoded.entry(i, segment.bytes), is_deleted(id)))
        return absl::OkStatus();
    }
    const bool meets_gap = gap != gaps_.end() && (segment.bytes.empty() || i < end);
    if (meets_gap && (gap->first > to || !visit_gap(gap->second))) return absl::OkStatus();
    if (!meets_gap && segment.bytes.empty()) break;
    const auto next = (meets_gap ? (gap++)->second.last : decoded.last()).next();
    if (!next) break;
    from = *next;
  }
  return absl::OkStatus();
}

absl::Status Stream::read_back(StreamId from, StreamId to, Visit visit) const {
  if (length() == 0) return absl::OkStatus();
  const StreamCaches::Use use(cache_slot_);
  const DecodedSegment& decoded = use->decoded;
  from = std::max(from, first_id());
  to = std::min(to, last_id());
  while (from <= to) {
    SegmentView segment;
    if (absl::Status found = find_segment_back(to, segment); !found.ok()) return found;
    if (segment.bytes.empty()) break;
    if (absl::Status read = decode(segment); !read.ok()) return read;
    for (std::size_t i = decoded.lower_bound(to) + 1; i-- > 0;) {
      if (i == decoded.size() || decoded.id(i) > to || is_deleted(decoded.id(i))) continue;
      if (decoded.id(i) < from || !visit(decoded.entry(i, segment.bytes))) return absl::OkStatus();
    }
    const auto previous = segment.first.previous();
    if (!previous) break;
    to = *previous;
  }
  return absl::OkStatus();
}

bool Stream::is_in_gap(StreamId id) const {
  const auto next = gaps_.upper_bound(id);
  return next != gaps_.begin() && std::prev(next)->second.last >= id;
}

absl::Status Stream::find_dead_segment(StreamId id, std::vector<StreamId>& ids) {
  ids.clear();
  if (length() == 0 || id <= first_id() || !is_deleted(id) || is_in_gap(id)) {
    return absl::OkStatus();
  }
  const StreamCaches::Use use(cache_slot_);
  SegmentView segment;
  if (absl::Status found = find_segment_from(id, segment); !found.ok()) return found;
  if (segment.bytes.empty() || segment.first > id) return absl::OkStatus();
  const bool is_open = (!full_segments_.empty() && segment.first >= full_segments_.front().first) ||
                       (!writer_.empty() && segment.first >= writer_.first());
  if (is_open) {
    constexpr std::size_t kUncheckedMax = 1'024;
    if (unchecked_.size() < kUncheckedMax) unchecked_.push_back(id);
    return absl::OkStatus();
  }
  if (absl::Status read = decode(segment); !read.ok()) return read;
  const DecodedSegment& decoded = use->decoded;
  // In most cases one of the two ends is not deleted.
  if (!is_deleted(decoded.last()) || !is_deleted(decoded.id(0))) return absl::OkStatus();
  ids.reserve(decoded.size());
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    if (is_deleted(decoded.id(i))) {
      ids.push_back(decoded.id(i));
    } else {
      ids.clear();
      break;
    }
  }
  return absl::OkStatus();
}

bool Stream::are_neighbours(StreamId last, StreamId first) const {
  const auto above = last.next();
  const auto below = first.previous();
  if (!above || !below || *above > *below) return true;
  std::vector<StreamSegment> between;
  constexpr std::size_t kOneSegment = 0;
  const absl::Status read =
      store_.read_stream_back(object_id_, *below, *above, kOneSegment, between);
  return read.ok() && (between.empty() || between.front().first <= last);
}

absl::Status Stream::contains(StreamId id, bool& found) const {
  found = false;
  return read(id, id, [&](const StreamEntry&) {
    found = true;
    return false;
  });
}

absl::Status Stream::decode(const SegmentView& segment) const {
  if (cache().decoded.read(segment.first, segment.bytes)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the store holds a segment of stream entries that makes no sense, at ",
                   segment.first.to_string()));
}

// ---- Which run: in memory ----

std::optional<StreamId> Stream::store_end() const {
  StreamId begin;
  if (!cache().tail.empty()) {
    begin = cache().tail.front().first;
  } else if (!full_segments_.empty()) {
    begin = full_segments_.front().first;
  } else if (!writer_.empty()) {
    begin = writer_.first();
  } else {
    return last_id();
  }
  if (begin <= first_id()) return std::nullopt;
  return begin.previous();
}

Stream::SegmentView Stream::find_in_memory_from(StreamId from) const {
  if (const auto segment = first_ending_at_or_after(cache().tail, from);
      segment != cache().tail.end())
    return {segment->first, segment->bytes};
  if (const auto segment = first_ending_at_or_after(full_segments_, from);
      segment != full_segments_.end()) {
    return {segment->first, segment->bytes};
  }
  if (!writer_.empty() && writer_.last() >= from) return {writer_.first(), writer_.bytes()};
  return {};
}

Stream::SegmentView Stream::find_in_memory_back(StreamId from) const {
  if (!writer_.empty() && writer_.first() <= from) return {writer_.first(), writer_.bytes()};
  if (const auto next = first_after(full_segments_, from); next != full_segments_.begin()) {
    return {std::prev(next)->first, std::prev(next)->bytes};
  }
  if (const auto next = first_after(cache().tail, from); next != cache().tail.begin()) {
    return {std::prev(next)->first, std::prev(next)->bytes};
  }
  return {};
}

absl::Status Stream::find_segment_from(StreamId from, SegmentView& segment) const {
  if (const auto end = store_end(); end && from <= *end) {
    if (absl::Status found = find_in_store_from(from, segment);
        !found.ok() || !segment.bytes.empty())
      return found;
  }
  segment = find_in_memory_from(from);
  return absl::OkStatus();
}

absl::Status Stream::find_segment_back(StreamId from, SegmentView& segment) const {
  segment = find_in_memory_back(from);
  if (!segment.bytes.empty()) return absl::OkStatus();
  const auto end = store_end();
  return end ? find_in_store_back(std::min(from, *end), segment) : absl::OkStatus();
}

// ---- Which run: in the store ----

absl::Status Stream::find_in_store_from(StreamId from, SegmentView& segment) const {
  std::size_t bytes_max = kChunkBytes;
  std::size_t bytes_asked =
      0;  // if not 0, the chunk begins with the segment of `from`, or the next
  while (true) {
    const auto next = first_after(cache().chunk.segments, from);
    if (next != cache().chunk.segments.begin()) {
      const StreamSegment& candidate = *std::prev(next);
      if (absl::Status decoded = decode({candidate.first, candidate.bytes}); !decoded.ok())
        return decoded;
      if (cache().decoded.last() >= from) {
        segment = {candidate.first, candidate.bytes};
        return absl::OkStatus();
      }
      bytes_max = kChunkBytes +
                  candidate.bytes.size();  // so that its successor is read too, if there is one
    }
    if (next != cache().chunk.segments.end() &&
        (bytes_asked != 0 || next != cache().chunk.segments.begin())) {
      segment = {next->first, next->bytes};
      return absl::OkStatus();
    }
    if (bytes_asked == bytes_max) return absl::OkStatus();  // there is none
    if (absl::Status loaded = load_chunk_from(from, bytes_max); !loaded.ok()) return loaded;
    bytes_asked = bytes_max;
  }
}

absl::Status Stream::find_in_store_back(StreamId from, SegmentView& segment) const {
  for (bool is_loaded = false;; is_loaded = true) {
    const auto next = first_after(cache().chunk.segments, from);
    if (next != cache().chunk.segments.begin() &&
        (next != cache().chunk.segments.end() || from <= cache().chunk.known_to)) {
      segment = {std::prev(next)->first, std::prev(next)->bytes};
      return absl::OkStatus();
    }
    if (is_loaded) return absl::OkStatus();  // there is none
    if (absl::Status loaded = load_chunk_back(from); !loaded.ok()) return loaded;
  }
}

absl::Status Stream::load_chunk_from(StreamId from, std::size_t bytes_max) const {
  cache().chunk.segments.clear();
  cache().chunk.known_to = {};
  const StreamId to = store_end().value_or(last_id());
  absl::Status status = store_.read_stream(object_id_, from, to, bytes_max, cache().chunk.segments);
  if (!status.ok()) cache().chunk.segments.clear();
  cache().measure_chunk();
  return status;
}

absl::Status Stream::load_chunk_back(StreamId from) const {
  cache().chunk.segments.clear();
  cache().chunk.known_to = from;
  absl::Status status =
      store_.read_stream_back(object_id_, from, first_id(), kChunkBytes, cache().chunk.segments);
  if (!status.ok()) cache().chunk.segments.clear();
  std::reverse(cache().chunk.segments.begin(), cache().chunk.segments.end());
  cache().measure_chunk();
  return status;
}

// ---- A group's position ---- Counted as in Redis 7.0: exact where no deleted entry can interfere,
// else unknown.

bool Stream::may_have_gap_from(StreamId start) const {
  if (length() == 0 || max_deleted_id() == StreamId{}) return false;
  return max_deleted_id() >= first_id() && max_deleted_id() >= start;
}

std::int64_t Stream::entries_up_to(StreamId id) const {
  const auto added = static_cast<std::int64_t>(entries_added());
  const auto live = static_cast<std::int64_t>(length());
  if (added == 0) return 0;
  if (live == 0 && id <= last_id()) return added;
  if (id == last_id()) return added;
  if (id > last_id()) return StreamGroup::kEntriesReadUnknown;
  const bool has_gap_ahead = max_deleted_id() != StreamId{} && max_deleted_id() >= first_id();
  if (!has_gap_ahead && id < first_id()) return added - live;
  if (!has_gap_ahead && id == first_id()) return added - live + 1;
  return StreamGroup::kEntriesReadUnknown;
}

std::optional<std::int64_t> Stream::lag(const StreamGroup& group) const {
  if (entries_added() == 0) return 0;
  std::int64_t read = group.entries_read;
  if (read == StreamGroup::kEntriesReadUnknown || may_have_gap_from(group.last_delivered)) {
    read = entries_up_to(group.last_delivered);
    if (read == StreamGroup::kEntriesReadUnknown) return std::nullopt;
  }
  return static_cast<std::int64_t>(entries_added() -
                                   static_cast<std::uint64_t>(read));  // ENTRIESREAD may be any
}

// ---- Appending and trimming ----

absl::Status Stream::check_end() {
  if (is_end_checked_) return absl::OkStatus();
  const StreamCaches::Use use(cache_slot_);
  std::vector<StreamSegment> newest;
  constexpr std::size_t kOneSegment = 0;
  if (absl::Status read = store_.read_stream_back(object_id_, StreamId::max(), StreamId::max(),
                                                  kOneSegment, newest);
      !read.ok()) {
    return read;
  }
  if (!newest.empty()) {
    const StreamSegment& segment = newest.front();
    if (absl::Status decoded = decode({segment.first, segment.bytes}); !decoded.ok())
      return decoded;
    const StreamId last = use->decoded.last();
    if (last > last_id()) {
      return absl::DataLossError(absl::StrCat("the store holds entry ", last.to_string(),
                                              " of stream ", object_id_, ", whose last id is ",
                                              last_id().to_string()));
    }
  }
  is_end_checked_ = true;
  return absl::OkStatus();
}

void Stream::append(StreamId id, StreamFields fields) {
  open_segment_for(id);
  writer_.append(id, fields);
  count_appended(id, id, 1);
}

void Stream::append_rows(StreamId id, std::span<const std::string_view> names,
                         std::span<const std::int64_t> values) {
  StreamId next = id;
  while (!values.empty()) {
    open_segment_for(next);
    const std::size_t rows = writer_.append_rows(next, names, values);
    values = values.subspan(rows * names.size());
    next.seq += rows;
  }
  count_appended(id, writer_.last(), next.seq - id.seq);
}

void Stream::open_segment_for(StreamId id) {
  if (writer_.takes(id)) return;
  const StreamId first = writer_.first();
  const StreamId last = writer_.last();
  constexpr std::size_t kSegmentsMin = 4;
  if (full_segments_.size() == full_segments_.capacity()) {
    full_segments_.reserve(std::max(2 * full_segments_.size(), kSegmentsMin));
  }
  full_segments_.push_back({first, last, writer_.take()});
  open_bytes_ += heap_bytes(full_segments_.back().bytes);
}

void Stream::count_appended(StreamId first, StreamId last, std::uint64_t count) {
  if (counters_.length == 0) {
    counters_.first_id = first;
    counters_.node_position = 0;
  }
  counters_.length += count;
  counters_.entries_added += count;
  counters_.last_id = last;
}

void Stream::roll_back_appends(const AppendSavepoint& savepoint, const Counters& counters) {
  if (full_segments_.size() > savepoint.full_segments) {
    for (std::size_t i = savepoint.full_segments; i < full_segments_.size(); ++i) {
      open_bytes_ -= heap_bytes(full_segments_[i].bytes);
    }
    Segment& open_then = full_segments_[savepoint.full_segments];
    writer_.resume(open_then.first, open_then.last, std::move(open_then.bytes));
    full_segments_.erase(
        full_segments_.begin() + static_cast<std::ptrdiff_t>(savepoint.full_segments),
        full_segments_.end());
  }
  writer_.roll_back_to(savepoint.writer);
  counters_ = counters;
  if (StreamCache* const cache = cache_slot_.cache()) {
    cache->decoded.clear();  // it may be an earlier state of the open segment
  }
  forget_known_end();
}

/// Ids up to there may be given again.
void Stream::forget_known_end() {
  if (StreamCache* const cache = cache_slot_.cache()) cache->chunk.known_to = {};
}

/// Finds the whole nodes that a trim may remove. Receives all entries in order.
class Stream::NodeCutter {
 public:
  NodeCutter(const TrimTo& to, const Counters& counters, Cut& cut)
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
  const Counters& counters_;
  std::uint32_t position_;  // of the next entry, in the node
  std::uint64_t node_live_ = 0;
  StreamId node_first_;  // among the readable entries
  std::uint32_t node_first_position_ = 0;
  StreamId node_last_;
  Cut& cut_;
};

absl::Status Stream::find_cut(const TrimTo& to, Cut& cut) const {
  cut = {0, first_id(), counters_.node_position};
  if (length() == 0) return absl::OkStatus();
  if (to.length_max ? length() <= *to.length_max : first_id() >= to.min_id) return absl::OkStatus();
  if (to.whole_nodes) {
    if (to.length_max && deleted_count() == 0 &&
        length() - *to.length_max <
            std::min<std::uint64_t>(kNodeEntries - counters_.node_position, length())) {
      return absl::OkStatus();  // the usual case, without reading entries: the first node
                                // stays
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

absl::Status Stream::find_front(Cut& cut) const {
  return cut_before([](StreamId) { return true; }, cut);
}

absl::Status Stream::cut_before(absl::FunctionRef<bool(StreamId)> stays, Cut& cut) const {
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

absl::Status Stream::check(const Cut& cut) const {
  const bool removes_all = cut.first_id == StreamId{};
  const bool fits = removes_all ? cut.removed == length() : cut.removed < length();
  return fits ? absl::OkStatus() : miscounted();
}

absl::Status Stream::miscounted() const {
  return absl::DataLossError(absl::StrCat("the store holds more or fewer entries of stream ",
                                          object_id_, " than its header counts"));
}

// ---- Groups ----

StreamGroup* Stream::find_group(std::string_view name) const {
  const auto found = groups_.find(name);
  return found == groups_.end() ? nullptr : found->second.get();
}

void Stream::attach_group(std::unique_ptr<StreamGroup> group) {
  std::string name = group->name;
  enter(*groups_.emplace(std::move(name), std::move(group)).first);
}

void Stream::put_back(Groups::node_type group) {
  enter(*groups_.insert(std::move(group)).position);
}

void Stream::enter(Groups::value_type& entry) {
  auto& [name, group] = entry;
  group->attached = true;
  group->stream_bytes = &groups_bytes_;
  groups_bytes_ += group->memory_bytes() + heap_bytes(name);
}

Stream::Groups::node_type Stream::take_group(StreamGroup& group) {
  const auto found = groups_.find(group.name);
  assert(found != groups_.end() && found->second.get() == &group);
  groups_bytes_ -= group.memory_bytes() + heap_bytes(found->first);
  group.stream_bytes = nullptr;
  group.attached = false;
  return groups_.extract(found);
}

void Stream::mark_dirty(StreamGroup& group) {
  if (group.is_dirty) return;
  dirty_groups_.push_back(&group);
  group.is_dirty = true;
}

void Stream::mark_dirty(StreamGroup& group, StreamConsumer& consumer) {
  if (consumer.is_dirty) return;
  dirty_consumers_.emplace_back(&group, &consumer);
  consumer.is_dirty = true;
}

void Stream::forget_dirty(const StreamGroup& group) { std::erase(dirty_groups_, &group); }

void Stream::forget_dirty(const StreamConsumer& consumer) {
  std::erase_if(dirty_consumers_, [&](const auto& dirty) { return dirty.second == &consumer; });
}

// ---- The end of a group of requests ----

bool Stream::is_dead(StreamId last_of_segment) const {
  return length() == 0 || last_of_segment < first_id();
}

void Stream::complete_records(StoreBatch& batch) {
  record_dirty(batch);
  record_trim(batch);
  record_open_segments(batch);
}

void Stream::record_open_segments(StoreBatch& batch) const {
  for (const Segment& segment : full_segments_) {
    if (!is_dead(segment.last)) batch.append_segment(object_id_, segment.first, segment.bytes);
  }
  if (!writer_.empty() && !is_dead(writer_.last()))
    batch.append_segment(object_id_, writer_.first(), writer_.bytes());
}

void Stream::record_trim(StoreBatch& batch) {
  const std::uint64_t trimmed = entries_added() - length() - deleted_count();
  if (trimmed - trimmed_in_store_ < kEntriesWorthTrimming) return;
  trimmed_in_store_ = trimmed;
  batch.trim_stream(object_id_, length() > 0 ? first_id() : last_id());
}

void Stream::end_batch() {
  try {
    extend_tail();
  } catch (const std::bad_alloc&) {
    cache_slot_.drop();
  }
  full_segments_.clear();
  open_bytes_ = 0;
  writer_.take();
  for (StreamGroup* group : dirty_groups_) group->is_dirty = false;
  for (const auto& [group, consumer] : dirty_consumers_) consumer->is_dirty = false;
  dirty_groups_.clear();
  dirty_consumers_.clear();
}

void Stream::extend_tail() {
  const bool has_new = !full_segments_.empty() || !writer_.empty();
  if (!has_new && cache_slot_.cache() == nullptr) return;
  const StreamCaches::Use use(cache_slot_);
  for (Segment& segment : full_segments_) append_to_tail(std::move(segment));
  if (!writer_.empty()) {
    const StreamId first = writer_.first();
    const StreamId last = writer_.last();
    append_to_tail({first, last, writer_.take()});
  }
  shorten_tail();
}

void Stream::append_to_tail(Segment segment) {
  if (!is_dead(segment.last))
    cache().append_to_tail(std::move(segment));  // else the store has dropped it
}

void Stream::shorten_tail() {
  StreamCache& cached = cache();
  while (!cached.tail.empty() &&
         (cached.tail_bytes > kTailBytesMax || is_dead(cached.tail.front().last))) {
    cached.pop_tail();
  }
}

// ---- Memory ----

/// Returns the memory without the writer's, and without that of full segments and groups.
std::size_t Stream::rest_bytes() const {
  return heap_bytes(full_segments_) + heap_bytes(dirty_groups_) + heap_bytes(dirty_consumers_) +
         tree_bytes<StreamId>(deleted_.size()) + tree_bytes<Gaps::value_type>(gaps_.size()) +
         heap_bytes(unchecked_) + tree_bytes<Groups::value_type>(groups_.size());
}

std::size_t Stream::measured_bytes() const {
  std::size_t bytes = writer_.memory_bytes() + rest_bytes();
  for (const Segment& segment : full_segments_) bytes += heap_bytes(segment.bytes);
  for (const auto& [name, group] : groups_) bytes += group->memory_bytes() + heap_bytes(name);
  return bytes;
}

std::size_t Stream::cache_bytes() const {
  const StreamCache* const cache = cache_slot_.cache();
  return cache == nullptr ? 0 : cache->measured_bytes();
}

}  // namespace rushgate
