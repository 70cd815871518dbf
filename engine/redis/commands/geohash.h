// Positions on the earth as integers. A grid divides the map into 2^step columns and as many rows.
// The bits of a cell's row and column alternate in one integer, the row's in the even places. In
// the finest grid this is the score of a position in a sorted set, as in Redis:
// https://redis.io/docs/latest/commands/geoadd/
#pragma once

#include <cstdint>
#include <numbers>
#include <string>

namespace rushgate {

/// In degrees.
struct GeoPosition {
  double longitude = 0;
  double latitude = 0;
};

/// The bounds of positions: those of the map's projection, a square (EPSG:3857).
inline constexpr double kLongitudeMax = 180;
inline constexpr double kLatitudeMax = 85.05112878;

/// The radius of the earth, as a sphere.
inline constexpr double kEarthRadiusM = 6'372'797.560856;

inline constexpr double kRadiansPerDegree = std::numbers::pi / 180;
constexpr double to_radians(double degrees) { return degrees * kRadiansPerDegree; }
constexpr double to_degrees(double radians) { return radians / kRadiansPerDegree; }

/// Returns true if the position is on the map.
[[nodiscard]] bool is_on_map(const GeoPosition& position);

/// Returns the distance on a sphere, in metres (the haversine formula).
[[nodiscard]] double distance_m(const GeoPosition& a, const GeoPosition& b);

/// A rectangle between two meridians and two parallels, in degrees. The bounds of a search may lie
/// outside of the map.
struct GeoBounds {
  double west;
  double east;
  double south;
  double north;
};

/// A cell of the grid with 2^step columns.
class GeoCell {
 public:
  static constexpr int kStepMax = 26;

  /// Returns the cell with a position on the map. `latitude_max` is the upper edge of the map.
  static GeoCell of(const GeoPosition& position, int step, double latitude_max = kLatitudeMax);
  /// Returns the cell of the finest grid with this score. Any score has one.
  static GeoCell of_score(double score);

  [[nodiscard]] int step() const { return step_; }
  /// Returns the row's and the column's bits in one integer. A position on the upper or right edge
  /// of the map is in a row or column of its own, 2^step, as in Redis.
  [[nodiscard]] std::uint64_t bits() const;
  /// Returns the lowest score of a position in this cell.
  [[nodiscard]] double first_score() const;
  /// Returns the score that follows those of all positions in this cell.
  [[nodiscard]] double end_score() const;

  /// Returns the cell so many columns to the east and rows to the north, each -1, 0 or 1. The map's
  /// edges adjoin their opposites.
  [[nodiscard]] GeoCell neighbour(int columns, int rows) const;

  [[nodiscard]] GeoBounds bounds() const;
  /// Returns the position in the middle, or at the edge of the map.
  [[nodiscard]] GeoPosition centre() const;

  friend bool operator==(const GeoCell&, const GeoCell&) = default;

 private:
  GeoCell(std::uint32_t column, std::uint32_t row, int step)
      : column_(column), row_(row), step_(step) {}

  [[nodiscard]] double aligned(std::uint64_t bits) const;

  std::uint32_t column_;  // from the west
  std::uint32_t row_;     // from the south
  int step_;
};

/// Returns the position that a score stands for.
[[nodiscard]] GeoPosition position_of(double score);

/// Returns the geohash of a position in the usual notation of 11 characters, on the map up to the
/// poles: https://en.wikipedia.org/wiki/Geohash. The last character is always 0.
[[nodiscard]] std::string geohash_text(const GeoPosition& position);

}  // namespace rushgate
