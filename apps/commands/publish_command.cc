#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "adapters/flash_sale/sale_json.h"
#include "apps/commands/command_line.h"
#include "apps/commands/commands.h"
#include "apps/exit_code.h"
#include "apps/order_json.h"
#include "apps/service/sale_at_service.h"
#include "apps/text_table.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/archived_vouchers.h"

namespace rushgate {
namespace {

using Json = nlohmann::ordered_json;

struct PublishArguments {
  SaleArguments sale;
  std::filesystem::path file;
  bool only_new = false;
  bool dry_run = false;
  bool json = false;
};

/// A field of vouchers.json that changed.
struct ChangedField {
  std::string name;
  Json before;
  Json after;
};

/// What a command did, or would do, with a voucher.
struct Publication {
  enum class Kind { kPublished, kChanged, kLeft, kRefused };

  VoucherId voucher = 0;
  Kind kind = Kind::kLeft;
  std::int64_t version = 0;  // in force after the command; 0: none, or unknown in a dry run
  std::vector<ChangedField> changes = {};
  std::string reason = {};  // of a refusal
};

std::string_view kind_name(Publication::Kind kind) {
  switch (kind) {
    case Publication::Kind::kPublished:
      return "published";
    case Publication::Kind::kChanged:
      return "changed";
    case Publication::Kind::kLeft:
      return "left";
    case Publication::Kind::kRefused:
      return "refused";
  }
  return "";
}

/// Appends the fields in which the objects differ. Both have the same fields.
void append_changes(const Json& before, const Json& after, const std::string& prefix,
                    std::vector<ChangedField>& changes) {
  for (const auto& [name, value] : after.items()) {
    const Json& old = before.at(name);
    if (value.is_object()) {
      append_changes(old, value, prefix + name + '.', changes);
    } else if (value != old) {
      changes.push_back({.name = prefix + name, .before = old, .after = value});
    }
  }
}

/// A sale in which vouchers are published.
struct PublicationPlace {
  std::function<absl::StatusOr<std::optional<VoucherVersion>>(VoucherId)> in_force;
  std::function<absl::StatusOr<bool>(VoucherId)> is_archived;
  std::function<absl::Status(const Voucher&)> publish;
};

/// `sale` is null in a dry run where there is no sale yet.
PublicationPlace place_of(FlashSale* sale) {
  if (sale == nullptr) {
    return {.in_force = [](VoucherId) { return std::optional<VoucherVersion>(); },
            .is_archived = [](VoucherId) { return false; },
            .publish = [](const Voucher&) { return absl::OkStatus(); }};
  }
  return {
      .in_force = [sale](VoucherId id) { return sale->sale().voucher(id); },
      .is_archived = [sale](VoucherId id) { return is_archived(SaleStores(sale->orders()), id); },
      .publish = [sale](const Voucher& voucher) { return sale->publish(voucher); }};
}

PublicationPlace place_of(const ServiceClient& service, bool only_new) {
  return {
      .in_force = [&service](VoucherId id) -> absl::StatusOr<std::optional<VoucherVersion>> {
        ASSIGN_OR_RETURN(auto found, voucher_at(service, id));
        if (!found.has_value()) return std::nullopt;
        return VoucherVersion{.voucher = std::move(found->voucher),
                              .version = found->version,
                              .state = VoucherVersion::State::kApplied};
      },
      .is_archived = [](VoucherId) { return false; },  // the service refuses it
      .publish = [&service, only_new](
                     const Voucher& voucher) { return publish_at(service, voucher, only_new); }};
}

/// Publishes vouchers one by one, or finds out what that would change.
class Publisher {
 public:
  Publisher(const PublicationPlace& place, const PublishArguments& arguments)
      : place_(place), arguments_(arguments) {}

  absl::StatusOr<Publication> publish(const Voucher& voucher) {
    auto planned = plan(voucher);
    if (!planned.ok() || planned->kind == Publication::Kind::kLeft ||
        planned->kind == Publication::Kind::kRefused) {
      return planned;
    }
    if (arguments_.dry_run) return planned;
    const absl::Status published =
        patiently(arguments_.sale.patience, [&] { return place_.publish(voucher); });
    if (absl::IsFailedPrecondition(published)) {  // for example: more is sold than the new stock
      planned->kind = Publication::Kind::kRefused;
      planned->reason = reason_of(published);
      planned->changes.clear();
      return planned;
    }
    if (absl::IsAlreadyExists(published)) {  // with --if-new: meanwhile, or it was archived
      planned->kind = Publication::Kind::kLeft;
    } else if (!published.ok()) {
      return published;
    }
    ASSIGN_OR_RETURN(const auto now, in_force(voucher.id));
    if (now.has_value()) planned->version = now->version;
    return planned;
  }

 private:
  absl::StatusOr<std::optional<VoucherVersion>> in_force(VoucherId voucher) {
    return patiently(arguments_.sale.patience, [&] { return place_.in_force(voucher); });
  }

  /// Compares the voucher with the version in force.
  absl::StatusOr<Publication> plan(const Voucher& voucher) {
    Publication planned{.voucher = voucher.id, .kind = Publication::Kind::kPublished};
    ASSIGN_OR_RETURN(const auto before, in_force(voucher.id));
    if (before.has_value()) {
      const VoucherVersion& known = *before;
      planned.version = known.version;
      const bool stays = arguments_.only_new || known.voucher == voucher;
      planned.kind = stays ? Publication::Kind::kLeft : Publication::Kind::kChanged;
      if (!stays) append_changes(to_json(known.voucher), to_json(voucher), "", planned.changes);
      return planned;
    }
    ASSIGN_OR_RETURN(const auto archived, place_.is_archived(voucher.id));
    if (archived) {
      planned.kind = arguments_.only_new ? Publication::Kind::kLeft : Publication::Kind::kRefused;
      planned.reason = "it was archived";
    }
    return planned;
  }

  const PublicationPlace& place_;
  const PublishArguments& arguments_;
};

// ---- Output ----

Json publication_json(const Publication& publication) {
  Json changes = Json::object();
  for (const ChangedField& change : publication.changes) {
    changes[change.name] = {{"before", change.before}, {"after", change.after}};
  }
  return {{"voucher", number_json(publication.voucher)},
          {"result", kind_name(publication.kind)},
          {"version", publication.version == 0 ? Json(nullptr) : Json(publication.version)},
          {"changes", std::move(changes)},
          {"reason", publication.reason}};
}

std::string text_of(const Json& value) {
  return printable(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string publication_text(const Publication& publication, bool dry_run) {
  std::string text = fmt::format("voucher {}: {}", publication.voucher, dry_run ? "would be " : "");
  switch (publication.kind) {
    case Publication::Kind::kPublished:
      text += dry_run ? "published" : fmt::format("published as version {}", publication.version);
      break;
    case Publication::Kind::kChanged:
      text += dry_run ? fmt::format("changed from version {}", publication.version)
                      : fmt::format("changed to version {}", publication.version);
      break;
    case Publication::Kind::kLeft:
      text += "left as it is";
      if (publication.version != 0) text += fmt::format(": version {}", publication.version);
      break;
    case Publication::Kind::kRefused:
      text += "refused";
      break;
  }
  if (!publication.reason.empty()) text += ": " + printable(publication.reason);
  std::string_view separator = ": ";
  for (const ChangedField& change : publication.changes) {
    text += fmt::format("{}{} {} to {}", separator, change.name, text_of(change.before),
                        text_of(change.after));
    separator = ", ";
  }
  return text + '\n';
}

void print(const std::vector<Publication>& publications, const PublishArguments& arguments) {
  if (arguments.json) {
    Json array = Json::array();
    for (const Publication& one : publications) array.push_back(publication_json(one));
    fmt::print("{}", dump(array));
    return;
  }
  for (const Publication& one : publications) {
    fmt::print("{}", publication_text(one, arguments.dry_run));
  }
}

/// Opens the sale; null if a dry run finds none.
absl::StatusOr<std::unique_ptr<FlashSale>> open_to_publish(const PublishArguments& arguments) {
  SaleArguments opened = arguments.sale;
  opened.create = !arguments.dry_run;
  auto sale = open_sale(opened);
  if (arguments.dry_run && absl::IsNotFound(sale.status())) return std::unique_ptr<FlashSale>();
  return sale;
}

int publish_all(const std::vector<Voucher>& vouchers, const PublicationPlace& place,
                const PublishArguments& arguments) {
  Publisher publisher(place, arguments);
  std::vector<Publication> publications;
  int exit_code = kExitOk;
  absl::Status failure;
  for (const Voucher& voucher : vouchers) {
    auto publication = publisher.publish(voucher);
    if (!publication.ok()) {
      failure = publication.status();
      break;
    }
    if (publication->kind == Publication::Kind::kRefused) exit_code = kExitNegative;
    publications.push_back(*std::move(publication));
  }
  print(publications, arguments);  // also those before a failure
  return failure.ok() ? exit_code : fail(failure);
}

int run_publish(const PublishArguments& arguments) {
  const auto vouchers = read_vouchers(arguments.file);
  if (!vouchers.ok()) return fail(vouchers.status());
  if (!arguments.sale.server.empty()) {
    const auto service = service_of(arguments.sale);
    if (!service.ok()) return fail(service.status());
    return publish_all(*vouchers, place_of(*service, arguments.only_new), arguments);
  }
  const auto sale = open_to_publish(arguments);
  if (!sale.ok()) return fail(sale.status());
  return publish_all(*vouchers, place_of(sale->get()), arguments);
}

}  // namespace

void add_publish(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = add_command(
      app, "publish",
      "Publish the vouchers of a file: put new ones on sale, and change the others to the\n"
      "file's terms. Vouchers that are not in the file stay as they are.");
  const auto arguments = std::make_shared<PublishArguments>();
  add_sale_options(*command, arguments->sale);
  add_server_option(*command, arguments->sale);
  command->add_option("file", arguments->file, "The vouchers: a JSON array, as for `replay`")
      ->required()
      ->type_name("FILE");
  command->add_flag("--if-new", arguments->only_new,
                    "Publish only those that were never published, and leave the others");
  command->add_flag(
      "--dry-run", arguments->dry_run,
      "Only show what would be published or changed. Whether more is sold than a new\n"
      "stock is not checked");
  add_durability_option(*command, arguments->sale.durability);
  add_adopt_option(*command, arguments->sale);
  command->add_flag("--json", arguments->json, "As a JSON array");
  command->callback([&invocation, arguments, command] {
    check_durability(arguments->sale, *command);
    invocation.run = [arguments](const std::shared_ptr<spdlog::logger>& logger) {
      arguments->sale.logger = logger;
      return run_publish(*arguments);
    };
  });
}

}  // namespace rushgate
