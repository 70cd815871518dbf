// SIGINT and SIGTERM as a question that a loop may ask.
#pragma once

namespace rushgate {

/// From now on the first of them is only noted. The second one ends the process, as it does by
/// default.
void note_interrupts();

/// The signal that came, or 0.
int interrupt_signal();

}  // namespace rushgate
