// The values of SaleKeys::held() and SaleKeys::deadlines(). Both have blocks of held orders, whose ids
// differ in the last digit only. The orders of one admission call have consecutive ids, so ten of them
// are one write. scripts/held_orders.lua does the same.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <rushgate/script.h>

namespace rushgate {

/// Before the voucher in a field of SaleKeys::held() that says that a rebuild checks its holds.
inline constexpr std::string_view kClosedField = "closed:";

/// The held orders of a block, a field of SaleKeys::held(). Its value is "<last digit of the id> <bytes>
/// <hold>\n" for each, in the order of their ids. A hold is "<voucher> <user> <rest>", also after its
/// end. A rest that equals the one before is written as "=".
class HeldBlock {
 public:
  static constexpr std::size_t kOrders = 10;

  /// Returns the block of an order, a field of SaleKeys::held(): its id without the last digit. An id
  /// must not be empty.
  static std::string_view name_of(std::string_view order) {
    return order.substr(0, order.size() - 1);
  }
  /// Returns the place of an order in its block: the last digit.
  static std::size_t place_of(std::string_view order) {
    return static_cast<std::size_t>(order.back() - '0');
  }

  /// Reads the value of a block; an empty one has no orders. Returns false if it is malformed.
  bool read(std::string_view value);
  /// Returns the value that read() reads.
  [[nodiscard]] std::string value() const;

  /// The holds by place, in full; empty: the order is not held.
  std::array<std::string, kOrders> holds;
};

/// Adds an order to a member of SaleKeys::deadlines(), "<block>:<last digits>" for each block. `last` is
/// the block of the order added before; it refers to the order then.
void add_to_deadline(std::string_view order, std::string& member, std::string_view& last);

/// A block in a member of SaleKeys::deadlines().
struct DeadlineBlock {
  std::string_view name;
  std::string_view digits;

  /// Takes the first block off a member. Both parts are empty if it is malformed.
  static DeadlineBlock take(std::string_view& member);
};

/// The held orders as a native script reads and changes them. Works on one block at a time. Methods
/// throw ScriptError.
class HeldOrders {
 public:
  /// `key` is SaleKeys::held(), and must outlive this object.
  HeldOrders(NativeCall& call, std::string_view key) : call_(call), key_(key) {}

  /// Selects the block of an order, and writes the one before. If that throws, the script must fail as
  /// a whole, or a part of it that is rolled back, together with this object. An id that is no number
  /// may come from anywhere: it has no block, and is not held.
  void select(std::string_view order);
  /// Selects and reads the block of an order. Throws if the order cannot be held.
  void check_order(std::string_view order);
  /// Writes the changes of the selected block. If this throws, the script must fail as a whole.
  void write();

  /// Returns the hold of an order of the selected block; empty if it is not held. Valid until the order
  /// or the selection changes.
  std::string_view find(std::string_view order);
  /// Sets the hold of an order of the selected block; an empty one removes the order.
  void set(std::string_view order, std::string_view hold);

 private:
  void read();
  std::string& hold_of(std::string_view order);

  NativeCall& call_;
  const std::string_view key_;
  std::string name_;  // of the selected block
  HeldBlock block_;
  bool is_selected_ = false;
  bool is_read_ = false;
  bool is_changed_ = false;
};

}  // namespace rushgate
