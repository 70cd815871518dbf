#include <algorithm>
#include <ostream>

#include "engine/core/base/concat.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/utf8.h"
#include <rushgate/user_id.h>

namespace rushgate {

UserId::UserId(std::string_view text) {
  if (const auto number = parse_int64(text)) {
    number_ = *number;
  } else {
    name_ = std::make_unique<const std::string>(text);
  }
}

std::string UserId::text() const { return is_number() ? concat(number_) : *name_; }

std::string UserId::find_fault() const {
  if (is_number()) return {};
  if (name_->empty() || name_->size() > kNameBytesMax) {
    return concat("the name of a user has 1 to ", kNameBytesMax, " bytes, not ", name_->size());
  }
  const auto is_unfit = [](char byte) {
    constexpr char kDelete = 0x7F;
    return (byte >= 0 && byte <= ' ') || byte == kDelete;
  };
  if (std::ranges::any_of(*name_, is_unfit)) {
    return "the name of a user has no spaces or control characters";
  }
  return is_utf8(*name_) ? "" : "the name of a user is UTF-8";
}

std::ostream& operator<<(std::ostream& out, const UserId& user) { return out << user.text(); }

}  // namespace rushgate
