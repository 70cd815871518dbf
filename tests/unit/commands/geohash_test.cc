#include "engine/redis/commands/geohash.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "engine/redis/commands/geo_shape.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

double between(double min, double max, std::mt19937_64& random) {
  return std::uniform_real_distribution(min, max)(random);
}

TEST(GeohashTest, ScoreStandsForNearPosition) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10'000; ++i) {
    const GeoPosition position = {between(-kLongitudeMax, kLongitudeMax, random),
                                  between(-kLatitudeMax, kLatitudeMax, random)};
    const double score = GeoCell::of(position, GeoCell::kStepMax).first_score();
    ASSERT_LT(distance_m(position, position_of(score)), 0.6);
    ASSERT_EQ(GeoCell::of_score(score).first_score(), score);
  }
}

TEST(GeohashTest, AnyScoreHasPositionOnMap) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double score : {kInfinity, -kInfinity, -1.0, 0x1p63, -0x1p63, 0x1p64, 0x1.8p63})
    EXPECT_TRUE(is_on_map(position_of(score)));
  for (int i = 0; i < 10'000; ++i) {
    const double score = std::bit_cast<double>(random());
    if (std::isnan(score)) continue;
    ASSERT_TRUE(is_on_map(position_of(score))) << score;
    ASSERT_EQ(geohash_text(position_of(score)).size(), 11U);
  }
}

TEST(GeohashTest, NeighboursWrapAround) {
  const GeoCell corner = GeoCell::of({-kLongitudeMax, -kLatitudeMax}, 4);
  EXPECT_EQ(corner.neighbour(-1, 0).bounds().east, kLongitudeMax);
  EXPECT_EQ(corner.neighbour(0, -1).bounds().north, kLatitudeMax);
  EXPECT_EQ(corner.neighbour(-1, -1).neighbour(1, 1), corner);
}

TEST(GeohashTest, ScoresOfCellFollowEachOther) {
  const GeoCell cell = GeoCell::of({13.4, 38.1}, 9);
  for (const int step : {10, 20, GeoCell::kStepMax}) {
    const double score = GeoCell::of({13.4, 38.1}, step).first_score();
    EXPECT_GE(score, cell.first_score());
    EXPECT_LT(score, cell.end_score());
  }
}

TEST(GeoShapeTest, CellsCoverShape) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  int inside = 0;
  for (int i = 0; i < 20'000; ++i) {
    GeoShape shape;
    shape.centre = {between(-120, 120, random), between(-60, 60, random)};
    shape.unit_m = 1'000;
    shape.kind = i % 2 == 0 ? GeoShape::Kind::kCircle : GeoShape::Kind::kBox;
    shape.radius = std::exp(between(-3, 6, random));
    shape.width = std::exp(between(-3, 6, random));
    shape.height = std::exp(between(-3, 6, random));
    const double reach = (shape.radius + shape.width + shape.height) / 111;
    const GeoPosition near = {shape.centre.longitude + between(-reach, reach, random),
                              shape.centre.latitude + between(-reach, reach, random)};
    if (!is_on_map(near)) continue;
    const double score = GeoCell::of(near, GeoCell::kStepMax).first_score();
    if (!shape.distance_inside_m(position_of(score))) continue;
    ++inside;
    const auto cells = covering_cells(shape);
    ASSERT_LE(cells.size(), 9U);
    ASSERT_EQ(std::ranges::count_if(cells,
                                    [score](const GeoCell& cell) {
                                      return cell.first_score() <= score &&
                                             score < cell.end_score();
                                    }),
              1);
  }
  EXPECT_GT(inside, 1'000);
}

}  // namespace
}  // namespace rushgate
