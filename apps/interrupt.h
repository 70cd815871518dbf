// Turns SIGINT and SIGTERM into a flag that loops can poll.
#pragma once

namespace rushgate {

/// Records the first of these signals from now on. The second one ends the process, as by default.
void note_interrupts();

/// Returns the signal that was received, or 0.
int interrupt_signal();

}  // namespace rushgate
