#ifndef CUENV_MPS_HPP
#define CUENV_MPS_HPP

#include <cuenv/detail/files.hpp>
#include <cuenv/detail/text.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>
#include <cuenv/visible_devices.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// The MPS daemon of which a CUDA program becomes a client without a word. Its clients see its GPUs alone. Measured on
// driver 580.159.04 with two H200, a daemon of one's own and of another user.

CUENV_NAMESPACE_BEGIN

/// What is in the folder in which CUDA looks for an MPS daemon.
enum class MpsState {
  none,     ///< nothing, or nothing that this process may look at: CUDA runs without MPS
  ended,    ///< what a daemon leaves that has quit or was killed: CUDA runs without MPS
  running,  ///< a daemon: CUDA becomes its client in cuInit
  unclear   ///< its process is not seen here: it was killed, or it is outside this container
};

/// The enumerator's name, in text and JSON.
[[nodiscard]] constexpr std::string_view to_string(MpsState state) noexcept {
  constexpr std::string_view names[] = {"none", "ended", "running", "unclear"};
  return names[static_cast<std::size_t>(state)];
}

/// An MPS daemon as a program finds it.
struct Mps {
  MpsState state = MpsState::none;  ///< the other members mean something where it is not `none`
  std::string folder;               ///< CUDA_MPS_PIPE_DIRECTORY, or the driver's default
  std::string process;              ///< the daemon's number, as its file has it; may be empty
  std::string unread;               ///< which of these files could not be read, and why: then the state is `unclear`
  /// False where the variables that the daemon was started with cannot be read, as those of another user's process.
  bool variables_known = false;
  std::optional<std::string> visible;  ///< the daemon's own CUDA_VISIBLE_DEVICES
  std::optional<std::string> order;    ///< the daemon's own CUDA_DEVICE_ORDER
};

namespace detail {

/// True in the first PID namespace, which has this number in every Linux: there no process hides in another container.
[[nodiscard]] inline bool sees_every_process(std::string const& root) {
  return read_link(root + "/proc/self/ns/pid") == "pid:[4026531836]";
}

}  // namespace detail

/// Where CUDA looks where CUDA_MPS_PIPE_DIRECTORY is not set (measured, driver 580).
inline constexpr std::string_view default_mps_folder = "/tmp/nvidia-mps";

/// Looks for the daemon whose client a program with this CUDA_MPS_PIPE_DIRECTORY (nothing: not set) would be, in files
/// below `root` ("" for the real machine). The daemon itself is not spoken to.
///
/// CUDA is a client where it can connect to the socket `control` of the folder, and else runs without MPS and says
/// nothing. An empty variable is no folder at all. The file of the process is removed by a daemon that quits, which
/// leaves its sockets; CUDA does not look at that file, so a daemon whose file somebody else removed is missed here
/// (all measured, driver 580). Nothing is thrown but bad_alloc. Thread-safe. For Linux: elsewhere there is no
/// such folder.
[[nodiscard]] inline Mps find_mps(std::optional<std::string> const& pipe_directory, std::string const& root) {
  Mps mps;
  mps.folder = pipe_directory.value_or(std::string{default_mps_folder});
  if (mps.folder.empty()) return mps;
  // A relative folder starts at the current one, which has no other root.
  std::string const folder = mps.folder.front() == '/' ? root + mps.folder : mps.folder;
  if (!detail::path_exists(folder + "/control")) return mps;
  auto const file = detail::read_small_file(folder + "/nvidia-cuda-mps-control.pid", 32, &mps.unread);
  mps.state = file || !mps.unread.empty() ? MpsState::unclear : MpsState::ended;
  if (!file || !detail::parse_decimal(detail::trim(*file), 1U << 22)) return mps;
  mps.process = detail::trim(*file);
  std::string const process = root + "/proc/" + mps.process;
  auto const name = detail::read_small_file(process + "/comm", 64, &mps.unread);
  if (!name || detail::trim(*name) != "nvidia-cuda-mps") {  // the first 15 characters, as the kernel keeps them
    if (mps.unread.empty() && detail::sees_every_process(root)) mps.state = MpsState::ended;
    return mps;
  }
  mps.state = MpsState::running;
  constexpr std::size_t most = std::size_t{1} << 22;
  auto const block = detail::read_small_file(process + "/environ", most);
  if (!block || block->size() == most || block->empty()) return mps;
  mps.variables_known = true;
  auto const variables = detail::variables_in_block(*block);
  mps.visible = detail::text_in(variables, "CUDA_VISIBLE_DEVICES");
  mps.order = detail::text_in(variables, "CUDA_DEVICE_ORDER");
  return mps;
}

/// Marks the GPUs that the clients of a daemon do not see; where that cannot be known, the machine says so. Pure.
///
/// A daemon starts only with a list that selects a GPU, and its clients see the GPUs of that list in the order of the
/// bus, also where the list has another order (measured, driver 580, two H200).
inline void apply_mps(Machine& machine, Mps const& mps) {
  if (mps.state == MpsState::none || mps.state == MpsState::ended) return;
  if (machine.gpus.size() < 2) return;  // a daemon without a GPU does not start
  if (mps.state == MpsState::unclear) {
    machine.doubt = mps.unread.empty()
                        ? "an MPS daemon may run outside this container, or was killed: its process is not seen here"
                        : "whether an MPS daemon runs here cannot be read";
    return;
  }
  if (!mps.variables_known) {
    machine.doubt = "an MPS daemon runs here, and which GPUs it has cannot be read: it is another user's";
    return;
  }
  VisibilityVariables list;
  if (mps.visible) list.visible = *mps.visible;
  if (mps.order) list.order = *mps.order;
  Visibility const seen = resolve_visibility(list, machine);
  if (seen.devices.size() == machine.gpus.size()) return;  // all of them, in whatever order
  bool known = seen.known && seen.cu_init == 0;
  for (VisibleDevice const& device : seen.devices) known = known && device.physical && !device.mig;
  if (!known) {
    machine.doubt = "an MPS daemon runs here, and which GPUs its own CUDA_VISIBLE_DEVICES selects is not known";
    return;
  }
  for (Gpu& gpu : machine.gpus) gpu.hidden_by_mps = true;
  for (VisibleDevice const& device : seen.devices) {
    machine.gpus[static_cast<std::size_t>(device.physical->value)].hidden_by_mps = false;
  }
}

/// The same for the daemon whose client a program with these variables would be, looked for below `root` ("" for the
/// real machine). Nothing is thrown but bad_alloc. Thread-safe unless another thread writes the environment.
inline void apply_mps(Machine& machine, Environment const& environment, std::string const& root) {
  apply_mps(machine, find_mps(environment.get("CUDA_MPS_PIPE_DIRECTORY"), root));
}

namespace detail {

/// "0, 2": the physical indices of the GPUs that no daemon hides.
[[nodiscard]] inline std::string gpus_not_hidden(Machine const& machine) {
  std::string words;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    if (!machine.gpus[i].hidden_by_mps) words += (words.empty() ? "" : ", ") + std::to_string(i);
  }
  return words;
}

}  // namespace detail

/// The text of a list for CUDA_VISIBLE_DEVICES: that of `format_visible_devices`, but physical indices are counted as
/// the client of a daemon has to count. Nothing where the list names a GPU by an index that the daemon hides. Pure.
[[nodiscard]] inline std::optional<std::string> visible_devices_text(VisibleDevices const& devices,
                                                                     Machine const& machine) {
  if (devices.kind() != VisibleDevices::Kind::physical) return format_visible_devices(devices);
  std::string text;
  for (int const physical_index : devices.indices()) {
    auto const end = static_cast<std::size_t>(physical_index);
    std::size_t hidden = 0;  // before it
    for (std::size_t i = 0; i < end && i < machine.gpus.size(); ++i) hidden += machine.gpus[i].hidden_by_mps ? 1 : 0;
    if (end < machine.gpus.size() && machine.gpus[end].hidden_by_mps) return std::nullopt;
    text += (text.empty() ? "" : ",") + std::to_string(end - hidden);
  }
  return text;
}

CUENV_NAMESPACE_END

#endif  // CUENV_MPS_HPP
