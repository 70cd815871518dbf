// The id of a user: a number or a name.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace rushgate {

/// The integer types whose values all fit into 64 bits with a sign.
template <class Number>
concept UserNumber =
    std::integral<Number> && !std::same_as<Number, bool> && !std::same_as<Number, char> &&
    (std::signed_integral<Number> || sizeof(Number) < sizeof(std::int64_t));

/// Identifies a user by a 64-bit integer, or by a name. The decimal form of an integer is that
/// integer: "42" and 42 are the same user, "042" is a name. Names are compared byte by byte. A
/// value type. A number allocates nothing, and costs the least everywhere: in the keyspace, the
/// stream and the database.
class UserId {
 public:
  static constexpr std::size_t kNameBytesMax = 64;

  /// User 0.
  UserId() = default;
  template <UserNumber Number>
  UserId(Number number) : number_(number) {}  // NOLINT(google-explicit-constructor)
  /// Takes any string; find_fault() says whether it is valid.
  explicit UserId(std::string_view text);

  UserId(const UserId& other)
      : number_(other.number_),
        name_(other.name_ ? std::make_unique<const std::string>(*other.name_) : nullptr) {}
  UserId(UserId&& other) noexcept = default;
  UserId& operator=(const UserId& other) {
    UserId copy(other);
    return *this = std::move(copy);
  }
  UserId& operator=(UserId&& other) noexcept = default;
  ~UserId() = default;

  [[nodiscard]] bool is_number() const { return name_ == nullptr; }
  /// Returns the number; 0 for a name.
  [[nodiscard]] std::int64_t number() const { return number_; }
  /// Returns the name; empty for a number.
  [[nodiscard]] std::string_view name() const {
    return name_ ? std::string_view(*name_) : std::string_view();
  }
  /// Returns the number in decimal, or the name.
  [[nodiscard]] std::string text() const;

  /// Returns why this is not a valid id; empty if it is. A name has 1 to kNameBytesMax bytes
  /// of UTF-8, without spaces and control characters.
  [[nodiscard]] std::string find_fault() const;

  friend bool operator==(const UserId& a, const UserId& b) {
    return a.number_ == b.number_ && a.is_number() == b.is_number() && a.name() == b.name();
  }
  /// Numbers come before names.
  friend std::strong_ordering operator<=>(const UserId& a, const UserId& b) {
    if (a.is_number() != b.is_number()) return b.is_number() <=> a.is_number();
    if (a.is_number()) return a.number_ <=> b.number_;
    return a.name() <=> b.name();
  }
  template <class Hash>
  friend Hash AbslHashValue(Hash hash, const UserId& user) {
    return Hash::combine(std::move(hash), user.number_, user.name());
  }
  /// Writes the number or the name.
  friend std::ostream& operator<<(std::ostream& out, const UserId& user);

 private:
  std::int64_t number_ = 0;
  std::unique_ptr<const std::string> name_;
};

}  // namespace rushgate
