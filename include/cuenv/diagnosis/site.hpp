#ifndef CUENV_DIAGNOSIS_SITE_HPP
#define CUENV_DIAGNOSIS_SITE_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/driver.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/nvml.hpp>
#include <cuenv/system.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// What a diagnosis looks at: this machine and this process, or files below a folder that describe others. Its
/// functions throw nothing but bad_alloc; reading from several threads is safe. What cannot be read is not there for
/// them: who concludes something from an absence uses a Look.
struct Site {
  /// The folder that stands for "/" for /proc, /dev, /sys, /etc and libraries; "" for the real one. Programs and
  /// prefixes that the caller names are taken as they are.
  std::string root;
  /// The same for what the kernel driver shows: /dev/nvidia*, /proc/driver/nvidia, /sys/bus/pci and /sys/module.
  /// Another folder than `root` where a simulated driver describes GPUs that this machine does not have.
  std::string hardware_root;
  /// The environment that is diagnosed.
  std::vector<Assignment> variables;
  /// Why `variables` may lack some, in words; empty where they are all. Then what is not in them has to be taken for
  /// unknown, not for unset.
  std::string variables_unknown;
  /// How the driver and NVML are opened.
  System system;
  /// The entry of /proc that is the process: "self", or a number.
  std::string process = "self";
  /// Where a Look puts what failed; null: nowhere.
  std::string* failed_read = nullptr;

  /// The text of a variable; nothing where it is not set.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const { return detail::text_in(variables, name); }
  /// The real path of a path below the root.
  [[nodiscard]] std::string path_of(std::string_view path) const {
    bool hardware = detail::starts_with(path, "/proc/driver/nvidia-");  // nvidia-nvswitch and the like
    for (std::string_view const folder : {"/dev", "/proc/driver/nvidia", "/sys/bus/pci", "/sys/module"}) {
      bool const whole_name = path.size() <= folder.size() || path[folder.size()] == '/';
      hardware = hardware || (detail::starts_with(path, folder) && whole_name);
    }
    return (hardware ? hardware_root : root) + std::string{path};
  }
  /// True where there is a file, folder or link of that path below the root.
  [[nodiscard]] bool exists(std::string_view path) const { return detail::path_exists(path_of(path), failed_read); }
  /// The content of a file, cut at `limit` bytes; nothing where it cannot be read.
  [[nodiscard]] std::optional<std::string> read(std::string_view path, std::size_t limit = 65536) const {
    return detail::read_small_file(path_of(path), limit, failed_read);
  }
  /// Whether a file begins as programs and libraries do. Links are followed below the root.
  [[nodiscard]] bool is_elf_file(std::string_view path) const { return read(real_path(path), 4) == "\177ELF"; }
  /// The names in a folder, in no order; nothing where it cannot be read.
  [[nodiscard]] std::optional<std::vector<std::string>> list(std::string_view path) const {
    return detail::list_directory(path_of(path), failed_read);
  }
  /// Where a symbolic link points, as it is written; nothing where there is no link.
  [[nodiscard]] std::optional<std::string> link(std::string_view path) const {
    return detail::read_link(path_of(path), failed_read);
  }
  /// The file behind a path and its links, below the same root and without "." and ".."; the path itself, cleaned,
  /// where it does not exist. Absolute links start at the root.
  [[nodiscard]] std::string real_path(std::string_view path) const;
};

/// A site for one question whose answer may rest on an absence: it remembers that something which may be there could
/// not be read, and then nothing that was not found is known to be absent. For one thread; copies of it as a Site must
/// not outlive it.
class Look : public Site {
 public:
  /// At the same place, with no failure yet.
  explicit Look(Site const& site) : Site(site) { failed_read = &failure_; }
  Look(Look const&) = delete;
  Look& operator=(Look const&) = delete;

  /// The first failure in words, "reading /dev/dxg failed: Permission denied"; empty where all that is there was read.
  [[nodiscard]] std::string const& failure() const noexcept { return failure_; }

 private:
  std::string failure_;
};

inline std::string Site::real_path(std::string_view path) const {
  std::string pending{path};
  std::string done;
  constexpr int most_links = 40;  // Linux's own limit
  int links = 0;
  while (!pending.empty()) {
    std::size_t const slash = pending.find('/');
    std::string const part = pending.substr(0, slash);
    pending = slash == std::string::npos ? "" : pending.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      done.resize(done.empty() ? 0 : done.rfind('/'));
      continue;
    }
    std::string const next = done + "/" + part;
    auto const target = links < most_links ? link(next) : std::nullopt;
    if (!target || target->empty()) {
      done = next;
      continue;
    }
    ++links;
    if (target->front() == '/') done.clear();
    pending = *target + (pending.empty() ? "" : "/" + pending);
  }
  return done.empty() ? "/" : done;
}

/// This machine and this process: where a simulated driver is on the loader's path, with the GPUs that it describes.
/// Loads the driver library, which does not start CUDA. Thread-safe unless another thread writes the environment.
[[nodiscard]] inline Site this_site(System const& system = {}) {
  Site site;
  site.system = system;
  site.variables = system.environment->all();
  site.root = system.root;
  site.hardware_root = system.open_driver(DriverOpen::load).simulated_root;
  if (site.hardware_root.empty()) site.hardware_root = system.root;
  return site;
}

/// A machine that files below `root` describe, without a driver or an NVML that could be asked.
[[nodiscard]] inline Site described_site(std::string root, std::vector<Assignment> variables = {}) {
  Site site;
  site.root = std::move(root);
  site.hardware_root = site.root;
  site.variables = std::move(variables);
  site.system.root = site.root;
  site.system.open_driver = [](DriverOpen) { return DriverLibrary{}; };
  site.system.open_nvml = [] { return NvmlLibrary{}; };
  return site;
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_SITE_HPP
