#include "apps/input/csv_reader.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/output/record_output.h"
#include <rushgate/random_seed.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ReadRecord {
  std::size_t line = 0;
  std::vector<std::string> fields;
  std::string fault;
};

std::vector<ReadRecord> read_csv(const std::string& text) {
  std::vector<ReadRecord> records;
  CsvReader reader(text);
  for (CsvRecord record; reader.next(record);) {
    records.push_back({record.line, {record.fields.begin(), record.fields.end()}, record.fault});
  }
  return records;
}

TEST(CsvReaderTest, QuotedFieldMayHaveLineBreaks) {
  const auto records = read_csv("a,\"one, \"\"two\"\"\r\nthree\",\"\"\r\nb\r\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].line, 1u);
  EXPECT_THAT(records[0].fields, ElementsAre("a", "one, \"two\"\r\nthree", ""));
  EXPECT_EQ(records[1].line, 3u);
  EXPECT_THAT(records[1].fields, ElementsAre("b"));
}

TEST(CsvReaderTest, BlanksAroundFieldsAreIgnored) {
  const auto records = read_csv(" a ,\t\" b \"\t, \n\n  \r\n,");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0].fields, ElementsAre("a", " b ", ""));
  EXPECT_EQ(records[1].line, 4u);
  EXPECT_THAT(records[1].fields, ElementsAre("", ""));
}

TEST(CsvReaderTest, MalformedRecordEndsWithItsLine) {
  const std::pair<std::string, std::string> malformed[] = {
      {"1,\"open,2", "the closing quote of a field is missing"},
      {"1,\"a\"b,2", "there is more after the closing quote of a field"},
      {"1,a\"b,2", "a field with a quote must be in quotes, and its quotes doubled"},
      {"1,=\"2\",3", "a field with a quote must be in quotes, and its quotes doubled"},
  };
  for (const auto& [line, fault] : malformed) {
    const auto records = read_csv("first\n" + line + "\nlast");
    ASSERT_EQ(records.size(), 3u) << line;
    EXPECT_EQ(records[1].line, 2u);
    EXPECT_EQ(records[1].fault, fault) << line;
    EXPECT_EQ(records[2].line, 3u);
    EXPECT_THAT(records[2].fields, ElementsAre("last"));
  }
}

TEST(CsvReaderTest, FieldAboveLimitLacksItsQuote) {
  const std::string longest(CsvReader::kQuotedBytesMax, 'x');
  EXPECT_EQ(read_csv('"' + longest + '"').at(0).fields.at(0), longest);
  EXPECT_THAT(read_csv('"' + longest + "x\"").at(0).fault, HasSubstr("closing quote"));
}

TEST(CsvReaderTest, WrittenFieldsAreReadAgain) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(seed_text(seed));
  std::mt19937_64 random(seed);
  constexpr std::string_view kBytes = "ab\",\r\n \t='";
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> fields = {"first"};  // a record of one empty field is an empty line
    std::string line = "first";
    for (std::uint64_t i = 0; i < 1 + random() % 3; ++i) {
      std::string field;
      for (std::uint64_t size = random() % 6; size > 0; --size) {
        field += kBytes[random() % kBytes.size()];
      }
      line += ',' + csv_field(field);
      fields.push_back(std::move(field));
    }
    const auto records = read_csv(line + "\r\nlast\r\n");
    ASSERT_EQ(records.size(), 2u) << line;
    EXPECT_EQ(records[0].fields, fields) << line;
    EXPECT_THAT(records[1].fields, ElementsAre("last"));
  }
}

}  // namespace
}  // namespace rushgate
