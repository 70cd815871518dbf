// The time of an entry in the order stream.
//
// Each rule about time (the window of a sale, the days, the deadlines) is checked again later by the
// id of the entry. So a script that decides appends at the time that it decided by. A Redis before
// 7.2 would give `XADD *` a later one: it reads the clock once more.
#pragma once

namespace rushgate {

/// Lua functions. Ids only ascend, so the time of an entry does not go back where the clock does.
///
/// - time_ms(): the keyspace's time, ms since 1970 UTC;
/// - time_of_next_entry(stream, now): the time of an entry that is appended now;
/// - append_entry(stream, now, field, value, ...): appends it, and returns its id. Fails only as
///   `XADD *` does, and changes nothing then.
extern const char* const kEntryTimeLua;

}  // namespace rushgate
