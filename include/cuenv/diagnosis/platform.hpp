#ifndef CUENV_DIAGNOSIS_PLATFORM_HPP
#define CUENV_DIAGNOSIS_PLATFORM_HPP

#include <cuenv/detail/text.hpp>
#include <cuenv/diagnosis/site.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

CUENV_NAMESPACE_BEGIN
namespace detail {

/// The kind of file system that is mounted at a place: at "/" it is "overlay" in most containers; empty where nothing
/// is mounted or that is not known.
[[nodiscard]] inline std::string filesystem_at(Site const& site, std::string_view place) {
  auto const text = site.read("/proc/" + site.process + "/mountinfo", 1U << 20);
  std::string found;
  for (std::string_view rest = text ? std::string_view{*text} : std::string_view{}; !rest.empty();) {
    std::string_view line = take_until(rest, '\n');
    std::string_view mount_point;
    for (int field = 0; field < 5; ++field) mount_point = take_until(line, ' ');
    std::size_t const separator = line.find("- ");
    if (mount_point != place || separator == std::string_view::npos) continue;
    line.remove_prefix(separator + 2);
    found = std::string{take_until(line, ' ')};  // the last one covers those before
  }
  return found;
}

}  // namespace detail

/// What keeps the site's process in a container: "docker", "podman", "apptainer" ...; empty where there is no sign of
/// one. Signs as systemd's detection has them, then the variables of launchers, the control groups, and a root that is
/// no disk. Each can be missing or left over, so this decides how a finding is worded, and little else. Nothing is
/// thrown but bad_alloc, here and below.
[[nodiscard]] inline std::string container_of(Site const& site) {
  for (char const* place : {"/run/host/container-manager", "/run/systemd/container"}) {
    if (auto const name = site.read(place, 256)) {
      std::string const word{detail::trim(*name)};
      return word.empty() ? "unnamed" : word;
    }
  }
  if (site.exists("/run/.containerenv")) return "podman";
  if (site.get("APPTAINER_CONTAINER") || site.get("APPTAINER_NAME")) return "apptainer";
  if (site.get("SINGULARITY_CONTAINER") || site.get("SINGULARITY_NAME")) return "singularity";
  if (site.exists("/.singularity.d")) return "apptainer";
  if (site.exists("/.dockerenv")) return "docker";
  if (site.get("KUBERNETES_SERVICE_HOST") || site.exists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  struct Mark {
    std::string_view text;
    std::string_view name;
  };
  constexpr Mark marks[] = {{"kubepods", "kubernetes"},
                            {"docker", "docker"},
                            {"libpod-", "podman"},
                            {"containerd", "containerd"},
                            {"/lxc", "lxc"}};
  for (std::string const& process : {std::string{"1"}, site.process}) {
    std::string const groups = site.read("/proc/" + process + "/cgroup").value_or("");
    for (Mark const& mark : marks) {
      // "docker.service" is the daemon itself, as is a shell that it was started from.
      std::size_t const at = groups.find(mark.text);
      if (at == std::string::npos || groups.compare(at, mark.text.size() + 8, std::string{mark.text} + ".service") == 0)
        continue;
      return std::string{mark.name};
    }
  }
  if (auto const name = site.get("container"); name && !name->empty()) return *name;  // systemd-nspawn, lxc, podman
  // NVIDIA's container toolkit puts files of its own there (libnvidia-container, nvc_mount.c).
  if (!detail::filesystem_at(site, "/proc/driver/nvidia").empty()) return "unnamed";
  std::string const root = detail::filesystem_at(site, "/");
  for (std::string_view const kind : {"overlay", "fuse-overlayfs", "9p", "virtiofs", "shiftfs"}) {
    if (root == kind) return "unnamed";
  }
  return "";
}

/// How a container of that kind is given GPUs: what to type, or to write into its description.
[[nodiscard]] constexpr std::string_view how_to_give_gpus(std::string_view container) noexcept {
  if (container == "kubernetes") return "ask for a GPU in the pod: resources: {limits: {nvidia.com/gpu: 1}}";
  if (container == "apptainer") return "start it with: apptainer exec --nv";
  if (container == "singularity") return "start it with: singularity exec --nv";
  if (container == "podman") return "start it with: podman run --device nvidia.com/gpu=all";
  return "start it with GPUs, such as: docker run --gpus all";
}

/// Windows Subsystem for Linux, by the kernel's name; version 2 is the one that has a GPU, behind /dev/dxg.
[[nodiscard]] inline bool is_wsl(Site const& site) {
  auto const release = site.read("/proc/sys/kernel/osrelease", 256);
  for (std::string_view rest = release ? std::string_view{*release} : std::string_view{}; !rest.empty();) {
    std::string_view const word = detail::take_until(rest, '-');
    if (detail::equal_ignoring_case(word.substr(0, 9), "microsoft")) return true;
    if (detail::equal_ignoring_case(detail::trim(word).substr(0, 3), "wsl")) return true;
  }
  return false;
}

/// Jetson and other machines whose GPU is on one chip with the host and not on the PCI bus.
[[nodiscard]] inline bool is_tegra(Site const& site) {
  if (site.exists("/etc/nv_tegra_release")) return true;
  auto const family = site.read("/sys/devices/soc0/family", 64);
  return family && detail::equal_ignoring_case(std::string_view{*family}.substr(0, 5), "tegra");
}

CUENV_NAMESPACE_END

#endif  // CUENV_DIAGNOSIS_PLATFORM_HPP
