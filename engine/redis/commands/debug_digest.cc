#include "engine/redis/commands/debug_digest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/sha1.h"
#include "engine/core/base/status_macros.h"

namespace rushgate {
namespace {

class Digest {
 public:
  /// Combines the bytes in any order.
  void add(std::string_view bytes) {
    const Sha1 other = sha1(bytes);
    for (std::size_t i = 0; i < sha1_.size(); ++i) sha1_[i] ^= other[i];
  }
  /// Combines the bytes in order.
  void mix(std::string_view bytes) {
    add(bytes);
    sha1_ = sha1(view());
  }
  /// Combines a number of four bytes in order.
  void mix_number(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<char>(number >> shift));
    mix(bytes);
  }
  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(sha1_.data()), sha1_.size()};
  }
  [[nodiscard]] std::string hex() const { return to_hex(sha1_); }

 private:
  Sha1 sha1_{};
};

/// Returns Redis's number of the type.
std::uint32_t type_number(ValueType type) {
  switch (type) {
    case ValueType::kString:
      return 0;
    case ValueType::kList:
      return 1;
    case ValueType::kSet:
      return 2;
    case ValueType::kSortedSet:
      return 3;
    case ValueType::kHash:
      return 4;
    case ValueType::kStream:
      return 6;
  }
  return 0;
}

/// Returns the digest of two strings in order.
Digest pair_digest(std::string_view first, std::string_view second) {
  Digest digest;
  digest.mix(first);
  digest.mix(second);
  return digest;
}

absl::Status mix_stream(const Stream& stream, Digest& digest) {
  return stream.log().read(StreamId{}, StreamId::max(), [&digest](const StreamEntry& entry) {
    const StreamId id = entry.id();
    digest.mix(std::to_string(id.ms) + '.' + std::to_string(id.seq));
    for (std::size_t i = 0; i < entry.size(); ++i) {
      digest.mix(entry.name(i));
      digest.mix(entry.value(i));
    }
    return true;
  });
}

absl::Status mix_value(const Object& object, Digest& digest) {
  switch (object.type()) {
    case ValueType::kString:
      digest.mix(object.string().bytes());
      break;
    case ValueType::kList: {
      const auto& list = object.list();
      list.for_each(0, list.size(),
                    [&digest](ListPosition, const std::string& element) { digest.mix(element); });
      break;
    }
    case ValueType::kSet:
      object.set().for_each([&digest](std::string_view member) { digest.add(member); });
      break;
    case ValueType::kSortedSet: {
      const auto& value = object.sorted_set();
      value.for_each(0, value.size(), [&digest](const ScoredElement& element) {
        digest.add(pair_digest(element.member, DoubleText(element.score).view()).view());
      });
      break;
    }
    case ValueType::kHash: {
      const auto& hash = object.hash();
      hash.for_each([&](std::string_view field, std::string_view value) {
        Digest pair = pair_digest(field, value);
        if (hash.expiry(field)) pair.add("!!hexpire!!");
        digest.add(pair.view());
      });
      break;
    }
    case ValueType::kStream:
      return mix_stream(object.stream(), digest);
  }
  return absl::OkStatus();
}

/// Combines type, value and expiry.
absl::Status mix_object(const Object& object, Digest& digest) {
  digest.mix_number(type_number(object.type()));
  RETURN_IF_ERROR(mix_value(object, digest));
  if (object.expire_at_ms() != kNoExpiry) digest.add("!!expire!!");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> value_digest(const Object& object) {
  Digest digest;
  RETURN_IF_ERROR(mix_object(object, digest));
  return digest.hex();
}

std::string empty_digest() { return Digest().hex(); }

absl::StatusOr<std::string> keyspace_digest(Keyspace& keyspace) {
  Digest all;
  absl::Status mixed;
  for (std::size_t i = 0; i < Keyspace::kDatabases && mixed.ok(); ++i) {
    Database& db = keyspace.db(i);
    if (db.size() == 0) continue;
    all.mix_number(static_cast<std::uint32_t>(i));
    db.for_each([&](const Object& object) {
      if (!mixed.ok()) return;
      Digest digest;
      digest.mix(object.key());
      mixed = mix_object(object, digest);
      all.add(digest.view());
    });
  }
  if (!mixed.ok()) return mixed;
  return all.hex();
}

}  // namespace rushgate
