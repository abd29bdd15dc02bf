#ifndef CUENV_SESSION_HPP
#define CUENV_SESSION_HPP

#include <cuenv/detail/session_start.hpp>
#include <cuenv/device_map.hpp>
#include <cuenv/diagnostic.hpp>
#include <cuenv/environment.hpp>
#include <cuenv/error.hpp>
#include <cuenv/explain_visibility.hpp>
#include <cuenv/load.hpp>
#include <cuenv/machine.hpp>
#include <cuenv/mps.hpp>
#include <cuenv/plan.hpp>
#include <cuenv/program.hpp>
#include <cuenv/report.hpp>
#include <cuenv/result_code.hpp>
#include <cuenv/settings.hpp>
#include <cuenv/system.hpp>
#include <cuenv/variables.hpp>
#include <cuenv/version.hpp>
#include <cuenv/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

CUENV_NAMESPACE_BEGIN

/// Choices for a session, to be joined with |.
enum class SessionOptions : unsigned {
  none = 0,
  absent_ok = 1,  ///< no driver, or a driver that does not start, is no error: the session has no devices and says why
  ask_nvml = 2,   ///< where /proc tells nothing of the GPUs, ask NVML (about 20 ms)
  /// When CUDA has started already, settings that can no longer take effect are left, and the report names them.
  apply_what_still_works = 4,
  /// The environment is changed even though other threads run and the C library makes that dangerous.
  despite_threads = 8
};

/// Both sets of options.
[[nodiscard]] constexpr SessionOptions operator|(SessionOptions a, SessionOptions b) noexcept {
  return static_cast<SessionOptions>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// True where `option` is one of `options`.
[[nodiscard]] constexpr bool contains(SessionOptions options, SessionOptions option) noexcept {
  return (static_cast<unsigned>(options) & static_cast<unsigned>(option)) != 0;
}

/// The options by their short names: `cuenv::absent_ok | cuenv::ask_nvml`.
inline constexpr SessionOptions absent_ok = SessionOptions::absent_ok;
/// Asks NVML where /proc tells nothing. NVML leaves a thread behind (measured, driver 580), which counts like any
/// other.
inline constexpr SessionOptions ask_nvml = SessionOptions::ask_nvml;
/// Leaves what is too late.
inline constexpr SessionOptions apply_what_still_works = SessionOptions::apply_what_still_works;
/// Changes the environment whatever threads run.
inline constexpr SessionOptions despite_threads = SessionOptions::despite_threads;

/// Settings put into force, CUDA started, and the devices known: what a program makes first thing in main().
///
/// In this order: the settings are checked; the process is looked at without changing it; the driver library is opened;
/// the environment is changed, all or nothing; cuInit; the devices are read and joined with the machine's GPUs. When
/// the constructor throws, the environment is as it was. When it does not, the environment stays as applied, also after
/// the session has ended: the driver has read it, and so will child processes.
///
/// A session may also be a static object, which is made before main: then only another static object that starts CUDA
/// in its constructor can come before it, and the session is refused if it has something to change.
///
/// A session can be made again: with settings that are in force it attaches, with others it is refused. Making one is
/// not thread-safe, since it may change the environment; everything else on it is, `load_check` and the driver's
/// compiler included.
class Session {
 public:
  /// Throws SettingsError (a setting is wrong), TooLateError (CUDA has started and a setting would not take effect),
  /// EnvironmentError (the system refused, or other threads could crash), DriverError (no driver, a stub, no device,
  /// any failed cuInit; never with absent_ok). Each names every problem. Not thread-safe.
  explicit Session(Settings const& settings = {}, SessionOptions options = SessionOptions::none,
                   System const& system = {})
      : options_{options} {
    start(settings, system);
  }

  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;
  ~Session() = default;

  /// The visible devices in logical order; empty when CUDA is absent.
  [[nodiscard]] std::vector<Device> const& devices() const noexcept { return map_.devices(); }
  /// Logical to physical and back.
  [[nodiscard]] DeviceMap const& map() const noexcept { return map_; }
  /// What was done, seen and noticed.
  [[nodiscard]] Report const& report() const noexcept { return report_; }
  /// With absent_ok: why there is no CUDA. Null when there is.
  [[nodiscard]] DriverError const* absence() const noexcept { return absence_ ? &*absence_ : nullptr; }
  /// The driver's entry points, for calls of the program's own.
  [[nodiscard]] DriverLibrary const& driver() const noexcept { return driver_; }

  /// Loads an image file on every visible GPU, or on one, and says what each answered: every function is loaded as
  /// well (from CUDA 12.4 on, see LoadResult::code), and what is damaged is refused without asking. Throws FileError
  /// where the file cannot be read, is empty or larger than 2 GiB, and ImageError where there is no such logical GPU.
  /// Thread-safe.
  [[nodiscard]] std::vector<LoadResult> load_check(std::string const& path, LoadOptions const& options = {}) const {
    return load_everywhere(detail::PaddedImage::from_file(path), options);
  }
  /// The same on one GPU.
  [[nodiscard]] LoadResult load_check(std::string const& path, LogicalIndex device,
                                      LoadOptions const& options = {}) const {
    return load_on_one(device, detail::PaddedImage::from_file(path), options);
  }
  /// The same for bytes: a fatbin, a cubin or PTX.
  [[nodiscard]] std::vector<LoadResult> load_check_bytes(std::string_view bytes,
                                                         LoadOptions const& options = {}) const {
    return load_everywhere(detail::PaddedImage{bytes}, options);
  }
  /// The same on one GPU.
  [[nodiscard]] LoadResult load_check_bytes(std::string_view bytes, LogicalIndex device,
                                            LoadOptions const& options = {}) const {
    return load_on_one(device, detail::PaddedImage{bytes}, options);
  }

  /// Returns when the image file loads on every visible GPU, and every function in it. Else throws ImageError, which
  /// says for each GPU why not and what to build; FileError where the file cannot be read; with no visible GPU
  /// ImageError too.
  void require_image(std::string const& path, LoadOptions const& options = {}) const {
    require(path, load_check(path, options));
  }
  /// The same for bytes; `name` is what the error calls them.
  void require_image_bytes(std::string_view bytes, std::string const& name, LoadOptions const& options = {}) const {
    require(name, load_check_bytes(bytes, options));
  }

  /// Reads the GPU code of this program and judges it for every visible GPU, without the driver and before any context.
  /// The executable and the named libraries must serve every GPU with every module: else ImageError names each module
  /// and the flag to add. Of the other loaded libraries the result says whether they serve; it is no error when one
  /// does not, since large libraries carry code per target by design. With no visible GPU nothing is required. A name
  /// without a folder is that of a loaded library, else a path from the current folder: the loader's places are not
  /// searched. Throws FileError where the executable or a named library cannot be read. Thread-safe.
  ProgramReport require_images(std::vector<std::string> const& libraries = {}) const {
    ProgramReport report = judge_program(gpu_conditions(), libraries, jit_is_cached_);
    Diagnostics findings;
    for (FileReport const& file : report.files) {
      if (file.required) append(findings, file.findings);
    }
    if (has_error(findings)) throw ImageError{std::move(findings)};
    return report;
  }
  /// The same, and then the driver is asked: each module of the executable and the named libraries is loaded, with
  /// every function in it, on every visible GPU. What nvcc's device-link step made or still has to link is left out.
  /// Takes as long as compiling all of their PTX does. Named kernels are not looked for: no module has to hold them
  /// all. Throws as both do: ImageError, FileError. Thread-safe.
  ProgramReport require_images(std::vector<std::string> const& libraries, LoadOptions const& load) const {
    ProgramReport report = require_images(libraries);
    LoadOptions each = load;
    each.kernels.clear();
    Diagnostics findings;
    for (std::size_t i = 0; i < report.files.size(); ++i) {
      FileReport const& file = report.files[i];
      if (!file.required) continue;
      std::string const path = i == 0 ? detail::own_file() : file.path;  // the executable comes first
      detail::File const bytes{path};
      for (ImageModule const& module : inspect(path).modules) {
        if (module.device_link || module.section == "__nv_relfatbin") continue;
        std::string const name = file.path + " at byte " + std::to_string(module.offset);
        auto const image = detail::PaddedImage::from_part(bytes, path, module.offset, module.size);
        append(findings, load_findings(name, load_everywhere(image, each)));
      }
    }
    if (has_error(findings)) throw ImageError{std::move(findings)};
    return report;
  }

  /// What loading code depends on, for each visible GPU in logical order.
  [[nodiscard]] std::vector<LoadConditions> gpu_conditions() const {
    std::vector<LoadConditions> conditions;
    for (Device const& device : devices()) conditions.push_back(conditions_of(device));
    return conditions;
  }

 private:
  void start(Settings const& settings, System const& system) {
    if (auto problems = settings.problems(); has_error(problems)) throw SettingsError{std::move(problems)};

    DriverState const state = driver_state(system.open_driver(DriverOpen::only_if_loaded));
    bool const started = state == DriverState::initialised || state == DriverState::context_active;
    driver_ = system.open_driver(DriverOpen::load);
    report_.attached = started;
    report_.driver_path = driver_.path;
    report_.simulated_root = driver_.simulated_root;
    if (driver_.api.driver_get_version != nullptr) (void)driver_.api.driver_get_version(&report_.driver_cuda_version);

    std::string const root = driver_.simulated_root.empty() ? system.root : driver_.simulated_root;
    Machine machine = read_machine(root);
    if (machine.source == MachineSource::unknown && contains(options_, SessionOptions::ask_nvml)) {
      std::string error;
      machine = read_machine_from_nvml(system.open_nvml(), error);
      if (machine.source == MachineSource::unknown) {
        report_.findings.push_back({Severity::note, "machine.no_nvml", "NVML", "", Diagnostic::no_offset,
                                    "the GPUs cannot be listed: " + error, "", ""});
      }
    }
    apply_mps(machine, *system.environment, root);
    report_.machine_source = machine.source;
    report_.driver_version = machine.driver_version;

    Plan plan = make_plan(settings, *system.environment, machine);
    if (has_error(plan.findings)) throw SettingsError{std::move(plan.findings)};
    if (started) settle_what_is_too_late(plan, state);
    if (!plan.assignments().empty()) refuse_with_threads(*system.environment);
    detail::Undo undo{*system.environment, apply_assignments(*system.environment, plan.assignments())};
    for (PlannedVariable& variable : plan.variables) {
      report_.variables.push_back(
          {std::string{variable.name}, std::move(variable.found), std::move(variable.wanted), variable.outcome});
    }
    append(report_.findings, std::move(plan.findings));

    if (auto error = initialise(*system.environment, machine, root, started)) {
      if (!contains(options_, SessionOptions::absent_ok)) throw DriverError{*error};
      report_.absence = to_string(error->diagnostics());
      absence_ = std::move(error);
    } else {
      compare_with_driver(settings, *system.environment, machine);
    }
    undo.keep();
  }

  /// Changes that CUDA would not see any more: TooLateError names each, or they are taken out of the plan.
  void settle_what_is_too_late(Plan& plan, DriverState state) {
    Diagnostics findings;
    for (PlannedVariable& variable : plan.variables) {
      // A value that stays is the user's word, unless this process has set it: then other settings are in force.
      bool const differs = variable.outcome == Outcome::kept && variable.set_by_this_process;
      if (variable.outcome != Outcome::applied && !differs) continue;
      VariableRow const* const row = find_variable(variable.name);
      Moment const read = row->info->read;
      bool const still_works = read == Moment::module_load || read == Moment::not_driver ||
                               (read == Moment::context && state == DriverState::initialised);
      if (still_works && !differs) continue;
      findings.push_back(
          {Severity::error, "settings.too_late", std::string{variable.name}, variable.wanted.value_or("(not set)"),
           Diagnostic::no_offset,
           std::string{"CUDA is already "} +
               (state == DriverState::initialised ? "initialised" : "initialised and has a context") +
               " in this process" +
               (variable.found ? ", with the value '" + *variable.found + "'" : ", without this variable"),
           read == Moment::unknown ? "when it is read is not known, and probably it is too late"
                                   : "it is read at " + std::string{to_string(read)} + ", and a change now is ignored",
           "make the session before anything uses CUDA, or start the program " +
               (variable.wanted ? "with " + std::string{variable.name} + "=" + *variable.wanted
                                : "without " + std::string{variable.name})});
      variable.outcome = Outcome::left;
    }
    if (findings.empty()) return;
    if (!contains(options_, SessionOptions::apply_what_still_works)) throw TooLateError{std::move(findings)};
    for (Diagnostic& finding : findings) finding.severity = Severity::warning;
    append(report_.findings, std::move(findings));
  }

  void refuse_with_threads(Environment const& environment) const {
    if (contains(options_, SessionOptions::despite_threads)) return;
    auto const threads = environment.threads_in_danger();
    if (threads.empty()) return;
    std::string names;
    for (std::string const& thread : threads) names += (names.empty() ? "" : ", ") + thread;
    throw EnvironmentError{
        {{Severity::error, "environment.threads", "environment", "", Diagnostic::no_offset,
          "to change the environment now can crash the other threads of this process: " + names,
          "with this C library setenv may move what getenv in another thread is reading (glibc before 2.41 does)",
          "make the session first thing in main, call cuenv::restart_with(settings), start the program "
          "with the variables set, or accept the danger with cuenv::despite_threads"}}};
  }

  /// Starts CUDA and reads the devices; the reason where it cannot be.
  [[nodiscard]] std::optional<DriverError> initialise(Environment const& environment, Machine const& machine,
                                                      std::string const& root, bool started) {
    if (!driver_.loaded) return detail::no_driver_error(driver_, root);
    if (detail::lacks_a_function(driver_.api)) {
      return DriverError{
          DriverError::no_driver,
          {{Severity::error, "driver.incomplete", driver_.path.empty() ? driver_library_name : driver_.path, "",
            Diagnostic::no_offset, "this driver library lacks functions that cuenv needs", "",
            "update the driver: CUDA 11.0 or newer"}}};
    }
    detail::DeviceTexts const texts = detail::device_texts(environment);
    switches_ = jit_switches(environment);
    jit_is_cached_ = jit_is_cached(environment);
    int code = started ? 0 : static_cast<int>(driver_.api.init(0));
    (code == 0 ? detail::init_history().started_in_process : detail::init_history().failed_in_process) =
        detail::process_id();
    if (code != 0) {
      auto const visibility = resolve_visibility(texts.views(), machine);
      Diagnostics reasons;
      // Only a prediction that came true explains anything.
      bool const order_explains = visibility.order_is_invalid && code == CUDA_ERROR_INVALID_DEVICE;
      if (order_explains || visibility.cu_init == code) reasons = explain(visibility, texts.views(), machine);
      return detail::init_error(code, driver_, reasons);
    }
    auto devices = read_devices(driver_.api, machine, code);
    if (code != 0) return detail::init_error(code, driver_, {});
    if (auto error = started ? std::nullopt : detail::l2_share_error(driver_.api, environment, devices)) return error;
    map_ = DeviceMap{std::move(devices)};
    return std::nullopt;
  }

  /// What was predicted against what the driver lists; where they differ the driver counts.
  void compare_with_driver(Settings const& settings, Environment const& environment, Machine const& machine) {
    detail::DeviceTexts const texts = detail::device_texts(environment);
    Visibility const predicted = resolve_visibility(texts.views(), machine);
    if (!predicted.known) return;
    bool same = predicted.cu_init == 0 && predicted.devices.size() == devices().size();
    for (std::size_t i = 0; same && i < devices().size(); ++i) {
      same = !predicted.devices[i].physical || predicted.devices[i].physical == devices()[i].physical;
    }
    if (same) {  // only a prediction that came true explains anything
      append(report_.findings, explain(predicted, texts.views(), machine));
      return;
    }
    std::string listed;
    for (Device const& device : devices()) listed += (listed.empty() ? "GPU-" : ", GPU-") + to_string(device.uuid);
    Diagnostic finding{Severity::warning,      "devices.differ_from_environment",
                       "CUDA_VISIBLE_DEVICES", texts.visible.value_or(""),
                       Diagnostic::no_offset,  "the driver lists other devices than this environment selects",
                       "it lists " + listed,   ""};
    if (report_.attached) {
      finding.what += ": the variables were changed after CUDA had started";
      bool const asked = settings.get(visible_devices).has_value() || settings.get(device_order).has_value();
      if (asked && !contains(options_, SessionOptions::apply_what_still_works)) {
        finding.severity = Severity::error;
        finding.fix = "make the session before anything uses CUDA";
        throw TooLateError{{std::move(finding)}};
      }
    } else {
      finding.what += "; the driver counts";
      finding.fix = "please report this with the driver's version";
    }
    report_.findings.push_back(std::move(finding));
  }

  [[nodiscard]] LoadConditions conditions_of(Device const& device) const noexcept {
    LoadConditions conditions;
    conditions.gpu = device.compute_capability;
    if (report_.driver_cuda_version != 0) conditions.driver = CudaVersion::from_number(report_.driver_cuda_version);
    conditions.switches = switches_;
    return conditions;
  }

  [[nodiscard]] LoadResult load_on_one(LogicalIndex index, detail::PaddedImage const& image,
                                       LoadOptions const& options) const {
    Device const* const device = map_.find(index);
    if (device == nullptr) {
      throw ImageError{{{Severity::error, "devices.no_such_logical", "logical GPU " + std::to_string(index.value), "",
                         Diagnostic::no_offset, "this many devices are visible: " + std::to_string(devices().size()),
                         "", detail::indices_to_use(devices().size())}}};
    }
    LoadResult result = load_on(driver_.api, index, image, conditions_of(*device), options);
    if (options.progress != nullptr) options.progress(result, options.data);
    return result;
  }

  [[nodiscard]] std::vector<LoadResult> load_everywhere(detail::PaddedImage const& image,
                                                        LoadOptions const& options) const {
    std::vector<LoadResult> results;
    for (Device const& device : devices()) results.push_back(load_on_one(device.logical, image, options));
    return results;
  }

  [[nodiscard]] Diagnostics load_findings(std::string const& name, std::vector<LoadResult> const& results) const {
    Diagnostics findings;
    for (LoadResult const& result : results) {
      Device const& device = *map_.find(result.device);
      if (!result.loads()) findings.push_back(explain(result, device, conditions_of(device), name));
    }
    return findings;
  }

  void require(std::string const& name, std::vector<LoadResult> const& results) const {
    Diagnostics findings = load_findings(name, results);
    if (results.empty()) {
      findings.push_back({Severity::error, "image.no_device", name, "", Diagnostic::no_offset,
                          "there is no visible GPU to load it on", report_.absence, ""});
    }
    if (!findings.empty()) throw ImageError{std::move(findings)};
  }

  SessionOptions options_;
  DriverLibrary driver_;
  JitSwitches switches_;
  bool jit_is_cached_ = true;
  DeviceMap map_;
  Report report_;
  std::optional<DriverError> absence_;
};

CUENV_NAMESPACE_END

#endif  // CUENV_SESSION_HPP
