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

  // ---- Hidden fields: they have expired, and are not removed yet. Readers of the hash do not see
  // them ----

  [[nodiscard]] std::int64_t hidden_until_ms() const { return hidden_until_ms_; }
  /// Hides the fields that expire at this time or before.
  void set_hidden_until_ms(std::int64_t until_ms) { hidden_until_ms_ = until_ms; }
  [[nodiscard]] bool hides_any() const { return !empty() && first_ms() <= hidden_until_ms_; }
  [[nodiscard]] bool hides(std::string_view field) const {
    if (!hides_any()) return false;
    const std::optional<std::int64_t> expire_at_ms = find(field);
    return expire_at_ms && *expire_at_ms <= hidden_until_ms_;
  }
  /// Returns the number of hidden fields. Visits each one once.
  [[nodiscard]] std::size_t count_hidden() const;
  /// Returns true if a visible field has expired.
  [[nodiscard]] bool are_due(std::int64_t now_ms) const;

  // ---- All fields ----
  // Of the field that expires first, by name among equal times, and last. There must be one.
  [[nodiscard]] const std::string& first_field() const { return (*by_time_.begin())->first; }
  [[nodiscard]] std::int64_t first_ms() const { return (*by_time_.begin())->second; }
  [[nodiscard]] std::int64_t last_ms() const { return (*by_time_.rbegin())->second; }
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
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const {
      return a->second != b->second ? a->second < b->second : a->first < b->first;
    }
    bool operator()(std::int64_t at_ms, const Entry* b) const { return at_ms < b->second; }
    bool operator()(const Entry* a, std::int64_t at_ms) const { return a->second < at_ms; }
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
  /// Called before an expiry is removed, and after it was added.
  void uncount(std::int64_t expire_at_ms) { counted_ -= expire_at_ms <= counted_until_ms_ ? 1 : 0; }
  void count(std::int64_t expire_at_ms) { counted_ += expire_at_ms <= counted_until_ms_ ? 1 : 0; }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  std::int64_t hidden_until_ms_ = kNever;
  mutable std::int64_t counted_until_ms_ = kNever;
  mutable std::size_t counted_ = 0;  // expiries up to counted_until_ms_
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
