// The events of the latency monitor. (tests/conformance/transcripts/tools.txt compares the commands
// with Redis.)
#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/base/latency_histogram.h"
#include "engine/redis/commands/latency_events.h"
#include "engine/redis/commands/latency_graph.h"
#include "tests/unit/commands/command_test.h"

namespace rushgate {
namespace {

// ---- Events ----

TEST(LatencyEventsTest, SamplesOfOneSecondBecomeLongest) {
  LatencyEvents events;
  events.add("command", {.time_s = 5, .ms = 10});
  events.add("command", {.time_s = 5, .ms = 30});
  events.add("command", {.time_s = 5, .ms = 20});
  events.add("command", {.time_s = 6, .ms = 1});
  const LatencyEvent* const event = events.find("command");
  ASSERT_NE(event, nullptr);
  ASSERT_EQ(event->samples.size(), 2U);
  EXPECT_EQ(event->samples[0].ms, 30);
  EXPECT_EQ(event->samples[1].ms, 1);
  EXPECT_EQ(event->ms_max, 30);
}

TEST(LatencyEventsTest, OldestSampleBeyondBoundIsRemoved) {
  LatencyEvents events;
  constexpr std::int64_t kSamples = LatencyEvents::kSamplesMax + 5;
  for (std::int64_t i = 0; i < kSamples; ++i)
    events.add("command", {.time_s = i, .ms = kSamples - i});
  const LatencyEvent* const event = events.find("command");
  ASSERT_EQ(event->samples.size(), LatencyEvents::kSamplesMax);
  EXPECT_EQ(event->samples.front().time_s, 5);
  EXPECT_EQ(event->ms_max, kSamples);
}

// ---- The graph, as redis-server 7.0.15 drew the same samples ----

LatencyEvent event_of(const std::vector<LatencySample>& samples) {
  LatencyEvents events;
  for (const LatencySample& sample : samples) events.add("command", sample);
  return *events.find("command");
}

const std::string kLine(80, '-');  // NOLINT(cert-err58-cpp): a short string

const std::vector<LatencySample> kSamples = {{1506, 11}, {1507, 21}, {1508, 30},
                                             {1509, 40}, {1510, 50}, {1511, 103},
                                             {1512, 70}, {1513, 15}, {1514, 22}};

TEST(LatencyGraphTest, ColumnsAreScaledToSamples) {
  EXPECT_EQ(latency_graph("command", event_of(kSamples), 1515),
            "command - high 103 ms, low 11 ms (all time high 103 ms)\n" + kLine +
                "\n"
                "     #   \n"
                "     |o  \n"
                "   _#||  \n"
                "_o#||||_o\n"
                "         \n"
                "987654321\n"
                "sssssssss\n");
}

TEST(LatencyGraphTest, LabelsHaveDifferentLengths) {
  EXPECT_EQ(latency_graph("command", event_of(kSamples), 1570),
            "command - high 103 ms, low 11 ms (all time high 103 ms)\n" + kLine +
                "\n"
                "     #   \n"
                "     |o  \n"
                "   _#||  \n"
                "_o#||||_o\n"
                "         \n"
                "111115555\n"
                "mmmmm9876\n"
                "     ssss\n");
}

TEST(LatencyGraphTest, SingleSampleIsLow) {
  EXPECT_EQ(latency_graph("command", event_of({{0, 30}}), 2 * 86'400),
            "command - high 30 ms, low 30 ms (all time high 30 ms)\n" + kLine +
                "\n \n \n \n_\n \n2\nd\n");
}

TEST(LatencyGraphTest, MoreThan80SamplesFillTwoBlocks) {
  std::vector<LatencySample> samples;
  for (std::int64_t i = 0; i < 81; ++i) samples.push_back({.time_s = i, .ms = 1});
  const std::string graph = latency_graph("x", event_of(samples), 81);
  EXPECT_TRUE(graph.ends_with("\n\n \n \n \n_\n \n1\ns\n")) << graph;
}

// ---- Histograms ----

class LatencyHistogramCommandTest : public CommandTest {
 protected:
  /// Returns LATENCY HISTOGRAM's distribution of the durations.
  std::string distribution(const std::vector<std::int64_t>& durations_ns) {
    const CommandSpec* const get = find_command("get");
    auto latency = std::make_unique<LatencyHistogram>();
    for (const std::int64_t ns : durations_ns) latency->add(ns);
    services().statistics.by_command[*get].latency = std::move(latency);
    const Reply reply = run("LATENCY", "HISTOGRAM", "get");
    return to_debug_string(reply.elements().at(1).elements().at(3));
  }
};

TEST_F(LatencyHistogramCommandTest, CountsAreCumulative) {
  const std::string shown = distribution({1, 1'000, 2'000, 5'000, 5'000});
  EXPECT_EQ(shown,
            to_debug_string(Reply::map({Reply::integer(1), Reply::integer(2), Reply::integer(2),
                                        Reply::integer(3), Reply::integer(8), Reply::integer(5)})));
}

TEST_F(LatencyHistogramCommandTest, StepsHaveNamesOfRedis) {
  std::vector<std::int64_t> durations_ns;
  for (std::int64_t step_ns = 1'024; step_ns <= std::int64_t{1} << 30; step_ns *= 2)
    durations_ns.push_back(step_ns);
  std::vector<Reply> expected;
  std::int64_t count = 0;
  for (const std::int64_t us :
       {1,     2,     4,     8,      16,     33,     66,      132,     264,     528,      1'056,
        2'113, 4'227, 8'454, 16'908, 33'816, 67'633, 135'266, 270'532, 541'065, 1'073'741}) {
    expected.push_back(Reply::integer(us));
    expected.push_back(Reply::integer(++count));
  }
  EXPECT_EQ(distribution(durations_ns), to_debug_string(Reply::map(std::move(expected))));
}

TEST_F(LatencyHistogramCommandTest, LastStepHasNoBound) {
  EXPECT_EQ(distribution({std::int64_t{60} * 1'000'000'000}),
            to_debug_string(Reply::map({Reply::integer(1'073'741), Reply::integer(1)})));
}

}  // namespace
}  // namespace rushgate
