// The identity of an order database also tells whether a sale may open it.
#pragma once

#include <string>

namespace rushgate {

enum class DatabaseUse : unsigned char {
  kOpen,        // by a sale
  kMoved,       // never again: it was copied, and its copy is in use
  kUnfinished,  // not yet: it is a copy that is being made
};

/// Returns the use of a database with this identity.
DatabaseUse use_of(const std::string& identity);
/// Returns the identity of the same database in another use. An identity that new_database_identity()
/// did not make stays as it is.
std::string identity_for(const std::string& identity, DatabaseUse use);

}  // namespace rushgate
