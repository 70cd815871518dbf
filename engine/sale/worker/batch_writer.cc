#include "engine/sale/worker/batch_writer.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/base/thrown.h"

namespace rushgate {
namespace {

bool has_stored_any(std::span<const OrderResult> results) {
  return std::ranges::any_of(results, [](const OrderResult& result) {
    return result.kind != OrderResult::Kind::kRefused;
  });
}

/// Moves the first entries to the back.
void move_to_back(std::vector<OrderEntry>& entries, std::size_t count) {
  if (entries.empty()) return;
  const auto by = static_cast<std::ptrdiff_t>(count % entries.size());
  std::rotate(entries.begin(), entries.begin() + by, entries.end());
}

DecidedEntry fault_of(const OrderEntry& entry, const absl::Status& status) {
  return {&entry, DecidedEntry::Fate::kFault, std::string(status.message())};
}

void append_results(std::span<const OrderEntry* const> entries,
                    std::span<const OrderResult> results, std::vector<DecidedEntry>& decided) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto fate = DecidedEntry::Fate::kStored;
    if (results[i].kind == OrderResult::Kind::kRefused) fate = DecidedEntry::Fate::kRefused;
    if (results[i].kind == OrderResult::Kind::kTooEarly) fate = DecidedEntry::Fate::kTooEarly;
    decided.push_back({.entry = entries[i],
                       .fate = fate,
                       .reason = results[i].reason,
                       .lacks_pieces = results[i].lacks_pieces,
                       .lacks_stock = results[i].lacks_stock});
  }
}

}  // namespace

BatchWriter::BatchWriter(const SaleStores& stores, int isolate_after)
    : stores_(stores), isolate_after_(isolate_after) {}

absl::StatusOr<std::vector<OrderResult>> BatchWriter::try_write(const WriteSpan& writes,
                                                                const BatchFence& fence) {
  try {
    return writes.events.empty() ? stores_.write(writes.orders, fence)
                                 : stores_.apply(writes.events, fence);
  } catch (...) {
    return thrown();
  }
}

absl::Status BatchWriter::write_all(const EntryWrites& writes, const EntryWrites& suspects,
                                    const BatchFence& fence, std::vector<DecidedEntry>& decided) {
  failed_alone_ = 0;
  absl::Status written =
      is_isolating() ? isolate(writes.all(), fence, decided) : write(writes.all(), fence, decided);
  const WriteSpan alone = suspects.all();
  for (std::size_t i = 0; written.ok() && i < alone.size(); ++i) {
    written = write_suspect(alone.subspan(i, 1), fence, decided);
  }
  if (absl::IsAborted(written)) return written;
  failed_writes_ = written.ok() ? 0 : failed_writes_ + 1;
  if (written.ok()) tried_alone_ = 0;
  return written;
}

absl::Status BatchWriter::write(const WriteSpan& writes, const BatchFence& fence,
                                std::vector<DecidedEntry>& decided) {
  if (writes.size() == 0) return absl::OkStatus();
  const auto results = try_write(writes, fence);
  if (!results.ok() && !is_fault_of_an_order(results.status())) return results.status();
  if (results.ok()) {
    append_results(writes.entries, *results, decided);
    return absl::OkStatus();
  }
  if (writes.size() == 1) {
    decided.push_back(fault_of(*writes.entries[0], results.status()));
    return absl::OkStatus();
  }
  const std::size_t half = writes.size() / 2;
  RETURN_IF_ERROR(write(writes.first(half), fence, decided));
  return write(writes.without_first(half), fence, decided);
}

/// Writes a batch that made the worker pause several times in a row. Writes it in pieces, which
/// grow after a success and shrink after a failure.
///
/// An order that fails alone is at fault only if others are stored, and the store still works after
/// it. Otherwise this is an outage, which ends the attempt and counts against no order.
absl::Status BatchWriter::isolate(WriteSpan writes, const BatchFence& fence,
                                  std::vector<DecidedEntry>& decided) {
  constexpr std::size_t kFailuresMax = 16;  // of single orders, in a row
  std::vector<DecidedEntry> alone;
  absl::Status failure;
  bool has_stored = false;
  std::size_t in_a_row = 0;
  std::size_t piece = 1;
  const auto is_outage = [&] { return !has_stored || !try_write({}, fence).ok(); };
  while (writes.size() > 0) {
    const std::size_t count = std::min(piece, writes.size());
    const auto results = try_write(writes.first(count), fence);
    if (absl::IsAborted(results.status())) return results.status();
    if (!results.ok() && count > 1) {
      piece = count / 2;
      continue;
    }
    if (results.ok()) {
      append_results(writes.entries.first(count), *results, decided);
      has_stored = has_stored || has_stored_any(*results);
      in_a_row = 0;
      piece = 2 * count;
    } else if (is_fault_of_an_order(results.status())) {
      decided.push_back(fault_of(*writes.entries[0], results.status()));
    } else {
      failure = results.status();
      alone.push_back(fault_of(*writes.entries[0], failure));
      if (++in_a_row == kFailuresMax) {
        if (is_outage()) break;
        in_a_row = 0;
      }
    }
    writes = writes.without_first(count);
  }
  if (alone.empty()) return absl::OkStatus();
  if (is_outage()) {
    failed_alone_ = alone.size();
    return failure;
  }
  for (DecidedEntry& one : alone) {
    suspects_.insert(one.entry->id);
    decided.push_back(std::move(one));
  }
  return absl::OkStatus();
}

/// Writes an order that failed while others were stored.
absl::Status BatchWriter::write_suspect(const WriteSpan& suspect, const BatchFence& fence,
                                        std::vector<DecidedEntry>& decided) {
  const auto results = try_write(suspect, fence);
  if (results.ok()) {
    append_results(suspect.entries, *results, decided);
    return absl::OkStatus();
  }
  const bool is_at_fault = is_fault_of_an_order(results.status()) ||
                           (!absl::IsAborted(results.status()) && try_write({}, fence).ok());
  if (!is_at_fault) return results.status();
  decided.push_back(fault_of(*suspect.entries[0], results.status()));
  return absl::OkStatus();
}

void BatchWriter::put_failed_last(std::vector<OrderEntry>& entries) {
  tried_alone_ += failed_alone_;
  move_to_back(entries, std::exchange(failed_alone_, 0));
}

void BatchWriter::put_tried_last(std::vector<OrderEntry>& entries) const {
  move_to_back(entries, tried_alone_);
}

}  // namespace rushgate
