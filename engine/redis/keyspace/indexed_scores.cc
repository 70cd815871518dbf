#include "engine/redis/keyspace/indexed_scores.h"

#include <utility>

namespace rushgate {

std::optional<double> IndexedScores::score(std::string_view member) const {
  const auto* element = elements_.find(member);
  if (element == nullptr) return std::nullopt;
  return (*element)->score;
}

std::optional<std::size_t> IndexedScores::rank(std::string_view member) const {
  const auto* element = elements_.find(member);
  if (element == nullptr) return std::nullopt;
  return order_.count_before([&](const Element& other) { return other.is_before(**element); });
}

IndexedScores::Assigned IndexedScores::assign(std::string_view member, double score) {
  const auto [found, is_new] =
      elements_.find_or_insert(member, [&] { return Element::make(member, score); });
  Assigned done{
      .element = found->get(), .old_score = std::nullopt, .removal = {}, .insertion = nullptr};
  Element& element = *done.element;
  if (!is_new) {
    done.removal = order_.erase(element);
    done.old_score = std::exchange(element.score, score);
  }
  try {
    done.insertion = order_.insert(element);
  } catch (...) {
    if (is_new) {
      elements_.erase(member);
    } else {
      element.score = *done.old_score;
      order_.roll_back(element, std::move(done.removal));
    }
    throw;
  }
  if (is_new) element_bytes_ += element.memory_bytes();
  return done;
}

void IndexedScores::roll_back(Assigned assigned) {
  Element& element = *assigned.element;
  order_.roll_back(element, assigned.insertion);
  if (assigned.old_score) {
    element.score = *assigned.old_score;
    order_.roll_back(element, std::move(assigned.removal));
  } else {
    element_bytes_ -= element.memory_bytes();
    elements_.erase(element.member());
  }
}

IndexedScores::Erased IndexedScores::erase(std::string_view member) {
  Erased done;
  auto* const found = elements_.find(member);
  if (found == nullptr) return done;
  done.removal = order_.erase(**found);
  elements_.take(member, &done.element);
  element_bytes_ -= done.element->memory_bytes();
  return done;
}

void IndexedScores::roll_back(Erased erased) {
  order_.roll_back(*erased.element, std::move(erased.removal));
  element_bytes_ += erased.element->memory_bytes();
  elements_.insert(std::move(erased.element));
}

std::size_t IndexedScores::measured_bytes() const {
  std::size_t bytes = elements_.measured_bytes() + order_.measured_bytes();
  order_.for_each(0, size(), [&](const Element& element) { bytes += element.memory_bytes(); });
  return bytes;
}

}  // namespace rushgate
