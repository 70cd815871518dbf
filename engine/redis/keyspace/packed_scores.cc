#include "engine/redis/keyspace/packed_scores.h"

#include <cstdint>
#include <cstring>

namespace rushgate {
namespace {

double read_score(std::string_view bytes) {
  double score = 0;
  std::memcpy(&score, bytes.data(), sizeof(score));
  return score;
}

/// The bytes of a score.
struct ScoreBytes {
  explicit ScoreBytes(double score) { std::memcpy(bytes, &score, sizeof(bytes)); }
  [[nodiscard]] std::string_view view() const { return {bytes, sizeof(bytes)}; }

  char bytes[sizeof(double)];
};

}  // namespace

ScoredElement PackedScores::element_of(const PackedPairs::Pair& pair) {
  return {.member = pair.field, .score = read_score(pair.value)};
}

std::optional<double> PackedScores::score(std::string_view member) const {
  const std::optional<std::string_view> bytes = pairs_.value_of(member);
  return bytes ? std::optional(read_score(*bytes)) : std::nullopt;
}

std::optional<std::size_t> PackedScores::rank(std::string_view member) const {
  const std::size_t rank =
      count_before([&](const ScoredElement& element) { return element.member != member; });
  return rank < size() ? std::optional(rank) : std::nullopt;
}

/// Returns the place of an element among the others, without the pair at `old_place`.
std::size_t PackedScores::place_for(const ScoredElement& element, std::size_t old_place) const {
  std::size_t own_bytes = 0;  // of the pair at `old_place`, if it was passed
  for (std::size_t place = 0; place < pairs_.bytes();) {
    const PackedPairs::Pair pair = pairs_.at(place);
    if (place == old_place) {
      own_bytes = pair.end - place;
    } else if (element.is_before(element_of(pair))) {
      return place - own_bytes;
    }
    place = pair.end;
  }
  return pairs_.bytes() - own_bytes;
}

void PackedScores::insert(std::size_t place, const ScoredElement& element) {
  constexpr std::uint32_t kPosition = 0;  // their places alone give the order
  pairs_.insert(place, element.member, ScoreBytes(element.score).view(), kPosition);
}

void PackedScores::assign_score(std::size_t place, double score) {
  pairs_.assign(pairs_.at(place), ScoreBytes(score).view());
}

PackedScores::Assigned PackedScores::assign(std::string_view member, double score) {
  const PackedPairs::Pair pair = pairs_.find(member);
  const std::size_t place = place_for({.member = member, .score = score}, pair.place);
  if (pair.place == PackedPairs::kNone) {
    insert(place, {.member = member, .score = score});
    return {.place = place, .old_place = PackedPairs::kNone, .old_score = std::nullopt};
  }
  const Assigned done{.place = place, .old_place = pair.place, .old_score = read_score(pair.value)};
  assign_score(pair.place, score);
  pairs_.move(pair.place, place);
  return done;
}

void PackedScores::roll_back(const Assigned& assigned) {
  if (!assigned.old_score) return pairs_.erase(pairs_.at(assigned.place));
  assign_score(assigned.place, *assigned.old_score);
  pairs_.move(assigned.place, assigned.old_place);
}

std::optional<PackedScores::Found> PackedScores::find(std::string_view member) const {
  const PackedPairs::Pair pair = pairs_.find(member);
  if (pair.place == PackedPairs::kNone) return std::nullopt;
  return Found{.place = pair.place, .score = read_score(pair.value)};
}

}  // namespace rushgate
