// MIGRATE: moves keys of this process's engine to another Redis server.
#pragma once

#include <memory>

#include <rushgate/engine.h>
#include <rushgate/program_commands.h>

namespace rushgate {

/// Returns the command, for RespServerOptions::commands. It runs on threads of its own: four migrations
/// at once, and later ones wait. The last reference interrupts all of them. The engine must outlive it.
std::shared_ptr<ProgramCommands> make_migrate_command(Engine& engine);

}  // namespace rushgate
