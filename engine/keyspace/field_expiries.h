// The expiries of the fields of a hash, and the hashes of a database in order of the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace rushgate {

struct Object;

/// A hash with the earliest expiry of its fields.
struct ExpiringHash {
  std::int64_t expire_at_ms;
  Object* object;
};

struct SoonerHash {
  bool operator()(const ExpiringHash& a, const ExpiringHash& b) const {
    return a.expire_at_ms < b.expire_at_ms;
  }
};

/// The fields of one hash that expire. Times are ms since 1970 UTC. A change that throws (out of
/// memory) has no effect. Undoing needs no memory, the newest first.
class FieldExpiries {
 public:
  FieldExpiries();

  [[nodiscard]] std::size_t size() const { return by_field_.size(); }
  [[nodiscard]] bool empty() const { return by_field_.empty(); }
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view field) const;
  // Of the field that expires first, by name among equal times, and last. There must be one.
  [[nodiscard]] const std::string& first_field() const { return (*by_time_.begin())->first; }
  [[nodiscard]] std::int64_t first_ms() const { return (*by_time_.begin())->second; }
  [[nodiscard]] std::int64_t last_ms() const { return (*by_time_.rbegin())->second; }
  /// Returns true if a field has expired.
  [[nodiscard]] bool are_due(std::int64_t now_ms) const { return !empty() && first_ms() <= now_ms; }
  /// Calls visit(std::string_view field, std::int64_t expire_at_ms) in order of the times.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry* const entry : by_time_) visit(std::string_view(entry->first), entry->second);
  }

  /// The data to undo an assign().
  struct Assigned {
    std::string field;
    std::optional<std::int64_t> old_ms;
  };
  /// Adds or replaces an expiry.
  Assigned assign(std::string_view field, std::int64_t expire_at_ms);
  void roll_back(const Assigned& assigned);

 private:
  using ByField = std::map<std::string, std::int64_t, std::less<>>;
  using Entry = ByField::value_type;
  struct Sooner {
    bool operator()(const Entry* a, const Entry* b) const {
      return a->second != b->second ? a->second < b->second : a->first < b->first;
    }
  };
  using ByTime = std::set<const Entry*, Sooner>;

 public:
  /// A removed expiry; empty if there was none.
  struct Taken {
    ByField::node_type by_field;
    ByTime::node_type by_time;
  };
  Taken take(std::string_view field);
  void roll_back(Taken taken);

  /// Returns the memory with the object itself and its entry in HashesByExpiry.
  [[nodiscard]] std::size_t memory_bytes() const;
  /// Computes the memory from the contents, for tests.
  [[nodiscard]] std::size_t measured_bytes() const;

 private:
  friend class HashesByExpiry;

  void move(ByField::iterator entry, std::int64_t expire_at_ms);

  ByField by_field_;
  ByTime by_time_;  // the entries of by_field_
  std::size_t name_bytes_ = 0;

  // The entry of this hash in HashesByExpiry, or its memory while it has none.
  using Hashes = std::multiset<ExpiringHash, SoonerHash>;
  Hashes::iterator place_;
  Hashes::node_type free_place_;
};

/// The attached hashes of a database with fields that expire, in order of their earliest expiries.
/// Needs no memory: each hash owns its entry.
class HashesByExpiry {
 public:
  /// Returns the earliest expiry; a time that never comes if there is none.
  [[nodiscard]] std::int64_t next_ms() const { return next_ms_; }
  [[nodiscard]] bool empty() const { return hashes_.empty(); }
  /// Returns the hash with the earliest expiry; there must be one.
  [[nodiscard]] Object& first() const { return *hashes_.begin()->object; }

  /// Adds, moves or removes a hash, after its expiries changed.
  void update(Object& object, FieldExpiries& expiries);
  /// Removes a hash, if it is in here.
  void remove(FieldExpiries& expiries);

 private:
  void find_next();

  FieldExpiries::Hashes hashes_;
  std::int64_t next_ms_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace rushgate
