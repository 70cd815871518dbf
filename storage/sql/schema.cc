#include "storage/sql/schema.h"

#include <string>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "storage/sql/pool.h"
#include <rushgate/order_store.h>

namespace rushgate::sql {
namespace {

template <class Runner>
absl::StatusOr<std::int64_t> count_tables(const Database& database, Runner& runner,
                                          std::string_view table) {
  ASSIGN_OR_RETURN(const Rows rows, runner(database.count_tables(table)));
  return rows.front().integer(0);
}

/// Returns 0 if there are no tables. `runner` runs a statement.
template <class Runner>
absl::StatusOr<std::int64_t> read_version(const Database& database, Runner runner) {
  ASSIGN_OR_RETURN(std::int64_t ours, count_tables(database, runner, "database_state"));
  if (ours == 0) {
    ASSIGN_OR_RETURN(const std::int64_t others, count_tables(database, runner, "orders"));
    if (others == 0) return 0;
    // Another process may have created both after the first look.
    ASSIGN_OR_RETURN(ours, count_tables(database, runner, "database_state"));
  }
  if (ours == 0) {
    return absl::FailedPreconditionError(
        "it has a table `orders` of another application, and no `database_state`: give the orders "
        "a database or a schema of their own");
  }
  ASSIGN_OR_RETURN(const Rows rows, runner({"SELECT version FROM database_state"}));
  return rows.empty() ? 0 : rows.front().integer(0);  // empty: its creation was interrupted
}

absl::Status check_version(std::int64_t version, std::size_t newest) {
  if (version <= static_cast<std::int64_t>(newest)) return absl::OkStatus();
  return absl::UnimplementedError(
      concat("it has version ", version,
             ", written by a newer Rushgate; this one knows versions up to ", newest));
}

absl::Status write_version(Transaction& transaction, std::int64_t before, std::int64_t version) {
  Statement statement{"UPDATE database_state SET version = ?1", {version}};
  if (before == 0) {
    statement = {
        "INSERT INTO database_state (only_row, version, identity, epoch, checkpoint, revision, "
        "last_change) VALUES (1, ?1, ?2, 1, 0, 0, 0)",
        {version, new_database_identity()}};
  }
  return transaction.commit(std::span(&statement, 1));
}

/// Returns the version before.
absl::StatusOr<std::int64_t> migrate_on(const Database& database, Connection& connection,
                                        const MigrateOptions& options) {
  const auto migrations = database.migrations();
  const auto newest = static_cast<std::int64_t>(migrations.size());
  // Also checked before the lock, so that opening a current database never waits.
  const auto alone = [&](const Statement& statement) -> absl::StatusOr<Rows> {
    ASSIGN_OR_RETURN(auto results, connection.run(std::span(&statement, 1), Part::kAlone));
    return std::move(results.front());
  };
  ASSIGN_OR_RETURN(const std::int64_t seen, read_version(database, alone));
  RETURN_IF_ERROR(check_version(seen, migrations.size()));
  if (seen == newest) return seen;
  if (seen == 0 && (options.read_only || !options.create_if_missing)) {
    return absl::NotFoundError("there are no orders");
  }
  if (options.read_only) {
    return absl::FailedPreconditionError(concat("it has version ", seen, ", this Rushgate wants ",
                                                newest,
                                                ": open it for writing once, which migrates it"));
  }

  Transaction transaction(connection);
  RETURN_IF_ERROR(transaction.run(database.lock_migrations()).status());
  const auto inside = [&](const Statement& statement) { return transaction.run(statement); };
  ASSIGN_OR_RETURN(const std::int64_t before, read_version(database, inside));
  RETURN_IF_ERROR(check_version(before, migrations.size()));
  if (before == newest) return before;
  for (const auto& migration : migrations.subspan(static_cast<std::size_t>(before))) {
    for (const std::string& text : migration) {
      RETURN_IF_ERROR(transaction.run(Statement{text}).status());
    }
  }
  RETURN_IF_ERROR(write_version(transaction, before, newest));
  return before;
}

}  // namespace

absl::StatusOr<std::int64_t> migrate(Database& database, const MigrateOptions& options) {
  auto migrated = [&]() -> absl::StatusOr<std::int64_t> {
    ASSIGN_OR_RETURN(const auto connection, database.connect());
    return migrate_on(database, *connection, options);
  }();
  if (migrated.ok()) return migrated;
  return absl::Status(migrated.status().code(),
                      concat("opening ", database.name(), ": ", migrated.status().message()));
}

}  // namespace rushgate::sql
