// The table of a voucher's terms.
#include "engine/sale/model/voucher_terms.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

TEST(VoucherTermsTest, EachTermHasItsOwnMember) {
  for (const VoucherTerm& changed : kVoucherTerms) {
    Voucher voucher;
    for (const VoucherTerm& term : kVoucherTerms) term.set(voucher, 0);
    changed.set(voucher, 1);
    for (const VoucherTerm& term : kVoucherTerms) {
      EXPECT_EQ(term.get(voucher), term.name == changed.name ? 1 : 0)
          << term.name << " after a change of " << changed.name;
    }
  }
}

TEST(VoucherTermsTest, NoTwoTermsShareName) {
  std::set<std::string_view> names;
  std::set<std::string_view> columns;
  std::set<std::string_view> fields;
  for (const VoucherTerm& term : kVoucherTerms) {
    EXPECT_TRUE(names.insert(term.json).second) << term.name;
    EXPECT_TRUE(columns.insert(term.column).second) << term.name;
    EXPECT_TRUE(term.field.empty() || fields.insert(term.field).second) << term.name;
  }
}

TEST(VoucherTermsTest, DefaultsHaveNoFault) {
  for (const VoucherTerm& term : kVoucherTerms) {
    EXPECT_EQ(term.find_fault(term.get(Voucher{})), "") << term.name;
  }
}

TEST(VoucherTermsTest, ValueBelowRangeIsNamed) {
  for (const VoucherTerm& term : kVoucherTerms) {
    EXPECT_THAT(term.find_fault(term.min - 1), HasSubstr("must ")) << term.name;
    if (term.is_flag) continue;  // its member holds nothing else
    Voucher voucher = {.id = 1, .stock = 1};
    term.set(voucher, term.min - 1);
    EXPECT_THAT(find_fault(voucher), HasSubstr(std::string(term.subject) + " must ")) << term.name;
  }
}

TEST(VoucherTermsTest, ValueAboveRangeIsNamed) {
  for (const VoucherTerm& term : kVoucherTerms) {
    EXPECT_EQ(term.find_fault(term.max), "") << term.name;
    EXPECT_THAT(term.find_fault(term.max + 1), HasSubstr("not " + std::to_string(term.max + 1)))
        << term.name;
  }
}

TEST(VoucherTermsTest, SumsOfTermsAreExactInLua) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  for (const VoucherTerm& term : kVoucherTerms) EXPECT_LT(term.max, kExact / 8) << term.name;
}

TEST(VoucherTermsTest, DifferencesNameBothValues) {
  const VoucherVersion version = {.voucher = {.id = 1, .stock = 5, .begin_ms = 10, .end_ms = 20},
                                  .version = 2};
  std::vector<std::optional<std::int64_t>> there;
  for (const TermField& field : term_fields(version)) there.emplace_back(field.value);
  EXPECT_EQ(find_differences(version, there), "");
  there[1] = 6;
  there[3] = std::nullopt;
  EXPECT_EQ(find_differences(version, there), "stock 6 there, 5 here; end (ms) 0 there, 20 here");
}

}  // namespace
}  // namespace rushgate
