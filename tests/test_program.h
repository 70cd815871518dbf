// What every test program runs.
#pragma once

namespace rushgate {

/// Runs the tests, and returns what main() is to return. A program that crashes prints its stack.
/// Under ctest, a program that comes near its time limit prints the stack of each thread, and aborts.
int run_tests(int argc, char** argv);

}  // namespace rushgate
