#include "engine/redis/commands/latency_graph.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/core/base/concat.h"

namespace rushgate {
namespace {

constexpr std::size_t kColumnsMax = 80;
constexpr std::size_t kRows = 4;
constexpr std::string_view kTops = "_o#";  // of a column within a row, by rising height
constexpr char kBelowTop = '|';

struct Column {
  std::size_t height;  // in steps: kTops.size() per row
  std::string label;
};

/// Returns an age in seconds, minutes, hours or days: "59s", "2m".
std::string shown_age(std::int64_t age_s) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (age_s < kMinute) return concat(age_s, "s");
  if (age_s < kHour) return concat(age_s / kMinute, "m");
  if (age_s < kDay) return concat(age_s / kHour, "h");
  return concat(age_s / kDay, "d");
}

/// Returns the character of a column in a row; row 0 is the lowest.
char character(const Column& column, std::size_t row) {
  const std::size_t below = row * kTops.size();
  if (column.height < below) return ' ';
  const std::size_t in_row = column.height - below;
  return in_row < kTops.size() ? kTops[in_row] : kBelowTop;
}

/// Draws columns side by side, then an empty row, and their labels from top to bottom.
void draw(const Column* begin, const Column* end, std::string& graph) {
  for (std::size_t row = kRows; row > 0; --row) {
    for (const Column* column = begin; column != end; ++column)
      graph += character(*column, row - 1);
    graph += '\n';
  }
  graph.append(static_cast<std::size_t>(end - begin), ' ').append("\n");
  std::size_t label_size = 0;
  for (const Column* column = begin; column != end; ++column)
    label_size = std::max(label_size, column->label.size());
  for (std::size_t i = 0; i < label_size; ++i) {
    for (const Column* column = begin; column != end; ++column)
      graph += i < column->label.size() ? column->label[i] : ' ';
    graph += '\n';
  }
}

}  // namespace

std::string latency_graph(std::string_view name, const LatencyEvent& event, std::int64_t now_s) {
  const auto [low, high] =
      std::ranges::minmax(event.samples, {}, [](const LatencySample& sample) { return sample.ms; });
  const std::int64_t range_ms = std::max<std::int64_t>(1, high.ms - low.ms);
  constexpr auto kSteps = static_cast<std::int64_t>(kRows * kTops.size());
  std::vector<Column> columns;
  columns.reserve(event.samples.size());
  for (const LatencySample& sample : event.samples) {
    const std::int64_t height = std::min((sample.ms - low.ms) * kSteps / range_ms, kSteps - 1);
    columns.push_back({static_cast<std::size_t>(height), shown_age(now_s - sample.time_s)});
  }

  std::string graph = concat(name, " - high ", high.ms, " ms, low ", low.ms, " ms (all time high ",
                             event.ms_max, " ms)\n");
  graph.append(kColumnsMax, '-').append("\n");
  for (std::size_t first = 0; first < columns.size(); first += kColumnsMax) {
    if (first > 0) graph += '\n';
    const std::size_t last = std::min(columns.size(), first + kColumnsMax);
    draw(columns.data() + first, columns.data() + last, graph);
  }
  return graph;
}

}  // namespace rushgate
