// The entry point of every test program.
#pragma once

namespace rushgate {

/// Runs the tests and returns the exit code of main(). A crashing program prints its stack. Under
/// ctest, a program near its time limit prints the stack of each thread and aborts.
int run_tests(int argc, char** argv);

}  // namespace rushgate
