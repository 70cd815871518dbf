// The calls of a sale as commands for Redis clients: SALE.BUY, SALE.PAY, …
#pragma once

#include <cstddef>
#include <memory>

#include <rushgate/flash_sale.h>
#include <rushgate/program_commands.h>

namespace rushgate {

struct SaleCommandsOptions {
  /// The most purchases that may wait for a decision, and the most other requests of one kind. Beyond
  /// that the reply is OVERLOADED, and nothing was done.
  std::size_t waiting_max = 65'536;
};

/// Returns the commands, for RespServerOptions::commands. docs/programs.md describes them. They are
/// decided on threads of their own: what several clients ask for meanwhile is one commit batch. The sale
/// must outlive them. The last reference decides what waits before it is gone.
std::shared_ptr<ProgramCommands> make_sale_commands(FlashSale& sale,
                                                    SaleCommandsOptions options = {});

}  // namespace rushgate
