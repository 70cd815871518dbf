// The program is its own victim: it starts itself as the process that is killed.
#include <gmock/gmock.h>

#include "tests/recovery/sale_process.h"

int main(int argc, char** argv) {
  rushgate::SaleProcess::be_one_if_told(argc, argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
