#include "engine/redis/commands/geohash.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace rushgate {
namespace {

/// Inserts a zero before each bit.
std::uint64_t spread(std::uint32_t number) {
  std::uint64_t bits = number;
  bits = (bits | bits << 16) & 0x0000FFFF0000FFFF;
  bits = (bits | bits << 8) & 0x00FF00FF00FF00FF;
  bits = (bits | bits << 4) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits << 2) & 0x3333333333333333;
  return (bits | bits << 1) & 0x5555555555555555;
}

/// Joins the bits in the even places.
std::uint32_t joined(std::uint64_t bits) {
  bits &= 0x5555555555555555;
  bits = (bits | bits >> 1) & 0x3333333333333333;
  bits = (bits | bits >> 2) & 0x0F0F0F0F0F0F0F0F;
  bits = (bits | bits >> 4) & 0x00FF00FF00FF00FF;
  bits = (bits | bits >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<std::uint32_t>(bits | bits >> 16);
}

/// Converts any score to an integer, as x86-64 does for Redis: a negative one wraps around, and one
/// that is too large becomes 0 or 2^63.
std::uint64_t to_bits(double score) {
  constexpr double kTwoTo63 = 9'223'372'036'854'775'808.0;
  if (score >= 2 * kTwoTo63) return 0;
  if (score >= kTwoTo63) return static_cast<std::uint64_t>(score);
  if (score < -kTwoTo63) return std::uint64_t{1} << 63;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(score));
}

double columns_of(int step) { return static_cast<double>(std::uint64_t{1} << step); }

/// Returns the edge before the column or row `index` of a map from -max to max.
double edge(std::uint32_t index, int step, double max) {
  return -max + static_cast<double>(index) / columns_of(step) * (max - -max);
}

std::uint32_t index_of(double coordinate, int step, double max) {
  const double part = (coordinate - -max) / (max - -max);
  return static_cast<std::uint32_t>(part * columns_of(step));
}

/// Returns the next index, or the one before. Wraps around.
std::uint32_t moved(std::uint32_t index, int distance, int step) {
  if (distance == 0) return index;
  const std::uint32_t mask = (std::uint32_t{1} << step) - 1;
  return (index + static_cast<std::uint32_t>(distance)) & mask;
}

}  // namespace

bool is_on_map(const GeoPosition& position) {
  return std::abs(position.longitude) <= kLongitudeMax &&
         std::abs(position.latitude) <= kLatitudeMax;
}

double distance_m(const GeoPosition& a, const GeoPosition& b) {
  const double latitude_a = to_radians(a.latitude);
  const double latitude_b = to_radians(b.latitude);
  const double v = std::sin((to_radians(b.longitude) - to_radians(a.longitude)) / 2);
  if (v == 0) return kEarthRadiusM * std::abs(latitude_b - latitude_a);  // along a meridian
  const double u = std::sin((latitude_b - latitude_a) / 2);
  return 2.0 * kEarthRadiusM *
         std::asin(std::sqrt(u * u + std::cos(latitude_a) * std::cos(latitude_b) * v * v));
}

GeoCell GeoCell::of(const GeoPosition& position, int step, double latitude_max) {
  return {index_of(position.longitude, step, kLongitudeMax),
          index_of(position.latitude, step, latitude_max), step};
}

GeoCell GeoCell::of_score(double score) {
  const std::uint64_t bits = to_bits(score);
  return {joined(bits >> 1), joined(bits), kStepMax};
}

std::uint64_t GeoCell::bits() const { return spread(row_) | spread(column_) << 1; }

double GeoCell::aligned(std::uint64_t bits) const {
  return static_cast<double>(bits << (2 * kStepMax - 2 * step_));
}

double GeoCell::first_score() const { return aligned(bits()); }

double GeoCell::end_score() const { return aligned(bits() + 1); }

GeoCell GeoCell::neighbour(int columns, int rows) const {
  return {moved(column_, columns, step_), moved(row_, rows, step_), step_};
}

GeoBounds GeoCell::bounds() const {
  return {.west = edge(column_, step_, kLongitudeMax),
          .east = edge(column_ + 1, step_, kLongitudeMax),
          .south = edge(row_, step_, kLatitudeMax),
          .north = edge(row_ + 1, step_, kLatitudeMax)};
}

GeoPosition GeoCell::centre() const {
  const GeoBounds box = bounds();
  return {std::clamp((box.west + box.east) / 2, -kLongitudeMax, kLongitudeMax),
          std::clamp((box.south + box.north) / 2, -kLatitudeMax, kLatitudeMax)};
}

GeoPosition position_of(double score) { return GeoCell::of_score(score).centre(); }

std::string geohash_text(const GeoPosition& position) {
  constexpr std::string_view kAlphabet = "0123456789bcdefghjkmnpqrstuvwxyz";
  constexpr double kPole = 90;
  constexpr int kBitsPerCharacter = 5;
  const std::uint64_t bits = GeoCell::of(position, GeoCell::kStepMax, kPole).bits();
  std::string text;
  for (int at = 2 * GeoCell::kStepMax - kBitsPerCharacter; at > 0; at -= kBitsPerCharacter)
    text += kAlphabet[static_cast<std::size_t>(bits >> at & 0x1F)];
  return text + '0';
}

}  // namespace rushgate
