#include "engine/redis/rdb/stream_node.h"

#include <algorithm>

namespace rushgate::rdb {
namespace {

constexpr std::int64_t kDeleted = 1;
constexpr std::int64_t kNodeFields = 2;

// Flags, ms, seq.
constexpr std::size_t kPartsBeforeFields = 3;

std::int64_t distance(std::uint64_t from, std::uint64_t to) {
  return static_cast<std::int64_t>(to - from);
}

}  // namespace

// ---- Reading ----

StreamNodeReader::StreamNodeReader(StreamId first, std::string_view listpack)
    : first_(first), listpack_(listpack) {
  const std::int64_t live = listpack_.next_integer();
  const std::int64_t deleted = listpack_.next_integer();
  read_node_names();
  if (live < 0 || deleted < 0 || listpack_.next_integer() != 0) fail();
  deleted_left_ = static_cast<std::uint64_t>(deleted);
  left_ = static_cast<std::uint64_t>(live) + deleted_left_;
}

bool StreamNodeReader::fail() {
  ok_ = false;
  return false;
}

std::int64_t StreamNodeReader::read_number_of_fields() {
  const std::int64_t number = listpack_.next_integer();
  if (number < 1) fail();
  return number;
}

void StreamNodeReader::read_node_names() {
  for (std::int64_t left = read_number_of_fields(); left > 0 && ok(); --left) {
    node_names_.push_back(listpack_.next_text());
  }
}

bool StreamNodeReader::next() {
  if (!ok()) return false;
  if (left_ == 0) return check_end();
  --left_;
  return read_entry();
}

/// Returns false.
bool StreamNodeReader::check_end() {
  if (!listpack_.at_end() || deleted_left_ != 0) fail();
  return false;
}

bool StreamNodeReader::read_entry() {
  const std::int64_t flags = listpack_.next_integer();
  if ((flags & ~(kDeleted | kNodeFields)) != 0) return fail();
  is_deleted_ = (flags & kDeleted) != 0;
  if (is_deleted_ && deleted_left_-- == 0) return fail();
  if (!read_id()) return fail();

  const bool has_node_names = (flags & kNodeFields) != 0;
  has_node_names ? read_node_fields() : read_fields();
  const std::size_t parts = has_node_names ? values_.size() : 1 + 2 * values_.size();
  const auto announced = static_cast<std::uint64_t>(listpack_.next_integer());
  if (announced != kPartsBeforeFields + parts || !ok()) return fail();

  const std::vector<std::string>& names = has_node_names ? node_names_ : names_;
  fields_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    fields_.emplace_back(std::string_view(names[i]), std::string_view(values_[i]));
  }
  return true;
}

/// Returns false if the entry does not come after the one before.
bool StreamNodeReader::read_id() {
  const auto ms = static_cast<std::uint64_t>(listpack_.next_integer());
  const auto seq = static_cast<std::uint64_t>(listpack_.next_integer());
  const StreamId id = {first_.ms + ms, first_.seq + seq};
  if (has_read_ ? id <= id_ : id < first_) return false;
  id_ = id;
  has_read_ = true;
  return true;
}

void StreamNodeReader::read_fields() {
  names_.clear();
  values_.clear();
  for (std::int64_t left = read_number_of_fields(); left > 0 && ok(); --left) {
    names_.push_back(listpack_.next_text());
    values_.push_back(listpack_.next_text());
  }
}

void StreamNodeReader::read_node_fields() {
  values_.clear();
  while (values_.size() < node_names_.size() && ok()) values_.push_back(listpack_.next_text());
}

// ---- Writing ----

bool StreamNodeWriter::has_names_of(const StreamEntry& entry) const {
  if (entry.size() != names_.size()) return false;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (entry.name(i) != names_[i]) return false;
  }
  return true;
}

void StreamNodeWriter::append(const StreamEntry& entry) {
  const auto size = static_cast<std::int64_t>(entry.size());
  if (count_++ == 0) {
    first_ = entry.id();
    for (std::size_t i = 0; i < entry.size(); ++i) names_.emplace_back(entry.name(i));
  }
  const bool has_node_names = has_names_of(entry);
  entries_.append(has_node_names ? kNodeFields : std::int64_t{0});
  entries_.append(distance(first_.ms, entry.id().ms));
  entries_.append(distance(first_.seq, entry.id().seq));
  if (!has_node_names) entries_.append(size);
  for (std::size_t i = 0; i < entry.size(); ++i) {
    if (!has_node_names) entries_.append(entry.name(i));
    entries_.append(std::string_view(entry.value(i)));
  }
  entries_.append(std::int64_t{kPartsBeforeFields} + (has_node_names ? size : 1 + 2 * size));
}

std::string StreamNodeWriter::bytes() const {
  ListpackWriter node;
  node.append(count_);
  node.append(std::int64_t{0});
  node.append(static_cast<std::int64_t>(names_.size()));
  for (const std::string& name : names_) node.append(name);
  node.append(std::int64_t{0});
  node.append(entries_);
  return node.bytes();
}

}  // namespace rushgate::rdb
