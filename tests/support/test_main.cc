// The main function of test programs without their own.
#include "tests/support/test_program.h"

int main(int argc, char** argv) { return rushgate::run_tests(argc, argv); }
