#include "tests/bench/charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/functional/function_ref.h"
#include "apps/comparison/svg_picture.h"
#include "tests/bench/report.h"
#include "tests/bench/samples.h"

namespace rushgate::bench {
namespace {

using nlohmann::json;
using std::string_view;

constexpr int kWidth = 860;
constexpr int kMargin = 20;
constexpr int kTop = 92;  // of the part below the heading

constexpr string_view kOurs = "#1f6f8b";
constexpr string_view kPeer = "#d1782a";
constexpr std::array<string_view, 3> kShades = {"#9cc5d3", "#4f9bb4", "#1f6f8b"};
constexpr string_view kGrid = "#dddddd";
constexpr string_view kQuiet = "#555555";

constexpr SvgPicture::Label kAfter{.has_halo = true};                    // it stands after x
constexpr SvgPicture::Label kBefore{.anchor = "end", .has_halo = true};  // it ends at x
constexpr SvgPicture::Label kAbove{.anchor = "middle", .has_halo = true};
constexpr SvgPicture::Label kRight{.anchor = "end"};
constexpr SvgPicture::Label kTick{.anchor = "middle", .colour = kQuiet};
constexpr SvgPicture::Stroke kGridLine{.colour = kGrid};

/// Returns null if the report has no such line.
const json* find_line(const json& lines, string_view name) {
  const auto found = std::ranges::find_if(
      lines, [&](const json& line) { return line.at("line").get<std::string>() == name; });
  return found == lines.end() ? nullptr : &*found;
}

double median_of(const json& comparison, string_view side) {
  return comparison.at(side).at("median");
}

/// The strings around a chart.
struct Frame {
  string_view title;
  string_view unit;
  string_view compared;
  string_view command;
};

void draw_heading(SvgPicture& picture, const Frame& frame) {
  picture.label(kMargin, 30, frame.title, {.size = 17, .is_bold = true});
  picture.label(kMargin, 51, frame.unit, {.size = 13, .colour = kQuiet});
}

/// Draws the lines below a chart that ends at `bottom`, and returns the file's contents.
std::string finish(SvgPicture& picture, double bottom, const Frame& frame,
                   const std::string& machine) {
  constexpr double kLineHeight = 18;
  double y = bottom + 26;
  for (const std::string& line :
       {"Compared: " + std::string(frame.compared), "Machine: " + machine,
        fmt::format("Command: {}. The numbers are medians of docs/performance.md.",
                    frame.command)}) {
    picture.label(kMargin, y, line, {.colour = kQuiet});
    y += kLineHeight;
  }
  return picture.svg(kWidth, static_cast<int>(y));
}

void draw_key(SvgPicture& picture, double x, string_view colour, string_view name) {
  picture.rectangle(x, 64, 12, 12, colour);
  picture.label(x + 18, 75, name, {.size = 13});
}

double power_below(double value) { return std::pow(10, std::floor(std::log10(value))); }
double power_above(double value) { return std::pow(10, std::ceil(std::log10(value))); }

// ---- Throughput over the size of a batch ----

struct Point {
  int batch;
  double rate;
};

/// The rates of one durability.
struct Panel {
  string_view durability;
  string_view peer_is;
  std::vector<Point> points;
  std::optional<double> peer;
};

Panel panel_of(const json& comparisons, string_view durability, string_view peer_is) {
  constexpr int kMeasuredBatch = 1'000;  // the batch of the line "accepted, …"
  Panel panel{.durability = durability, .peer_is = peer_is, .points = {}, .peer = {}};
  for (const int batch : kBatchSizes) {
    const std::string name = batch == kMeasuredBatch ? fmt::format("accepted, {}", durability)
                                                     : batch_line(batch, durability);
    const json* const line = find_line(comparisons, name);
    if (line == nullptr) continue;
    panel.points.push_back({batch, median_of(*line, "ours")});
    if (!panel.peer || batch == kMeasuredBatch) panel.peer = median_of(*line, "peer");
  }
  // The line of many callers measures one caller too.
  const json* const callers = find_line(comparisons, "accepted, 1,000 fibers on one thread");
  const bool has_first = !panel.points.empty() && panel.points.front().batch == 1;
  if (durability == "durability os" && callers != nullptr && !has_first) {
    panel.points.insert(panel.points.begin(), {1, median_of(*callers, "peer")});
  }
  return panel;
}

std::string batch_name(int batch) {
  return batch < 1'000 ? std::to_string(batch) : fmt::format("{},000", batch / 1'000);
}

/// Returns true if no batch size between both is missing.
bool are_neighbours(const Point& from, const Point& to) {
  const auto* const found = std::ranges::find(kBatchSizes, from.batch);
  return found + 1 != kBatchSizes.end() && *(found + 1) == to.batch;
}

void draw_panel(SvgPicture& picture, const Panel& panel, const LogAxis& x, const LogAxis& y) {
  const double middle = (x.from + x.to) / 2;
  picture.label(middle, y.to - 36, panel.durability,
                {.size = 14, .is_bold = true, .anchor = "middle"});
  picture.label(middle, y.to - 18, panel.peer_is, {.anchor = "middle", .colour = kQuiet});
  for (double rate = y.least; rate <= y.most * 1.01; rate *= 10) {
    picture.line(x.from - 16, y.at(rate), x.to + 16, y.at(rate), kGridLine);
  }
  if (panel.peer) {
    picture.line(x.from - 16, y.at(*panel.peer), x.to + 16, y.at(*panel.peer),
                 {.width = 2, .is_dashed = true, .colour = kPeer});
    picture.label(x.to + 16, y.at(*panel.peer) + 17, short_number(*panel.peer),
                  {.is_bold = true, .anchor = "end", .colour = kPeer, .has_halo = true});
  }
  for (std::size_t i = 1; i < panel.points.size(); ++i) {
    const Point& from = panel.points[i - 1];
    const Point& to = panel.points[i];
    if (!are_neighbours(from, to)) continue;
    picture.line(x.at(from.batch), y.at(from.rate), x.at(to.batch), y.at(to.rate),
                 {.width = 2, .colour = kOurs});
  }
  for (const Point& point : panel.points) {
    picture.circle(x.at(point.batch), y.at(point.rate), 5, kOurs);
    picture.label(x.at(point.batch), y.at(point.rate) - 10, short_number(point.rate),
                  {.is_bold = true, .anchor = "middle", .colour = kOurs, .has_halo = true});
  }
  for (const int batch : kBatchSizes) {
    picture.label(x.at(batch), y.from + 20, batch_name(batch), kTick);
  }
  picture.label(middle, y.from + 40, "purchases per batch", kTick);
}

std::string throughput_chart(const json& report, const std::string& machine) {
  constexpr double kPanelHeight = 230;
  constexpr double kFirst = 98;
  constexpr double kPanelWidth = 200;
  constexpr double kDistance = 256;
  const json& comparisons = report.at("comparisons");
  const Panel panels[] = {
      panel_of(comparisons, "in memory", "redis-server: no file"),
      panel_of(comparisons, "durability os", "redis-server: appendfsync everysec"),
      panel_of(comparisons, "durability sync", "redis-server: appendfsync always")};
  double least = 1e12;
  double most = 0;
  for (const Panel& panel : panels) {
    if (panel.peer) least = std::min(least, *panel.peer);
    for (const Point& point : panel.points) {
      least = std::min(least, point.rate);
      most = std::max(most, point.rate);
    }
  }
  if (most == 0) return {};

  const Frame frame{
      .title = "Accepted purchases per second, over the size of a batch",
      .unit = "purchases per second, logarithmic; a dot for each batch size that was measured",
      .compared =
          "function calls of one caller; requests of redis-benchmark or "
          "hiredis over a unix socket.",
      .command = "./dev bench admissions batches fibers"};
  SvgPicture picture;
  draw_heading(picture, frame);
  draw_key(picture, kMargin, kOurs, "Rushgate, native script");
  draw_key(picture, 230, kPeer, "redis-server, Lua script, fastest load");
  const LogAxis y{power_below(least), power_above(most), kTop + 56 + kPanelHeight, kTop + 56};
  for (double rate = y.least; rate <= y.most * 1.01; rate *= 10) {
    picture.label(kFirst - 24, y.at(rate) + 4, short_number(rate), kRight);
  }
  double x = kFirst;
  for (const Panel& panel : panels) {
    draw_panel(picture, panel,
               {static_cast<double>(kBatchSizes.front()), static_cast<double>(kBatchSizes.back()),
                x, x + kPanelWidth},
               y);
    x += kDistance;
  }
  return finish(picture, y.from + 44, frame, machine);
}

// ---- The distribution of latencies ----

struct Latencies {
  std::string label;
  string_view colour;
  std::vector<double> us;  // ascending: the quantiles that are recorded
};

/// Returns the quantiles of a line of the report. `side` is empty for a figure.
Latencies latencies_of(const json& lines, const std::string& name, string_view side,
                       const std::string& label) {
  Latencies latencies{.label = label, .colour = kOurs, .us = {}};
  for (const Quantile& quantile : kQuantiles) {
    const json* const line = find_line(lines, fmt::format("{}: {}", name, quantile.name));
    if (line == nullptr) continue;
    latencies.us.push_back(side.empty() ? line->at("value").get<double>() : median_of(*line, side));
  }
  if (side == "peer") latencies.colour = kPeer;
  return latencies;
}

std::vector<Latencies> all_latencies(const json& report) {
  const json& comparisons = report.at("comparisons");
  const json& figures = report.at("figures");
  std::vector<Latencies> rows;
  for (const char* const what : {"accepted", "sold out"}) {
    const std::string name = fmt::format("{}, one at a time", what);
    rows.push_back(latencies_of(comparisons, name, "ours", fmt::format("{}, one caller", what)));
    rows.push_back(
        latencies_of(comparisons, name, "peer", fmt::format("{}, one connection", what)));
  }
  for (const auto& [name, label] :
       {std::pair{"a request of 8 threads", "accepted, 8 threads"},
        std::pair{"a request of 1,000 fibers on one thread", "accepted, 1,000 fibers"},
        std::pair{"a request of 1,000 fibers on one thread and 8 threads",
                  "accepted, fibers and threads"}}) {
    rows.push_back(latencies_of(figures, name, "", label));
  }
  std::erase_if(rows, [](const Latencies& row) { return row.us.empty(); });
  return rows;
}

std::string latency_chart(const json& report, const std::string& machine) {
  constexpr double kLabelWidth = 250;
  constexpr double kRowHeight = 30;
  const std::vector<Latencies> rows = all_latencies(report);
  if (rows.empty()) return {};
  double least = rows.front().us.front();
  double most = least;
  for (const Latencies& row : rows) {
    least = std::min(least, row.us.front());
    most = std::max(most, row.us.back());
  }

  const Frame frame{
      .title = "Time of a purchase, and its distribution",
      .unit =
          "time from the call to the result, logarithmic; dots from left to right: "
          "median … p99.9",
      .compared = "Sale::buy(), durability os; EVALSHA by hiredis over a unix socket, everysec.",
      .command = "./dev bench latency fibers"};
  SvgPicture picture;
  draw_heading(picture, frame);
  draw_key(picture, kMargin, kOurs, "Rushgate");
  draw_key(picture, 130, kPeer, "redis-server");
  const double bottom = kTop + kRowHeight * static_cast<double>(rows.size());
  const LogAxis x{power_below(least), power_above(most), kLabelWidth, kWidth - 60};
  for (double us = x.least; us <= x.most * 1.01; us *= 10) {
    picture.line(x.at(us), kTop, x.at(us), bottom, kGridLine);
    picture.label(x.at(us), bottom + 18, short_duration(us), kTick);
  }
  double y = kTop + kRowHeight / 2;
  for (const Latencies& row : rows) {
    picture.label(kLabelWidth - 60, y + 4, row.label, kRight);
    picture.line(x.at(row.us.front()), y, x.at(row.us.back()), y,
                 {.width = 4, .colour = row.colour});
    for (const double us : row.us) picture.circle(x.at(us), y, 5, row.colour);
    picture.label(x.at(row.us.front()) - 10, y + 4, short_duration(row.us.front()), kBefore);
    picture.label(x.at(row.us.back()) + 10, y + 4, short_duration(row.us.back()), kAfter);
    y += kRowHeight;
  }
  return finish(picture, bottom + 24, frame, machine);
}

// ---- Memory ----

/// Returns the part of a note before the first semicolon.
std::string first_note(const json& comparison) {
  const std::string note = comparison.at("note");
  return note.substr(0, note.find(';'));
}

constexpr double kBarsFrom = 310;
constexpr double kLongestBar = 330;

/// Draws a bar of a median, and its value: "15.2 bytes (12.5 … 19.1)".
void draw_bar(SvgPicture& picture, double y, double pixels_per_unit, const json& samples,
              string_view unit, string_view colour) {
  constexpr double kBarHeight = 20;
  const double median = samples.at("median");
  const std::string min = short_number(samples.at("min"));
  const std::string max = short_number(samples.at("max"));
  const double length = median * pixels_per_unit;
  picture.rectangle(kBarsFrom, y, length, kBarHeight, colour);
  picture.label(kBarsFrom + length + 8, y + 15,
                fmt::format("{}{}{}", short_number(median), unit,
                            min == max ? "" : fmt::format(" ({} … {})", min, max)),
                {.size = 13});
}

/// A chart with two bars for each comparison.
struct BarChart {
  Frame frame;
  string_view peer;                                           // the name of the other bars
  string_view unit;                                           // after a number: " bytes"
  std::span<const std::pair<string_view, string_view>> rows;  // line of the report, title
};

/// Draws the rows that the report has; `note_of(line)` stands below a title. Empty without any.
std::string bar_chart(const json& report, const std::string& machine, const BarChart& chart,
                      absl::FunctionRef<std::string(const json& line)> note_of) {
  constexpr double kRowHeight = 66;
  std::vector<std::pair<const json*, string_view>> rows;
  double most = 0;
  for (const auto& [name, title] : chart.rows) {
    const json* const line = find_line(report.at("comparisons"), name);
    if (line == nullptr) continue;
    rows.emplace_back(line, title);
    most = std::max({most, median_of(*line, "ours"), median_of(*line, "peer")});
  }
  if (rows.empty()) return {};

  SvgPicture picture;
  draw_heading(picture, chart.frame);
  draw_key(picture, kMargin, kOurs, "Rushgate");
  draw_key(picture, 130, kPeer, chart.peer);
  double y = kTop + 4;
  for (const auto& [line, title] : rows) {
    picture.label(kBarsFrom - 12, y + 20, title, {.size = 14, .is_bold = true, .anchor = "end"});
    picture.label(kBarsFrom - 12, y + 38, note_of(*line), {.anchor = "end", .colour = kQuiet});
    draw_bar(picture, y + 2, kLongestBar / most, line->at("ours"), chart.unit, kOurs);
    draw_bar(picture, y + 26, kLongestBar / most, line->at("peer"), chart.unit, kPeer);
    y += kRowHeight;
  }
  return finish(picture, y - 8, chart.frame, machine);
}

std::string memory_chart(const json& report, const std::string& machine) {
  constexpr std::pair<string_view, string_view> kRows[] = {
      {"a buyer in memory", "a buyer, in memory"},
      {"an entry of the order stream in memory", "a queued order, in memory"},
      {"an admission on the disk", "an admission, on the disk"}};
  return bar_chart(
      report, machine,
      {.frame = {.title = "Memory per buyer, and per order",
                 .unit = "bytes, linear; in brackets: the least and the most of all rounds",
                 .compared = "growth of a process; used_memory and append-only file of "
                             "redis-server, with the same data.",
                 .command = "./dev bench memory"},
       .peer = "redis-server",
       .unit = " bytes",
       .rows = kRows},
      first_note);
}

// ---- Rates by HTTP ----

std::string http_chart(const json& report, const std::string& machine) {
  constexpr std::pair<string_view, string_view> kRows[] = {
      {"refused by HTTP", "refused"},
      {"refused by HTTP, beside 1,000 streams of events", "refused, 1,000 event streams"},
      {"accepted by HTTP", "accepted"},
      {"accepted by HTTP, the peer tuned", "accepted, the peer tuned"},
      {"accepted by HTTP, 16 at once", "accepted, 16 at once"}};
  const auto note_of = [&](const json& line) -> std::string {
    const json* const p99 = find_line(report.at("comparisons"),
                                      fmt::format("{}: p99", line.at("line").get<std::string>()));
    if (p99 == nullptr) return {};
    return fmt::format("p99: {}, peer {}", short_duration(median_of(*p99, "ours")),
                       short_duration(median_of(*p99, "peer")));
  };
  return bar_chart(
      report, machine,
      {.frame = {.title = "Purchases per second by HTTP",
                 .unit = "requests per second, linear; 64 connections that are kept alive",
                 .compared =
                     "refused: a bare server that returns a constant; beside streams: without "
                     "them; accepted: Node and redis-server.",
                 .command = "./dev bench http"},
       .peer = "compared",
       .unit = "/s",
       .rows = kRows},
      note_of);
}

// ---- Orders on database servers ----

std::string databases_chart(const json& report, const std::string& machine) {
  constexpr std::pair<string_view, string_view> kRows[] = {
      {"PostgreSQL, one worker", "PostgreSQL"},
      {"PostgreSQL, one worker, and one order at a time", "PostgreSQL"},
      {"PostgreSQL, two workers of two lanes", "PostgreSQL, two lanes"},
      {"MariaDB, one worker", "MariaDB"},
      {"MariaDB, one worker, and one order at a time", "MariaDB"},
      {"MariaDB, two workers of two lanes", "MariaDB, two lanes"}};
  const auto note_of = [](const json& line) -> std::string {
    const std::string name = line.at("line");
    if (name.ends_with("at a time")) return "compared: one order at a time";
    return name.ends_with("lanes") ? "compared: one worker" : "compared: bare INSERT";
  };
  return bar_chart(report, machine,
                   {.frame = {.title = "Orders per second in a database on a server",
                              .unit = "orders per second, linear; each batch is a durable commit",
                              .compared = "the same rows by one INSERT for each batch of 1,000; a "
                                          "transaction for each order; one worker.",
                              .command = "./dev bench databases"},
                    .peer = "compared",
                    .unit = "/s",
                    .rows = kRows},
                   note_of);
}

// ---- Ratios over the socket ----

constexpr int kPipelines[] = {1, 16, 128};

std::string socket_line(string_view command, int pipeline) {
  return fmt::format("{} over the socket, pipeline {}", command, pipeline);
}

std::string socket_chart(const json& report, const std::string& machine) {
  constexpr std::pair<string_view, string_view> kCommands[] = {
      {"SET", "SET"},   {"GET", "GET"},   {"INCR", "INCR"},
      {"SADD", "SADD"}, {"XADD", "XADD"}, {"EVALSHA of the seckill script", "seckill script"}};
  constexpr double kHeight = 240;
  constexpr double kFirst = 64;
  constexpr double kGroupWidth = 131;
  constexpr double kBarWidth = 34;
  constexpr double kHidden = 0.75;
  const json& comparisons = report.at("comparisons");
  double most = 0;
  for (const auto& [command, name] : kCommands) {
    for (const int pipeline : kPipelines) {
      const json* const line = find_line(comparisons, socket_line(command, pipeline));
      if (line != nullptr) most = std::max(most, line->at("ratio").get<double>());
    }
  }
  if (most == 0) return {};

  const Frame frame{.title = "Requests per second over a socket, compared with redis-server",
                    .unit = "ratio to redis-server, linear; 1 is the same rate, and more is faster",
                    .compared =
                        "durability everysec; appendfsync everysec. Both by redis-benchmark, 50 "
                        "connections, unix socket.",
                    .command = "./dev bench resp"};
  SvgPicture picture;
  draw_heading(picture, frame);
  double key_x = kMargin;
  for (std::size_t i = 0; i < std::size(kPipelines); ++i) {
    draw_key(picture, key_x, kShades.at(i), fmt::format("pipeline of {}", kPipelines[i]));
    key_x += 140;
  }
  draw_key(picture, key_x, kPeer, "redis-server");
  const double top = std::ceil(most * 2) / 2;
  const double bottom = kTop + 12 + kHeight;
  const auto y_of = [&](double ratio) { return bottom - kHeight * ratio / top; };
  for (double ratio = 0; ratio <= top; ratio += 0.5) {
    picture.line(kFirst, y_of(ratio), kWidth - kMargin, y_of(ratio), kGridLine);
    picture.label(kFirst - 10, y_of(ratio) + 4, fmt::format("{:g}", ratio), kRight);
  }
  double x = kFirst + 12;
  for (const auto& [command, name] : kCommands) {
    for (std::size_t i = 0; i < std::size(kPipelines); ++i) {
      const json* const line = find_line(comparisons, socket_line(command, kPipelines[i]));
      if (line == nullptr) continue;
      const double ratio = line->at("ratio");
      const double bar_x = x + kBarWidth * static_cast<double>(i);
      picture.rectangle(bar_x, y_of(ratio), kBarWidth - 3, bottom - y_of(ratio), kShades.at(i));
      const bool hides_one = ratio < 1 && ratio > kHidden;  // its number would be on the line of 1
      picture.label(bar_x + (kBarWidth - 3) / 2, y_of(hides_one ? 1 : ratio) - 6,
                    fmt::format("{:.3g}", ratio), kAbove);
    }
    picture.label(x + kBarWidth * 1.5, bottom + 20, name, {.size = 13, .anchor = "middle"});
    x += kGroupWidth;
  }
  picture.line(kFirst, y_of(1), kWidth - kMargin, y_of(1),
               {.width = 2, .is_dashed = true, .colour = kPeer});
  return finish(picture, bottom + 26, frame, machine);
}

// ---- Purchases per second over the masters of a cluster ----

struct Prediction {
  int masters;
  double rate;
};

std::vector<Prediction> predictions_of(const json& report, string_view what) {
  std::vector<Prediction> predictions;
  for (int masters = 1; masters <= kMastersMax; masters *= 2) {
    const json* const line = find_line(report.at("figures"), predicted_line(masters, what));
    if (line != nullptr) predictions.push_back({masters, line->at("value")});
  }
  return predictions;
}

/// Returns the purchases per second that keep the master of a single lane busy; 0 if it was not measured.
double rate_of_one_lane(const json& report, string_view what) {
  double us = 0;
  for (const string_view step : {kDecided, kStored}) {
    const json* const line =
        find_line(report.at("comparisons"), cost_line(step, what, "its master"));
    if (line == nullptr) return 0;
    us += median_of(*line, "peer");
  }
  return 1e6 / us;
}

/// Draws a dashed line over all numbers of masters, with its name at the right end.
void draw_limit(SvgPicture& picture, const LogAxis& x, double y, string_view colour,
                const std::string& name) {
  picture.line(x.from, y, x.to, y, {.width = 2, .is_dashed = true, .colour = colour});
  picture.label(x.to, y + 17, name,
                {.is_bold = true, .anchor = "end", .colour = colour, .has_halo = true});
}

std::string cluster_chart(const json& report, const std::string& machine) {
  constexpr double kHeight = 300;
  constexpr double kFirst = 84;
  const std::vector<Prediction> lanes = predictions_of(report, kManyVouchers);
  const std::vector<Prediction> split = predictions_of(report, kOneVoucher);
  const double one = rate_of_one_lane(report, kOneVoucher);
  if (lanes.empty() || split.empty() || one == 0) return {};
  const Frame frame{.title = "Purchases per second over the masters of a cluster: a model",
                    .unit = "purchases per second, both axes logarithmic; 64 lanes",
                    .compared =
                        "processor time of a purchase on its master, measured on 4 masters; "
                        "one lane: on one.",
                    .command = "./dev bench cluster"};
  SvgPicture picture;
  draw_heading(picture, frame);
  draw_key(picture, kMargin, kShades.at(1), "64 vouchers, one on each lane");
  draw_key(picture, 260, kOurs, "one voucher on 64 lanes");
  draw_key(picture, 470, kPeer, "limits");
  const double top = kTop + 16;
  const LogAxis x{1, kMastersMax, kFirst + 16, kWidth - kMargin - 40};
  const LogAxis y{power_below(std::min({one, lanes.front().rate, split.front().rate})),
                  power_above(std::max(lanes.back().rate, split.back().rate)), top + kHeight, top};
  for (double rate = y.least; rate <= y.most * 1.01; rate *= 10) {
    picture.line(x.from - 16, y.at(rate), x.to + 16, y.at(rate), kGridLine);
    picture.label(kFirst - 10, y.at(rate) + 4, short_number(rate), kRight);
  }
  draw_limit(
      picture, x, y.at(one), kPeer,
      fmt::format("one voucher on one lane: {}, with any number of masters", short_number(one)));
  if (const json* const stored =
          find_line(report.at("comparisons"), "PostgreSQL, two workers of two lanes")) {
    const double rate = median_of(*stored, "ours");
    draw_limit(picture, x, y.at(rate), kQuiet,
               fmt::format("stored by two workers in one PostgreSQL: {}", short_number(rate)));
  }
  for (const auto& [points, colour] :
       {std::pair{&lanes, kShades.at(1)}, std::pair{&split, kOurs}}) {
    for (std::size_t i = 0; i < points->size(); ++i) {
      const Prediction& point = points->at(i);
      if (i > 0) {
        const Prediction& before = points->at(i - 1);
        picture.line(x.at(before.masters), y.at(before.rate), x.at(point.masters), y.at(point.rate),
                     {.width = 2, .colour = colour});
      }
      picture.circle(x.at(point.masters), y.at(point.rate), 5, colour);
    }
  }
  for (const Prediction& point : split) {
    picture.label(x.at(point.masters), y.at(point.rate) - 12, short_number(point.rate),
                  {.is_bold = true, .anchor = "middle", .colour = kOurs, .has_halo = true});
    picture.label(x.at(point.masters), y.from + 20, std::to_string(point.masters), kTick);
  }
  picture.label((x.from + x.to) / 2, y.from + 40, "masters", kTick);
  return finish(picture, y.from + 44, frame, machine);
}

}  // namespace

std::vector<Chart> draw_charts(const json& report, const std::string& machine) {
  std::vector<Chart> charts = {{"throughput", throughput_chart(report, machine)},
                               {"latency", latency_chart(report, machine)},
                               {"memory", memory_chart(report, machine)},
                               {"socket", socket_chart(report, machine)},
                               {"http", http_chart(report, machine)},
                               {"databases", databases_chart(report, machine)},
                               {"cluster", cluster_chart(report, machine)}};
  std::erase_if(charts, [](const Chart& chart) { return chart.svg.empty(); });
  return charts;
}

}  // namespace rushgate::bench
