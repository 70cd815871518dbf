// The test program is also the victim: it starts itself as the process to kill.
#include "tests/crash/granting_process.h"
#include "tests/crash/sale_process.h"
#include "tests/support/test_program.h"

int main(int argc, char** argv) {
  rushgate::SaleProcess::be_one_if_told(argc, argv);
  rushgate::GrantingProcess::be_one_if_told(argc, argv);
  return rushgate::run_tests(argc, argv);
}
