// A whole replay, from its input files to its table. Used by `replay` and `demo`.
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

/// Prints the table. Returns the exit code.
int run_replay(const ReplayArguments& arguments);

}  // namespace rushgate
