#include "engine/sale/scripts/held_orders.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"

namespace rushgate {
namespace {

/// Returns the position of the rest in "<voucher> <user> <rest>", or npos.
std::size_t find_rest(std::string_view hold) {
  const std::size_t voucher_end = hold.find(' ');
  if (voucher_end == hold.npos) return hold.npos;
  const std::size_t user_end = hold.find(' ', voucher_end + 1);
  return user_end == hold.npos ? user_end : user_end + 1;
}

constexpr char kSameRest = '=';

bool is_number(std::string_view digits) {
  return std::ranges::all_of(digits, [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

bool HeldBlock::read(std::string_view value) {
  std::string_view last_rest;
  for (std::string& hold : holds) hold.clear();
  while (!value.empty()) {
    constexpr std::size_t kSizeAt = 2;  // after the digit and a space
    const std::size_t end = value.find(' ', kSizeAt);
    const std::size_t place = place_of(value.substr(0, 1));
    if (end == value.npos || place >= kOrders || value[1] != ' ') return false;
    const auto size = parse_int64(value.substr(kSizeAt, end - kSizeAt));
    value.remove_prefix(end + 1);
    if (!size || *size <= 0 || static_cast<std::uint64_t>(*size) >= value.size()) return false;
    std::string_view hold = value.substr(0, static_cast<std::size_t>(*size));
    if (value[hold.size()] != '\n') return false;
    value.remove_prefix(hold.size() + 1);
    const std::size_t rest_at = find_rest(hold);
    if (rest_at == hold.npos || !holds[place].empty()) return false;
    std::string_view rest = hold.substr(rest_at);
    const bool is_same = rest == std::string_view(&kSameRest, 1);
    if (is_same && last_rest.data() == nullptr) return false;
    if (is_same) rest = last_rest;
    holds[place].append(hold.substr(0, rest_at)).append(rest);
    last_rest = rest;
  }
  return true;
}

std::string HeldBlock::value() const {
  constexpr std::size_t kUsualBytes = 256;
  std::string value;
  value.reserve(kUsualBytes);
  std::string_view last_rest;
  for (std::size_t place = 0; place < kOrders; ++place) {
    std::string_view hold = holds[place];
    if (hold.empty()) continue;
    assert(find_rest(hold) != hold.npos);  // it names its voucher and user
    const std::string_view rest = hold.substr(find_rest(hold));
    const bool is_same = rest == last_rest;
    if (is_same) hold.remove_suffix(rest.size());
    last_rest = rest;
    const DecimalText size(static_cast<std::int64_t>(hold.size() + (is_same ? 1 : 0)));
    value += static_cast<char>('0' + place);
    value += ' ';
    value += size.view();
    value += ' ';
    value += hold;
    if (is_same) value += kSameRest;
    value += '\n';
  }
  return value;
}

void add_to_deadline(std::string_view order, std::string& member, std::string_view& last) {
  const std::string_view name = HeldBlock::name_of(order);
  if (member.empty() || name != last) {
    if (!member.empty()) member += ' ';
    member += name;
    member += ':';
    last = name;
  }
  member += order.back();
}

DeadlineBlock DeadlineBlock::take(std::string_view& member) {
  const std::size_t end = member.find(' ');
  const std::string_view block = member.substr(0, end);
  member.remove_prefix(end == member.npos ? member.size() : end + 1);
  const std::size_t colon = block.find(':');
  if (colon == block.npos) return {};
  return {.name = block.substr(0, colon), .digits = block.substr(colon + 1)};
}

void HeldOrders::select(std::string_view order) {
  const bool has_place = !order.empty() && HeldBlock::place_of(order) < HeldBlock::kOrders;
  const std::string_view name = has_place ? HeldBlock::name_of(order) : std::string_view();
  if (has_place && is_selected_ && name == name_) return;
  write();
  is_selected_ = has_place && is_number(name);
  name_ = name;
  is_read_ = false;
}

void HeldOrders::check_order(std::string_view order) {
  select(order);
  if (!is_selected_) throw ScriptError("ERR an order id is a number");
  read();
}

void HeldOrders::write() {
  if (!is_changed_) return;
  const std::string value = block_.value();
  if (value.empty()) {
    call_.hash_remove(key_, name_);
  } else {
    call_.hash_set(key_, name_, value);
  }
  is_changed_ = false;
}

void HeldOrders::read() {
  if (is_read_) return;
  const std::string value = call_.hash_get(key_, name_).value_or("");
  if (!block_.read(value)) {
    throw ScriptError(concat("ERR field ", name_, " of ", key_, " has no held orders"));
  }
  is_read_ = true;
}

std::string& HeldOrders::hold_of(std::string_view order) {
  assert(is_selected_ && HeldBlock::name_of(order) == name_);
  read();
  return block_.holds[HeldBlock::place_of(order)];
}

std::string_view HeldOrders::find(std::string_view order) {
  return is_selected_ ? std::string_view(hold_of(order)) : std::string_view();
}

void HeldOrders::set(std::string_view order, std::string_view hold) {
  if (!hold.empty() && find_rest(hold) == hold.npos) {
    throw ScriptError(concat("ERR no hold: ", hold));
  }
  hold_of(order) = hold;
  is_changed_ = true;
}

}  // namespace rushgate
