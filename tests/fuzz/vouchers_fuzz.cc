// vouchers.json: a file that was read and written again is read as the same vouchers.
#include <string>

#include "tests/fuzz/fuzz.h"
#include <rushgate/flash_sale.h>

RUSHGATE_FUZZER(vouchers) {
  using namespace rushgate;
  const auto vouchers = parse_vouchers(fuzz::to_text(data, size), "f");
  if (!vouchers.ok()) {
    constexpr std::size_t kFaultBytesMax = 1'000;
    fuzz::expect(vouchers.status().message().size() <= kFaultBytesMax, "the fault is short");
    return 0;
  }
  const auto again = parse_vouchers(format_vouchers(*vouchers), "f");
  fuzz::expect(again.ok() && *again == *vouchers, "written vouchers are read back");
  return 0;
}
