#include "engine/redis/commands/geo_shape.h"

#include <algorithm>
#include <cmath>

namespace rushgate {
namespace {

/// Returns the distance from the centre within which all of the shape lies.
double reach_m(const GeoShape& shape) {
  if (shape.kind == GeoShape::Kind::kCircle) return shape.radius * shape.unit_m;
  const double width = shape.width / 2;
  const double height = shape.height / 2;
  return std::sqrt(width * width + height * height) * shape.unit_m;
}

/// Returns the finest grid in which a cell and its neighbours cover most shapes of this reach.
int estimated_step(double reach_m, double latitude) {
  constexpr double kHalfEquatorM = 20'037'726.37;
  if (reach_m == 0) return GeoCell::kStepMax;
  int step = -1;
  for (; reach_m < kHalfEquatorM; reach_m *= 2) ++step;
  // Cells are narrow towards the poles.
  if (std::abs(latitude) > 66) --step;
  if (std::abs(latitude) > 80) --step;
  return std::clamp(step, 1, GeoCell::kStepMax);
}

/// Returns bounds around the shape: its meridians at the parallel that is nearer to the pole.
GeoBounds bounds_of(const GeoShape& shape) {
  const bool is_circle = shape.kind == GeoShape::Kind::kCircle;
  const double height = shape.unit_m * (is_circle ? shape.radius : shape.height / 2);
  const double width = shape.unit_m * (is_circle ? shape.radius : shape.width / 2);
  const auto [longitude, latitude] = shape.centre;
  const double rows = to_degrees(height / kEarthRadiusM);
  const double far_latitude = latitude < 0 ? latitude - rows : latitude + rows;
  const double columns = to_degrees(width / kEarthRadiusM / std::cos(to_radians(far_latitude)));
  return {.west = longitude - columns,
          .east = longitude + columns,
          .south = latitude - rows,
          .north = latitude + rows};
}

/// Returns true if the cell and its neighbours cover the bounds. A comparison with NaN is false: so
/// NaN, from an infinite shape, counts as covered.
bool covers(const GeoCell& cell, const GeoBounds& bounds) {
  const bool lacks_rows = cell.neighbour(0, 1).bounds().north < bounds.north ||
                          cell.neighbour(0, -1).bounds().south > bounds.south;
  const bool lacks_columns = cell.neighbour(1, 0).bounds().east < bounds.east ||
                             cell.neighbour(-1, 0).bounds().west > bounds.west;
  return !lacks_rows && !lacks_columns;
}

/// Returns true if the bounds may extend from the cell into its neighbour in this direction.
bool extends(const GeoCell& cell, const GeoBounds& bounds, int columns, int rows) {
  if (cell.step() < 2) return true;  // the neighbours on both sides are the same
  const GeoBounds own = cell.bounds();
  if (columns < 0 && own.west < bounds.west) return false;
  if (columns > 0 && own.east > bounds.east) return false;
  if (rows < 0 && own.south < bounds.south) return false;
  return rows <= 0 || !(own.north > bounds.north);
}

}  // namespace

std::optional<double> GeoShape::distance_inside_m(const GeoPosition& position) const {
  if (kind == Kind::kBox) {
    const GeoPosition same_longitude = {position.longitude, centre.latitude};
    if (distance_m(position, same_longitude) > height * unit_m / 2) return std::nullopt;
    const GeoPosition same_latitude = {centre.longitude, position.latitude};
    if (distance_m(position, same_latitude) > width * unit_m / 2) return std::nullopt;
    return distance_m(centre, position);
  }
  const double distance = distance_m(centre, position);
  return distance > radius * unit_m ? std::nullopt : std::optional(distance);
}

std::vector<GeoCell> covering_cells(const GeoShape& shape) {
  struct Direction {
    int columns;
    int rows;
  };
  static constexpr Direction kDirections[] = {{0, 1}, {0, -1}, {1, 0},  {-1, 0},
                                              {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
  const GeoBounds bounds = bounds_of(shape);
  const int step = estimated_step(reach_m(shape), shape.centre.latitude);
  GeoCell cell = GeoCell::of(shape.centre, step);
  if (step > 1 && !covers(cell, bounds)) cell = GeoCell::of(shape.centre, step - 1);

  std::vector<GeoCell> cells = {cell};
  for (const auto [columns, rows] : kDirections) {
    if (!extends(cell, bounds, columns, rows)) continue;
    // In the coarsest grid, consecutive neighbours are the same.
    const GeoCell neighbour = cell.neighbour(columns, rows);
    if (neighbour != cells.back()) cells.push_back(neighbour);
  }
  return cells;
}

}  // namespace rushgate
