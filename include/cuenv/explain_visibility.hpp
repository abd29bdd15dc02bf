#ifndef CUENV_EXPLAIN_VISIBILITY_HPP
#define CUENV_EXPLAIN_VISIBILITY_HPP

#include <cuenv/variable.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The words for an entry that the driver drops when it reads it; what comes after the end of the list is never read.
/// Where `fix` is empty the hint for the entry's text is used.
struct DropText {
  std::string_view code;
  std::string_view what;
  std::string_view fix;
};

[[nodiscard]] constexpr DropText drop_text(DropReason reason) noexcept {
  constexpr DropText texts[] = {
      {"visible_devices.empty", "selects nothing, since it is empty", "remove the comma"},
      {"visible_devices.not_a_number", "is neither an index nor a UUID", ""},
      {"visible_devices.negative", "is negative", "remove it, or write -1 alone to hide every GPU"},
      {"visible_devices.out_of_range", "is out of range", ""},
      {"visible_devices.bare_tag", "is a tag without a UUID", ""},
      {"visible_devices.no_such_uuid", "begins the UUID of no GPU here", ""},
      {"visible_devices.ambiguous_uuid", "begins the UUID of more than one GPU", "write more digits of the UUID"},
      {"visible_devices.other_kind", "is of another kind than the first entry", "use indices alone or UUIDs alone"},
      {"visible_devices.one_mig_only",
       "is one too many: before driver 570 a process gets one MIG instance, and no whole GPU beside it",
       "list one MIG instance, or update the driver"},
      {"visible_devices.same_gpu_instance", "is a second compute instance of one GPU instance",
       "list one compute instance of each GPU instance"}};
  return texts[static_cast<std::size_t>(reason)];
}

[[nodiscard]] inline std::string plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string{noun} + (count == 1 ? "" : "s");
}

/// "use 0", "use 0 to 3": the indices that there are, or what to do first where there is none.
[[nodiscard]] inline std::string indices_to_use(std::size_t count) {
  if (count == 0) return "make GPUs visible first";
  return count == 1 ? "use 0" : "use 0 to " + std::to_string(count - 1);
}

/// A GPU or MIG instance whose UUID an entry begins.
struct BegunUuid {
  int physical;          ///< index of the GPU
  std::string_view tag;  ///< "GPU-" or "MIG-"
  std::string uuid;      ///< without the tag
};

/// The UUIDs of all that an id, with its tag, can mean.
[[nodiscard]] inline std::vector<BegunUuid> begun_uuids(std::string_view entry, Machine const& machine) {
  std::vector<BegunUuid> all;
  for (VisibleDevice const& device : find_uuid(machine, starts_with(entry, "MIG-"), entry.substr(4)).devices) {
    int const physical = device.physical->value;
    Gpu const& gpu = machine.gpus[static_cast<std::size_t>(physical)];
    bool const by_instance = device.mig && !starts_with(entry, "MIG-GPU-");
    auto const& uuid = by_instance ? gpu.mig[*device.mig].uuid : gpu.uuid;
    all.push_back({physical, by_instance ? "MIG-" : "GPU-", to_string(*uuid)});
  }
  return all;
}

/// So many characters tell all of them apart; nothing where two UUIDs are the same.
[[nodiscard]] inline std::optional<std::size_t> telling_length(std::vector<BegunUuid> const& all) {
  std::size_t length = 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (all[i].uuid == all[j].uuid) return std::nullopt;
      while (all[i].uuid.compare(0, length, all[j].uuid, 0, length) == 0) ++length;
    }
  }
  return length;
}

/// Names them in `what`, and says in `fix` how much of the UUID would do.
CUENV_COLD inline void explain_ambiguous_uuid(std::string_view entry, Machine const& machine, std::string& what,
                                              std::string& fix) {
  constexpr std::size_t most = 8;
  auto const all = begun_uuids(entry, machine);
  for (std::size_t i = 0; i < all.size() && i < most; ++i) {
    what += (i == 0 ? ": " : ", ") + std::string{all[i].tag} + all[i].uuid + " (GPU " +
            std::to_string(all[i].physical) + ")";
  }
  if (all.size() > most) what += " and " + std::to_string(all.size() - most) + " more";
  auto const length = telling_length(all);
  if (all.empty() || !length) return;
  fix = "write " + std::to_string(*length) + " characters of the UUID or more, such as ";
  std::string const id = std::string{all.front().tag} + all.front().uuid.substr(0, *length);
  if (starts_with(entry, "MIG-GPU-")) {  // the old form names an instance of a GPU
    (void)take_until(entry, '/');
    fix += "MIG-" + id + "/" + std::string{entry};
  } else {
    fix += id;
  }
}

}  // namespace detail

/// How it is known what the driver does; nothing where that is not known.
[[nodiscard]] inline std::optional<Evidence> evidence_of(Visibility const& visibility) noexcept {
  if (visibility.order_is_invalid) return Evidence::measured;
  if (!visibility.known) return std::nullopt;
  return visibility.documented_only ? Evidence::documented : Evidence::measured;
}

/// What `resolve_visibility` found, as findings for people: what is dropped and why, what voids the list, which entries
/// mean something else than they seem to, and what to type instead.
[[nodiscard]] CUENV_COLD inline Diagnostics explain(Visibility const& visibility, VisibilityVariables const& variables,
                                                    Machine const& machine) {
  Diagnostics findings;
  std::string_view const value = variables.visible.value_or(std::string_view{});
  auto const add = [&](Severity severity, std::string_view code, std::size_t offset, std::string what,
                       std::string driver, std::string_view fix) {
    findings.push_back({severity, code, std::string{detail::visible_devices_name}, std::string{value}, offset,
                        std::move(what), std::move(driver), std::string{fix}});
  };
  if (visibility.order_is_invalid) {
    findings.push_back({Severity::error, "device_order.invalid", "CUDA_DEVICE_ORDER",
                        std::string{variables.order.value_or(std::string_view{})}, 0,
                        "it must be exactly PCI_BUS_ID or FASTEST_FIRST",
                        "cuInit fails with 101 (invalid device): no GPU is usable", "CUDA_DEVICE_ORDER=PCI_BUS_ID"});
    return findings;
  }
  if (visibility.order_is_ignored) {
    findings.push_back(
        {Severity::warning, "device_order.too_long", "CUDA_DEVICE_ORDER",
         std::string{variables.order.value_or(std::string_view{})}, longest_device_order,
         "it is longer than the " + std::to_string(longest_device_order) + " bytes that the driver takes",
         "as if it were not set: FASTEST_FIRST", "CUDA_DEVICE_ORDER=PCI_BUS_ID"});
  }
  if (visibility.list_is_ignored) {
    add(Severity::warning, "visible_devices.too_long", longest_device_list,
        "it is longer than the " + std::to_string(longest_device_list) + " bytes that the driver takes",
        "as if it were not set: every GPU is visible", "use indices, or the beginning of each UUID");
    return findings;
  }
  if (!visibility.known) return findings;
  std::size_t const reachable = machine.reachable_gpus();
  bool const hidden = reachable != machine.gpus.size();
  std::string const gpus = detail::plural(machine.gpus.size(), "GPU");
  std::string const shown =
      hidden ? "the MPS daemon of this process has " + std::to_string(reachable) + " of this machine's " + gpus
             : "this machine shows " + gpus;
  bool const unlike = !machine.gpus_are_alike() && reachable > 1 && variables.order != "PCI_BUS_ID";
  if (!variables.visible) {
    if (unlike) {
      findings.push_back({Severity::note, "device_order.unlike_gpus", "CUDA_DEVICE_ORDER",
                          std::string{variables.order.value_or(std::string_view{})}, Diagnostic::no_offset,
                          "the GPUs differ and the order is not PCI_BUS_ID, so logical 0 is the fastest GPU and not "
                          "nvidia-smi's GPU 0",
                          "which GPU that is is known only after cuInit (documented, not measured)",
                          "CUDA_DEVICE_ORDER=PCI_BUS_ID"});
    }
    if (machine.gpus.empty()) {
      findings.push_back({Severity::error, "machine.no_gpu", "machine", "", Diagnostic::no_offset,
                          "this machine shows no GPU", "cuInit gives 100 (no device)",
                          "check nvidia-smi -L, and in a container how it was given its GPUs"});
    }
    return findings;
  }
  if (visibility.error && visibility.error->code == 101) {
    add(Severity::error, "visible_devices.duplicate", visibility.error->offset,
        "'" + std::string{visibility.error->entry} + "' selects a GPU that an earlier entry has selected already",
        "cuInit fails with 101 (invalid device): no GPU is usable", "name each GPU once");
  }
  if (visibility.cu_init == 100 && (detail::trim(value).empty() || detail::trim(value) == "-1")) {
    add(Severity::error, "visible_devices.none", 0, "every GPU is hidden (" + shown + ")",
        "cuInit gives 100 (no device)", "remove the variable to see every GPU");
    return findings;
  }

  std::size_t not_looked_at = 0;
  for (DroppedEntry const& dropped : visibility.dropped)
    not_looked_at += dropped.reason == DropReason::after_the_end ? 1 : 0;
  for (DroppedEntry const& dropped : visibility.dropped) {
    if (findings.size() == 100)
      break;  // limits of MIG can drop any number of entries; each finding holds the whole value
    if (dropped.reason == DropReason::after_the_end) continue;  // counted with the entry that ended the list
    auto const text = detail::drop_text(dropped.reason);
    std::string what = "'" + std::string{dropped.entry} + "' " + std::string{text.what};
    std::string fix{text.fix.empty() ? detail::visible_devices_hint(dropped.entry) : text.fix};
    bool const plain_number = detail::parse_decimal(detail::trim(dropped.entry)).has_value();
    if (dropped.reason == DropReason::out_of_range) {
      what += ": " + shown;
      if (plain_number && !machine.gpus.empty()) {
        fix = detail::indices_to_use(reachable);
        fix += hidden ? ", or a UUID: the indices count the daemon's GPUs, in the order of the bus"
                      : ", or a UUID: inside a container, a job or MPS the indices count what is exposed there";
      }
      if (machine.gpus.empty()) fix = "check nvidia-smi -L, and in a container how it was given its GPUs";
    }
    if (dropped.reason == DropReason::no_such_uuid && hidden) what += ": " + shown;
    if (dropped.reason == DropReason::ambiguous_uuid) {
      detail::explain_ambiguous_uuid(dropped.entry, machine, what, fix);
    }
    if (dropped.reason == DropReason::other_kind && detail::trim(dropped.entry).size() != dropped.entry.size()) {
      fix = "remove the blanks around the entry, and use UUIDs alone";
    }
    std::string driver = "the list ends here";
    if (not_looked_at > 0) {
      driver = "the list ends here; " + std::to_string(not_looked_at) +
               (not_looked_at == 1 ? " later entry is not looked at" : " later entries are not looked at");
    }
    if (visibility.cu_init == 100) driver += "; nothing is visible, and cuInit gives 100 (no device)";
    bool const trailing_comma =
        dropped.reason == DropReason::empty && not_looked_at == 0 && !visibility.devices.empty();
    add(visibility.cu_init == 100 ? Severity::error
        : trailing_comma          ? Severity::note
                                  : Severity::warning,
        text.code, dropped.offset, std::move(what), std::move(driver), fix);
  }

  // Entries that are kept, but are not what they look like.
  std::size_t end = visibility.dropped.empty() ? value.size() : visibility.dropped.front().offset;
  // Behind the entry that voids the list nothing counts, and each finding holds the whole value.
  if (visibility.error && visibility.error->offset < end) end = visibility.error->offset + 1;
  bool const ids = detail::starts_with(value, "GPU-") || detail::starts_with(value, "MIG-");
  for (std::size_t offset = 0; offset < end;) {
    std::size_t const comma = value.find(',', offset);
    std::string_view const entry = value.substr(offset, comma == std::string_view::npos ? comma : comma - offset);
    bool const plain =
        ids ? detail::is_device_id(entry) : detail::parse_decimal(detail::trim(entry), 2147483647).has_value();
    if (!plain) {
      std::uint64_t const number = detail::strtoull_base10(entry).value & 0xffffffffU;
      add(Severity::warning, "visible_devices.partly_read", offset,
          "'" + std::string{entry} + "' is not read as a whole",
          !ids ? "it counts as " + std::to_string(number)
          : detail::is_complete_id(entry.substr(4))
              ? "what follows a complete UUID is ignored"
              : "dashes count nothing, and what follows the 36th character is ignored",
          ids ? "write the beginning of a UUID, with its dashes" : detail::visible_devices_hint(entry));
    }
    if (comma == std::string_view::npos) break;
    offset = comma + 1;
  }
  if (unlike && !ids && visibility.cu_init == 0) {
    add(Severity::warning, "device_order.unlike_gpus", Diagnostic::no_offset,
        "the GPUs differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID, so index 0 is the fastest GPU and not nvidia-smi's "
        "GPU 0",
        "which GPU an index selects is known only after cuInit (documented, not measured)",
        "CUDA_DEVICE_ORDER=PCI_BUS_ID, or use UUIDs");
  }
  return findings;
}

CUENV_NAMESPACE_END

#endif  // CUENV_EXPLAIN_VISIBILITY_HPP
