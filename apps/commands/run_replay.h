// A replay from its files to its table: what `replay` and `demo` do.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "apps/sale_at.h"

namespace rushgate {

struct ReplayArguments {
  std::filesystem::path requests;
  std::filesystem::path vouchers;
  SaleArguments sale;
  int threads = 2;
  std::size_t batch = 128;
  bool real_time = false;
  bool skip_bad = false;
  bool json = false;
};

/// Prints the table; gives the exit code.
int run_replay(const ReplayArguments& arguments);

}  // namespace rushgate
