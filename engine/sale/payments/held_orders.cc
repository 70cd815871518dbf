#include "engine/sale/payments/held_orders.h"

#include <cassert>
#include <cstdint>
#include <optional>

#include "engine/base/concat.h"
#include "engine/base/numbers.h"

namespace rushgate {

bool HeldBlock::read(std::string_view value) {
  for (std::string& text : texts) text.clear();
  while (!value.empty()) {
    constexpr std::size_t kSizeAt = 2;  // after the digit and a space
    const std::size_t end = value.find(' ', kSizeAt);
    const std::size_t place = place_of(value.substr(0, 1));
    if (end == value.npos || place >= kOrders || value[1] != ' ') return false;
    const auto size = parse_int64(value.substr(kSizeAt, end - kSizeAt));
    value.remove_prefix(end + 1);
    if (!size || *size <= 0 || static_cast<std::uint64_t>(*size) >= value.size()) return false;
    texts[place] = value.substr(0, static_cast<std::size_t>(*size));
    value.remove_prefix(static_cast<std::size_t>(*size) + 1);
  }
  return true;
}

std::string HeldBlock::value() const {
  std::string value;
  for (std::size_t place = 0; place < kOrders; ++place) {
    const std::string& text = texts[place];
    if (text.empty()) continue;
    const DecimalText size(static_cast<std::int64_t>(text.size()));
    value += static_cast<char>('0' + place);
    value += ' ';
    value += size.view();
    value += ' ';
    value += text;
    value += '\n';
  }
  return value;
}

const char* const kHeldOrdersLua = R"lua(
local blocks = {} -- that this script read

local function read_block(held, name)
  local orders = {}
  local value, at = redis.call('HGET', held, name) or '', 1
  while at <= #value do
    local digit, size, begin = string.match(value, '^(%d) (%d+) ()', at)
    if not digit then error('field ' .. name .. ' of ' .. held .. ' has no held orders') end
    orders[digit] = string.sub(value, begin, begin + size - 1)
    at = begin + size + 1
  end
  return orders
end

local function block_of(held, order)
  if not string.find(order, '%d$') then error('an order id ends in a digit') end
  local name = string.sub(order, 1, -2)
  if not blocks[name] then blocks[name] = read_block(held, name) end
  return blocks[name], name
end

-- Returns an order's hold, or its end; nil if there is none.
local function hold_of(held, order) return block_of(held, order)[string.sub(order, -1)] end

-- nil removes the order.
local function set_hold(held, order, text)
  local orders, name = block_of(held, order)
  orders[string.sub(order, -1)] = text
  local parts = {}
  for place = 0, 9 do
    local its_text = orders[tostring(place)]
    if its_text then parts[#parts + 1] = place .. ' ' .. #its_text .. ' ' .. its_text .. '\n' end
  end
  if #parts > 0 then
    redis.call('HSET', held, name, table.concat(parts))
  else
    redis.call('HDEL', held, name)
  end
end
)lua";

void HeldOrders::select(std::string_view order) {
  if (order.empty() || HeldBlock::place_of(order) >= HeldBlock::kOrders) {
    throw ScriptError("ERR an order id ends in a digit");
  }
  const std::string_view name = HeldBlock::name_of(order);
  if (is_selected_ && name == name_) return;
  write();
  name_ = name;
  is_selected_ = true;
  is_read_ = false;
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

std::string& HeldOrders::text_of(std::string_view order) {
  assert(is_selected_ && HeldBlock::name_of(order) == name_);
  if (!is_read_) {
    const std::string value = call_.hash_get(key_, name_).value_or("");
    if (!block_.read(value)) {
      throw ScriptError(concat("ERR field ", name_, " of ", key_, " has no held orders"));
    }
    is_read_ = true;
  }
  return block_.texts[HeldBlock::place_of(order)];
}

std::string_view HeldOrders::find(std::string_view order) { return text_of(order); }

void HeldOrders::set(std::string_view order, std::string_view text) {
  text_of(order) = text;
  is_changed_ = true;
}

}  // namespace rushgate
