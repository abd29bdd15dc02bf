#ifndef CUENV_DETAIL_SESSION_START_HPP
#define CUENV_DETAIL_SESSION_START_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/device_map.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/error.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What a session needs when its start does not go well: undoing, and saying why.

CUENV_NAMESPACE_BEGIN
namespace detail {

/// Puts the environment back unless it is told to keep it.
class Undo {
 public:
  Undo(Environment const& environment, std::vector<Assignment> undo)
      : environment_{environment}, undo_{std::move(undo)} {}
  ~Undo() {
    for (Assignment const& assignment : undo_) (void)environment_.set(assignment);
  }
  Undo(Undo const&) = delete;
  Undo& operator=(Undo const&) = delete;
  void keep() noexcept { undo_.clear(); }

 private:
  Environment const& environment_;
  std::vector<Assignment> undo_;
};

/// Why the driver library could not be opened, and what to do.
[[nodiscard]] inline DriverError no_driver_error(DriverLibrary const& driver, std::string const& root) {
  Diagnostic finding;
  finding.code = "driver.not_found";
  finding.subject = driver_library_name;
  finding.what = "the CUDA driver library cannot be opened";
  finding.driver = driver.error;
  finding.fix = path_exists(root + "/dev/nvidiactl")
                    ? "the kernel driver is here, so the library is missing or not on the loader's path: install the "
                      "complete driver; in a container NVIDIA_DRIVER_CAPABILITIES must have compute"
                    : "install the NVIDIA driver; start a container with its GPUs (docker run --gpus all)";
  return DriverError{DriverError::no_driver, {finding}};
}

/// A cuInit that failed, with everything that is known about why.
[[nodiscard]] CUENV_COLD inline DriverError init_error(int code, DriverLibrary const& driver,
                                                       Diagnostics const& reasons) {
  Diagnostic finding;
  finding.code = "driver.init_failed";
  finding.subject = "cuInit";
  ResultCode const* const row = find_result_code(code);
  finding.what =
      "the driver answered " + describe_result(code) + (row == nullptr ? "" : ": " + std::string{row->meaning});
  if (!driver.path.empty()) finding.driver = "library " + driver.path;
  Diagnostics findings;
  for (Diagnostic const& reason : reasons) {
    if (reason.severity == Severity::error) findings.push_back(reason);
  }
  if (findings.empty() && row != nullptr) finding.fix = std::string{row->fix};
  findings.insert(findings.begin(), std::move(finding));
  return DriverError{code, std::move(findings)};
}

[[nodiscard]] inline bool lacks_a_function(DriverApi const& api) noexcept {
  return api.init == nullptr || api.device_get_count == nullptr || api.device_get == nullptr ||
         api.device_get_name == nullptr || api.device_get_uuid == nullptr || api.device_get_pci_bus_id == nullptr ||
         api.device_get_attribute == nullptr || api.primary_ctx_retain == nullptr ||
         api.primary_ctx_release == nullptr || api.ctx_push_current == nullptr || api.ctx_pop_current == nullptr ||
         api.module_load_data_ex == nullptr || api.module_unload == nullptr;
}

/// More of the L2 cache to be set aside than a device can persist makes its contexts fail with 1 (measured, H200: 62
/// percent works and 63 does not, by just this comparison).
[[nodiscard]] CUENV_COLD inline std::optional<DriverError> l2_share_error(DriverApi const& api,
                                                                          Environment const& environment,
                                                                          std::vector<Device> const& devices) {
  std::string const name{persisting_l2_percentage.info.name};
  auto const text = environment.get(name);
  if (!text) return std::nullopt;
  auto const share = static_cast<std::int32_t>(static_cast<std::uint32_t>(detail::strtoull_base10(*text).value));
  for (Device const& device : devices) {
    CUdevice handle = 0;
    int most = 0;
    int all = 0;
    bool const known =
        api.device_get(&handle, device.logical.value) == CUDA_SUCCESS &&
        api.device_get_attribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, handle) == CUDA_SUCCESS &&
        api.device_get_attribute(&all, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, handle) == CUDA_SUCCESS && all > 0;
    if (!known || share <= 0 || static_cast<std::int64_t>(share) * all <= static_cast<std::int64_t>(most) * 100)
      continue;
    return DriverError{
        CUDA_ERROR_INVALID_VALUE,
        {{Severity::error, "persisting_l2.too_much", name, *text, Diagnostic::no_offset,
          "logical GPU " + std::to_string(device.logical.value) + " can set aside " +
              std::to_string(static_cast<std::int64_t>(most) * 100 / all) + " percent of its L2 cache at most",
          "every context on it fails with 1 (invalid value)",
          "write " + std::to_string(static_cast<std::int64_t>(most) * 100 / all) + " or less"}}};
  }
  return std::nullopt;
}

}  // namespace detail
CUENV_NAMESPACE_END

#endif  // CUENV_DETAIL_SESSION_START_HPP
