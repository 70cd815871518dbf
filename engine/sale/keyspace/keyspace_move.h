// The marks of a move in the keyspace that a sale leaves, and in the one where it arrives.
//
// A mark stands in the place of the database's identity, so every script that compares the identity
// refuses: those of earlier versions, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Who uses a keyspace.
enum class KeyspaceRole : std::uint8_t {
  kSale,      // the processes of the sale
  kLeaving,   // a move away from it
  kArriving,  // a move to it
};

/// Returns what stands in the place of the identity.
std::string mark_of(KeyspaceRole role, std::string_view identity);

/// What a keyspace is to the database with an identity.
struct KeyspaceStanding {
  enum class Kind : std::uint8_t {
    kEmpty,     // it belongs to nobody
    kSale,      // its sale is there
    kLeaving,   // its sale is being moved away
    kLeft,      // its sale was moved away
    kArriving,  // its sale is being moved there
    kAnothers,  // it belongs to another database
  };

  Kind kind = Kind::kEmpty;
  std::string moved_to = {};  // of kLeaving and kLeft
  bool has_copies = false;    // of kArriving: everything is copied
};
absl::StatusOr<KeyspaceStanding> read_standing(Client& client, const SaleKeys& keys,
                                               std::string_view identity);
/// Returns why nobody may sell on such a keyspace. kUnavailable: a move is under way.
absl::Status refuse_standing(const KeyspaceStanding& standing, const SaleKeys& keys);

/// Marks the keyspaces of one database's sale. Each call may be repeated. Errors: of the keyspace;
/// kFailedPrecondition: it is not, or no longer, what the call expects. Does not own its arguments, which
/// must outlive it.
class KeyspaceMove {
 public:
  KeyspaceMove(Client& client, const SaleKeys& keys, std::string_view identity)
      : client_(client), keys_(keys), identity_(identity) {}

  [[nodiscard]] absl::StatusOr<KeyspaceStanding> standing() const {
    return read_standing(client_, keys_, identity_);
  }

  // ---- The keyspace to leave ----

  /// Takes the keyspace from the sale.
  absl::Status begin_leaving(std::string_view to);
  /// Closes the admission and the holds of vouchers.
  absl::Status shut(std::span<const VoucherId> vouchers);
  /// Ends the leaving towards `to`. Returns false if entries of the order stream are not acknowledged.
  absl::StatusOr<bool> finish_leaving(std::string_view to);

  // ---- The keyspace to arrive in ----

  /// Empties a keyspace that the sale has left. Only what a rebuild replaces may stay.
  absl::Status clear(std::span<const VoucherId> vouchers);
  /// Copies dead and discarded letters. Returns their number.
  absl::StatusOr<std::size_t> copy_letters_from(Client& from, const SaleKeys& from_keys);
  /// Copies the waiting lists of vouchers. Returns the number of users.
  absl::StatusOr<std::size_t> copy_waiting_lists_from(Client& from, const SaleKeys& from_keys,
                                                      std::span<const VoucherId> vouchers);
  /// Notes that all of it is copied.
  absl::Status note_copied();
  /// Gives the keyspace to the sale.
  absl::Status open();

 private:
  absl::StatusOr<std::size_t> copy_stream(Client& from, const std::string& its_stream,
                                          const std::string& stream);

  Client& client_;
  const SaleKeys& keys_;
  const std::string identity_;
};

}  // namespace rushgate
