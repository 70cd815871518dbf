// The areas of GEOSEARCH.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/redis/commands/geohash.h"

namespace rushgate {

/// A circle or a box around a position. Its lengths are in a unit of `unit_m` metres.
struct GeoShape {
  enum class Kind : std::uint8_t { kCircle, kBox };

  Kind kind = Kind::kCircle;
  GeoPosition centre = {};
  double unit_m = 1;
  double radius = 0;  // of a circle
  double width = 0;   // of a box
  double height = 0;

  /// Returns the distance of a position from the centre in metres; empty if the position is
  /// outside.
  [[nodiscard]] std::optional<double> distance_inside_m(const GeoPosition& position) const;
};

/// Returns the cells of the grid that cover the shape, at most nine, in the order in which Redis
/// searches them.
[[nodiscard]] std::vector<GeoCell> covering_cells(const GeoShape& shape);

}  // namespace rushgate
