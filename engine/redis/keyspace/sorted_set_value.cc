#include "engine/redis/keyspace/sorted_set_value.h"

namespace rushgate {

SortedSetValue::Assigned SortedSetValue::assign(std::string_view member, double score) {
  Assigned done;
  if (is_large()) {
    done.indexed = indexed_->assign(member, score);
    done.old_score = done.indexed.old_score;
  } else {
    done.packed = packed_.assign(member, score);
    done.old_score = done.packed.old_score;
  }
  return done;
}

void SortedSetValue::roll_back(Assigned assigned) {
  if (is_large()) {
    indexed_->roll_back(std::move(assigned.indexed));
  } else {
    packed_.roll_back(assigned.packed);
  }
}

SortedSetValue::Erased SortedSetValue::erase(std::string_view member) {
  Erased done{.element = nullptr, .place = PackedPairs::kNone, .removal = {}};
  if (is_large()) {
    IndexedScores::Erased erased = indexed_->erase(member);
    done.element = std::move(erased.element);
    done.removal = std::move(erased.removal);
  } else if (const std::optional<PackedScores::Found> found = packed_.find(member)) {
    done.element = SortedSetElement::make(member, found->score);
    done.place = found->place;
    packed_.erase(found->place);
  }
  return done;
}

void SortedSetValue::roll_back(Erased erased) {
  if (is_large()) {
    indexed_->roll_back(
        {.element = std::move(erased.element), .removal = std::move(erased.removal)});
  } else {
    packed_.put_back(erased.place, erased.element->view());
  }
}

bool SortedSetValue::outgrows(const EncodingLimits& limits, std::string_view member) const {
  const auto size = static_cast<std::int64_t>(packed_.size());
  if (size < limits.zset_entries &&
      static_cast<std::int64_t>(member.size()) <= limits.zset_value_bytes &&
      packed_.has_space_for(member)) {
    return false;
  }
  return !packed_.score(member);
}

PackedScores SortedSetValue::grow() {
  auto indexed = std::make_unique<IndexedScores>(seed_);
  packed_.for_each(0, packed_.size(), [&](const ScoredElement& element) {
    indexed->assign(element.member, element.score);
  });
  indexed_ = std::move(indexed);
  return std::exchange(packed_, {});
}

void SortedSetValue::roll_back(PackedScores packed) {
  packed_ = std::move(packed);
  indexed_.reset();
}

}  // namespace rushgate
