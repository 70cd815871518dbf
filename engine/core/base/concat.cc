#include "engine/core/base/concat.h"

#include "engine/core/base/numbers.h"

namespace rushgate {

void ConcatPart::write(std::int64_t value) {
  const DecimalText decimal(value);
  text_ = {digits_, decimal.view().copy(digits_, sizeof(digits_))};
}

void ConcatPart::write(std::uint64_t value) {
  const DecimalText decimal = DecimalText::of_unsigned(value);
  text_ = {digits_, decimal.view().copy(digits_, sizeof(digits_))};
}

std::string concat(const ConcatPart& part, const ConcatPart& part2, const ConcatPart& part3,
                   const ConcatPart& part4, const ConcatPart& part5, const ConcatPart& part6,
                   const ConcatPart& part7, const ConcatPart& part8) {
  const std::string_view parts[] = {part.text(),  part2.text(), part3.text(), part4.text(),
                                    part5.text(), part6.text(), part7.text(), part8.text()};
  std::size_t size = 0;
  for (const std::string_view each : parts) size += each.size();
  std::string all;
  all.reserve(size);
  for (const std::string_view each : parts) all.append(each);
  return all;
}

}  // namespace rushgate
