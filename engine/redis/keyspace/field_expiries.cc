#include "engine/redis/keyspace/field_expiries.h"

#include <iterator>

#include "engine/core/base/heap.h"

namespace rushgate {

FieldExpiries::FieldExpiries() {
  Hashes made;
  free_place_ = made.extract(made.insert(ExpiringHash{}));
}

std::optional<std::int64_t> FieldExpiries::find(std::string_view field) const {
  const auto found = by_field_.find(field);
  return found == by_field_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t FieldExpiries::count_hidden() const {
  const auto end_of = [this](std::int64_t until_ms) { return by_time_.upper_bound(until_ms); };
  if (counted_until_ms_ < hidden_until_ms_) {
    counted_ += static_cast<std::size_t>(
        std::distance(end_of(counted_until_ms_), end_of(hidden_until_ms_)));
  } else if (counted_until_ms_ > hidden_until_ms_) {
    counted_ -= static_cast<std::size_t>(
        std::distance(end_of(hidden_until_ms_), end_of(counted_until_ms_)));
  }
  counted_until_ms_ = hidden_until_ms_;
  return counted_;
}

bool FieldExpiries::are_due(std::int64_t now_ms) const {
  if (!hides_any()) return !empty() && first_ms() <= now_ms;
  const auto first = by_time_.upper_bound(hidden_until_ms_);
  return first != by_time_.end() && (*first)->second <= now_ms;
}

FieldExpiries::Assigned FieldExpiries::assign(std::string_view field, std::int64_t expire_at_ms) {
  Assigned done{.field = std::string(field), .old_ms = std::nullopt};
  const auto [entry, is_new] = by_field_.try_emplace(done.field, expire_at_ms);
  if (!is_new) {
    done.old_ms = entry->second;
    move(entry, expire_at_ms);
    return done;
  }
  try {
    by_time_.insert(&*entry);
  } catch (...) {  // out of memory
    by_field_.erase(entry);
    throw;
  }
  name_bytes_ += heap_bytes(entry->first);
  count(expire_at_ms);
  return done;
}

void FieldExpiries::roll_back(const Assigned& assigned) {
  if (assigned.old_ms) {
    move(by_field_.find(assigned.field), *assigned.old_ms);
  } else {
    static_cast<void>(take(assigned.field));
  }
}

void FieldExpiries::move(ByField::iterator entry, std::int64_t expire_at_ms) {
  uncount(entry->second);
  ByTime::node_type node = by_time_.extract(&*entry);
  entry->second = expire_at_ms;
  by_time_.insert(std::move(node));
  count(expire_at_ms);
}

FieldExpiries::Taken FieldExpiries::take(std::string_view field) {
  const auto entry = by_field_.find(field);
  if (entry == by_field_.end()) return {};
  name_bytes_ -= heap_bytes(entry->first);
  uncount(entry->second);
  ByTime::node_type by_time = by_time_.extract(&*entry);
  return {.by_field = by_field_.extract(entry), .by_time = std::move(by_time)};
}

void FieldExpiries::roll_back(Taken taken) {
  if (taken.by_field.empty()) return;
  const auto entry = by_field_.insert(std::move(taken.by_field)).position;
  by_time_.insert(std::move(taken.by_time));  // it points to the same node
  name_bytes_ += heap_bytes(entry->first);
  count(entry->second);
}

namespace {

/// Returns the memory of `size` expiries without the names of their fields.
template <class Entry>
std::size_t bytes_without_names(std::size_t size) {
  return heap_block(sizeof(FieldExpiries)) + tree_bytes<ExpiringHash>(1) + tree_bytes<Entry>(size) +
         tree_bytes<const Entry*>(size);
}

}  // namespace

std::size_t FieldExpiries::memory_bytes() const {
  return bytes_without_names<Entry>(size()) + name_bytes_;
}

std::size_t FieldExpiries::measured_bytes() const {
  std::size_t bytes = bytes_without_names<Entry>(by_time_.size());
  for (const Entry* const entry : by_time_) bytes += heap_bytes(entry->first);
  return bytes;
}

// ---- The hashes of a database ----

void HashesByExpiry::update(Object& object, FieldExpiries& expiries) {
  if (expiries.empty()) return remove(expiries);
  const std::int64_t expire_at_ms = expiries.first_ms();
  if (expiries.free_place_.empty()) {
    if (expiries.place_->expire_at_ms == expire_at_ms) return;
    expiries.free_place_ = hashes_.extract(expiries.place_);
  }
  expiries.free_place_.value() = {.expire_at_ms = expire_at_ms, .object = &object};
  expiries.place_ = hashes_.insert(std::move(expiries.free_place_));
  find_next();
}

void HashesByExpiry::remove(FieldExpiries& expiries) {
  if (!expiries.free_place_.empty()) return;
  expiries.free_place_ = hashes_.extract(expiries.place_);
  find_next();
}

void HashesByExpiry::find_next() {
  next_ms_ =
      hashes_.empty() ? std::numeric_limits<std::int64_t>::max() : hashes_.begin()->expire_at_ms;
}

}  // namespace rushgate
