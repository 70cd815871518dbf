#include "engine/keyspace/sorted_set_value.h"

#include <utility>

namespace rushgate {

std::optional<double> SortedSetValue::score(std::string_view member) const {
  const auto* element = elements_.find(member);
  if (element == nullptr) return std::nullopt;
  return (*element)->score;
}

std::optional<std::size_t> SortedSetValue::rank(std::string_view member) const {
  const auto* element = elements_.find(member);
  if (element == nullptr) return std::nullopt;
  return order_.count_before([&](const Element& other) { return other.is_before(**element); });
}

std::optional<double> SortedSetValue::assign(std::string_view member, double score) {
  const bool is_small = stays_small_with(member);
  const auto [found, is_new] =
      elements_.find_or_insert(member, [&] { return Element::make(member, score); });
  Element& element = **found;
  std::optional<double> old;
  if (!is_new) {
    old = element.score;
    order_.erase(element);
    element.score = score;
  }
  try {
    order_.insert(element);
  } catch (...) {  // no memory: it must not stand in the table alone
    if (is_new) {
      elements_.erase(member);
    } else {
      element.score = *old;
      order_.insert(element);  // where there has just been room
    }
    throw;
  }
  if (is_new) element_bytes_ += element.memory_bytes();
  is_small_ = is_small;
  return old;
}

std::optional<double> SortedSetValue::erase(std::string_view member) {
  SortedSetElement::Owner element;
  if (!elements_.take(member, &element)) return std::nullopt;
  order_.erase(*element);
  element_bytes_ -= element->memory_bytes();
  return element->score;
}

bool SortedSetValue::stays_small_with(std::string_view member) const {
  if (!is_small_) return false;
  if (elements_.contains(member)) return true;
  return static_cast<std::int64_t>(size()) < limits_->zset_entries &&
         static_cast<std::int64_t>(member.size()) <= limits_->zset_value_bytes;
}

std::size_t SortedSetValue::measured_bytes() const {
  std::size_t bytes = elements_.measured_bytes() + order_.measured_bytes();
  order_.for_each(0, size(), [&](const Element& element) { bytes += element.memory_bytes(); });
  return bytes;
}

}  // namespace rushgate
