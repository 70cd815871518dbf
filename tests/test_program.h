// What every test program runs.
#pragma once

namespace rushgate {

/// Runs the tests, and returns what main() is to return. Under ctest, a program that comes near its
/// time limit prints where each of its threads stands, and aborts: so a test that hangs names the
/// place.
int run_tests(int argc, char** argv);

}  // namespace rushgate
