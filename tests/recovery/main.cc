// The program is its own victim: it starts itself as the process that is killed.
#include "tests/recovery/sale_process.h"
#include "tests/test_program.h"

int main(int argc, char** argv) {
  rushgate::SaleProcess::be_one_if_told(argc, argv);
  return rushgate::run_tests(argc, argv);
}
