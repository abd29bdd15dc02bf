#include "commands.hpp"
#include "gpu_code.hpp"
#include "machine.hpp"
#include "output.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using cuenv::VerdictKind;
using cuenv::detail::printable;

constexpr std::uint64_t modules_listed = 20;
constexpr std::size_t fixes_listed = 5;

/// One GPU to judge for, and with --load the device to ask.
struct Gpu {
  cuenv::LoadConditions conditions;
  std::optional<cuenv::LogicalIndex> device;

  [[nodiscard]] std::string name() const {
    std::string const text = to_string(conditions.gpu);
    return device ? "GPU " + std::to_string(device->value) + " " + text : text;
  }
};

/// What is said of one module, or of a file.
struct Outcome {
  VerdictKind kind = VerdictKind::nothing;
  std::size_t entry = cuenv::Verdict::no_entry;
  std::optional<int> code;
  std::string reason;
  std::string fix;
};

Outcome judged(cuenv::Verdict const& verdict, cuenv::LoadConditions const& conditions) {
  return {verdict.kind, verdict.entry, verdict.code, reason_text(verdict, conditions), fix_line(verdict, conditions)};
}

/// What the driver answered counts, but for what was kept from it.
Outcome answered(cuenv::LoadResult const& result, cuenv::Device const& device,
                 cuenv::LoadConditions const& conditions) {
  Outcome outcome = judged(result.verdict, conditions);
  if (result.kept_from_driver) return outcome;
  outcome.code = result.code;
  if (result.loads()) {
    outcome.kind = result.verdict.image == cuenv::ImageKind::ptx ? VerdictKind::jit : VerdictKind::native;
    outcome.reason = "the driver loads it and every function in it";
    outcome.fix.clear();
    return outcome;
  }
  cuenv::Diagnostic const finding = explain(result, device, conditions, "");
  outcome.kind = result.no_context ? VerdictKind::unknown : VerdictKind::incompatible;
  outcome.reason = finding.what + (finding.driver.empty() ? "" : "; driver: " + finding.driver);
  outcome.fix = finding.fix;
  return outcome;
}

bool is_bad(VerdictKind kind) { return kind == VerdictKind::incompatible || kind == VerdictKind::damaged; }

Json outcome_json(Outcome const& outcome) {
  Json json = Json::object();
  json["verdict"] = std::string{to_string(outcome.kind)};
  json["entry"] = outcome.entry == cuenv::Verdict::no_entry ? Json(nullptr) : Json(outcome.entry);
  cuenv::put_text(json, "reason", std::string_view{outcome.reason});
  json["fix"] = outcome.fix;
  json["code"] = outcome.code ? Json(*outcome.code) : Json(nullptr);
  return json;
}

std::string with_code(Outcome const& outcome) {
  return outcome.reason + (outcome.code.value_or(0) == 0 ? "" : " (" + std::to_string(*outcome.code) + ")");
}

/// What has to be known of a file before its modules are judged.
struct FirstLook {
  cuenv::FileSummary summary;
  bool relocatable = false;

  void begin_module(cuenv::ImageModule const& module) {
    relocatable = relocatable || cuenv::ServiceCount::is_relocatable(module);
  }
  void entry(cuenv::ImageEntry const&) {}
  void end_module(cuenv::Damage) {}
};

/// Judges the modules of one file for one GPU while it is read, and says each, as JSON or as text.
class Modules {
 public:
  Modules(std::string const& path, FirstLook const& look, Gpu const& gpu, cuenv::Session const* session,
          CheckOptions const& options)
      : path_{path},
        kind_{look.summary.kind},
        relocatable_{look.relocatable},
        gpu_{gpu},
        session_{session},
        options_{options} {}

  void begin_module(cuenv::ImageModule const& module) {
    module_ = module;
    judge_.emplace(module.kind, gpu_.conditions);
  }
  void entry(cuenv::ImageEntry const& entry) { judge_->add(entry); }
  void end_module(cuenv::Damage damage) {
    Outcome outcome = outcome_of(judge_->verdict(damage));
    if (count_++ == 0) first_ = outcome;
    sums_.add(module_, outcome.kind);
    link_misses_ = link_misses_ || (module_.device_link && outcome.kind == VerdictKind::incompatible);
    no_context_ = no_context_ || (session_ != nullptr && outcome.kind == VerdictKind::unknown && outcome.code);
    if (options_.json) {
      print_json(outcome);
    } else {
      keep_text(outcome);
    }
  }

  /// The file's own verdict; the tool's README has the rule.
  [[nodiscard]] Outcome file_outcome(cuenv::FileSummary const& summary) const {
    if (is_module(kind_) && count_ > 0) return first_;
    cuenv::ImageFile file;
    file.summary = summary;
    Outcome outcome = judged(judge_as_module(file, gpu_.conditions), gpu_.conditions);
    if (summary.kind == cuenv::FileKind::thin_archive) outcome.kind = VerdictKind::unknown;
    if (!is_host_file(kind_)) return outcome;
    cuenv::GpuService const sum = service();
    bool const serves = sum.incompatible == 0 || (options_.partly && sum.service() == cuenv::Service::partly);
    if (outcome.kind == VerdictKind::damaged) return outcome;
    outcome.kind = sum.damaged > 0   ? VerdictKind::damaged
                   : !serves         ? VerdictKind::incompatible
                   : sum.unknown > 0 ? VerdictKind::unknown
                   : sum.jit > 0     ? VerdictKind::jit
                   : sum.native > 0  ? VerdictKind::native
                                     : VerdictKind::nothing;
    return outcome;
  }

  [[nodiscard]] cuenv::GpuService service() const noexcept { return sums_.service(); }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] bool no_context() const noexcept { return no_context_; }

  [[nodiscard]] std::string text() const {
    bool const parts_count = !sums_.linked_code_serves() || options_.all;
    std::string text = listing_.text(options_.all) + (parts_count ? parts_.text(options_.all) : "");
    if (link_misses_ && parts_.bad == 0) {
      text += labelled("note", "its linked code does not serve; whether its parts are linked at load is not known");
    }
    return text;
  }

 private:
  [[nodiscard]] Outcome outcome_of(cuenv::Verdict const& verdict) const {
    Outcome outcome = judged(verdict, gpu_.conditions);
    if (module_.device_link && !relocatable_ && verdict.kind != VerdictKind::damaged) {
      outcome.kind = VerdictKind::nothing;
      outcome.reason = "nvcc's device link adds it to every program; it has to serve no GPU";
      outcome.fix.clear();
      return outcome;
    }
    bool const is_part = cuenv::ServiceCount::is_relocatable(module_);  // no module before it is linked
    if (session_ == nullptr || is_part || verdict.kind == VerdictKind::damaged) return outcome;
    cuenv::Device const& device = *session_->map().find(*gpu_.device);
    if (is_module(kind_)) {
      if (count_ > 0) return outcome;  // loading the file looks at the first one only
      return answered(session_->load_check(path_, *gpu_.device, cuenv::Contexts::keep), device, gpu_.conditions);
    }
    cuenv::detail::File const file{path_};
    if (module_.size > file.size() || module_.size > 0x7fffffffU) return outcome;
    std::string bytes(static_cast<std::size_t>(module_.size), '\0');
    bytes.resize(file.read(module_.offset, reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()));
    return answered(session_->load_check_bytes(bytes, *gpu_.device, cuenv::Contexts::keep), device, gpu_.conditions);
  }

  void print_json(Outcome const& outcome) const {
    Json json = outcome_json(outcome);
    json.update(module_json(module_));
    std::cout << (count_ == 1 ? "\n          " : ",\n          ") << one_line(json);
  }
  void keep_text(Outcome const& outcome) {
    bool const is_ignored = is_module(kind_) && count_ > 1;  // a driver takes the first one only
    if (is_ignored && !options_.all) return;
    bool const is_part = cuenv::ServiceCount::is_relocatable(module_);
    // Of linked code that does not serve, the parts say what is wrong.
    bool const bad =
        is_bad(outcome.kind) && !is_ignored && !(module_.device_link && outcome.kind != VerdictKind::damaged);
    Listing& list = is_part ? parts_ : listing_;
    list.bad += bad ? 1 : 0;
    bool const has_fix = !outcome.fix.empty() && (bad || is_module(kind_) || outcome.kind == VerdictKind::unknown);
    bool const is_new = std::find(list.fixes.begin(), list.fixes.end(), outcome.fix) == list.fixes.end();
    if (has_fix && is_new && list.fixes.size() < fixes_listed) list.fixes.push_back(outcome.fix);
    if (!options_.all && (!bad || list.bad > modules_listed)) return;
    if (is_module(kind_) && count_ == 1) return;  // that one is the file's own verdict
    list.lines +=
        labelled(bad ? "error" : to_string(outcome.kind), printable(place_of(module_) + ": " + with_code(outcome)));
  }

  struct Listing {
    std::string lines;
    std::vector<std::string> fixes;
    std::uint64_t bad = 0;

    [[nodiscard]] std::string text(bool all) const {
      std::string text = lines;
      if (bad > modules_listed && !all) {
        text += labelled("", "and " + std::to_string(bad - modules_listed) + " more; --all lists them");
      }
      for (std::string const& fix : fixes) text += labelled("  fix", fix);
      return text;
    }
  };

  std::string const& path_;
  cuenv::FileKind kind_;
  bool relocatable_;
  Gpu const& gpu_;
  cuenv::Session const* session_;
  CheckOptions const& options_;
  cuenv::ImageModule module_;
  std::optional<cuenv::ModuleJudge> judge_;
  Outcome first_;
  cuenv::ServiceCount sums_;
  std::uint64_t count_ = 0;
  bool no_context_ = false;
  bool link_misses_ = false;
  Listing listing_;
  Listing parts_;
};

std::string counts_text(cuenv::GpuService const& service) {
  std::string text;
  auto const add = [&](std::size_t count, VerdictKind kind) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string{to_string(kind)};
  };
  add(service.native, VerdictKind::native);
  add(service.jit, VerdictKind::jit);
  add(service.unknown, VerdictKind::unknown);
  add(service.incompatible, VerdictKind::incompatible);
  add(service.damaged, VerdictKind::damaged);
  return text;
}

Json counts_json(cuenv::GpuService const& service) {
  Json json = Json::object();
  json["native"] = service.native;
  json["jit"] = service.jit;
  json["unknown"] = service.unknown;
  json["incompatible"] = service.incompatible;
  json["damaged"] = service.damaged;
  return json;
}

/// One GPU's part of a file's text.
std::string gpu_text(Gpu const& gpu, cuenv::FileKind kind, Outcome const& outcome, Modules const& modules,
                     bool partly) {
  std::string what{to_string(outcome.kind)};
  cuenv::GpuService const service = modules.service();
  if (is_host_file(kind) && service.service() == cuenv::Service::empty && !is_bad(outcome.kind)) {
    what += ": no GPU code that would have to run";
  } else if (is_host_file(kind) && counts_text(service).empty()) {
    what += ": " + outcome.reason;
  } else if (is_host_file(kind)) {
    what += ": " + counts_text(service);
    if (is_bad(outcome.kind)) what += "; it " + std::string{to_string(service.service())};
  } else if (kind == cuenv::FileKind::thin_archive) {
    what += ": " + nothing_in(kind);
  } else {
    what += ": " + with_code(outcome);
  }
  std::string text = labelled(gpu.name(), printable(what)) + modules.text();
  if (!is_host_file(kind) && modules.count() == 0 && !outcome.fix.empty()) text += labelled("  fix", outcome.fix);
  if (is_module(kind) && modules.count() > 1) {
    text += labelled("note", "a driver takes the first of its " + counted(modules.count(), "module") + " only");
  }
  if (is_host_file(kind) && service.service() == cuenv::Service::partly && !partly) {
    text += labelled("note", "large libraries carry modules for one GPU each; for those --partly will do");
  }
  return text;
}

/// Says one file; the exit code that it brings.
int check_file(std::string const& path, std::vector<Gpu> const& gpus, cuenv::Session const* session,
               CheckOptions const& options) {
  FirstLook look;
  try {
    look.summary = cuenv::visit_images(path, look);
  } catch (cuenv::FileError const& error) {
    std::cout << (options.json ? unreadable_json(path, error, "gpus") : unreadable_text(error));
    return wrong_use;
  }
  cuenv::FileKind const kind = look.summary.kind;
  cuenv::InspectOptions how;
  how.thorough = is_module(kind);  // as before a load
  bool const as_text = !options.json;
  if (as_text) {
    std::cout << printable(path) << ": " << file_line(kind) << '\n';
  } else {
    Json head = Json::object();
    cuenv::put_text(head, "path", std::string_view{path});
    head["kind"] = std::string{to_string(kind)};
    head["error"] = nullptr;
    std::cout << opened(head) << ", \"gpus\": [";
  }
  int code = fine;
  for (Gpu const& gpu : gpus) {
    Modules modules{path, look, gpu, session, options};
    if (!as_text) {
      Json head = Json::object();
      head["gpu"] = to_string(gpu.conditions.gpu);
      head["logical"] = gpu.device ? Json(gpu.device->value) : Json(nullptr);
      std::cout << (&gpu == &gpus.front() ? "\n      " : ",\n      ") << opened(head) << ", \"modules\": [";
    }
    cuenv::FileSummary const summary = cuenv::visit_images(path, modules, how);
    Outcome const outcome = modules.file_outcome(summary);
    bool const runs = !is_bad(outcome.kind) && !modules.no_context() &&
                      (outcome.kind != VerdictKind::nothing || is_host_file(kind)) &&
                      !(options.strict && outcome.kind == VerdictKind::unknown);
    if (!runs) code = problems;
    if (as_text) {
      std::cout << gpu_text(gpu, kind, outcome, modules, options.partly);
    } else {
      Json tail = outcome_json(outcome);
      tail.erase("entry");
      tail["counts"] = counts_json(modules.service());
      std::cout << "], " << one_line(tail).substr(1);
    }
  }
  if (!as_text) std::cout << "]}";
  return code;
}

/// The compute capabilities that a program started here would see, each once.
std::vector<cuenv::ComputeCapability> gpus_here() {
  cuenv::Machine const machine = machine_here();
  auto const texts = cuenv::detail::device_texts(cuenv::process_environment);
  auto const visibility = resolve_visibility(texts.views(), machine);
  std::vector<cuenv::ComputeCapability> list;
  auto const add = [&](cuenv::Gpu const& gpu) {
    if (!gpu.compute_capability) return;
    if (std::find(list.begin(), list.end(), *gpu.compute_capability) == list.end())
      list.push_back(*gpu.compute_capability);
  };
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    bool const seen =
        !visibility.known || std::any_of(visibility.devices.begin(), visibility.devices.end(), [&](auto const& device) {
          return device.physical && static_cast<std::size_t>(device.physical->value) == i;
        });
    if (seen) add(machine.gpus[i]);
  }
  if (!list.empty()) return list;
  throw std::runtime_error{machine.gpus.empty() ? "no GPU is known here: say for which to judge, as in --gpu 9.0"
                                                : "no GPU with a known compute capability is visible here: say for "
                                                  "which to judge, as in --gpu 9.0"};
}

std::optional<cuenv::CudaVersion> driver_here() {
  cuenv::DriverLibrary const driver = cuenv::open_driver_library(cuenv::DriverOpen::load);
  int version = 0;
  if (driver.api.driver_get_version == nullptr || driver.api.driver_get_version(&version) != CUDA_SUCCESS ||
      version <= 0)
    return std::nullopt;
  return cuenv::CudaVersion::from_number(version);
}

std::string conditions_text(std::optional<cuenv::CudaVersion> driver, cuenv::JitSwitches switches) {
  std::string text = driver ? "for a driver of CUDA " + to_string(*driver)
                            : "for any driver, since none was found: --driver 13.0 judges for one of CUDA 13.0";
  if (switches.force_jit) text += ", with JIT compilation forced by the environment";
  if (switches.disable_jit) text += ", with JIT compilation switched off by the environment";
  return text + "\n";
}

}  // namespace

int check(CheckOptions const& options) {
  cuenv::LoadConditions conditions;
  conditions.switches = cuenv::jit_switches(cuenv::process_environment);
  std::optional<cuenv::Session> session;
  std::vector<Gpu> gpus;
  if (options.load) {
    session.emplace(cuenv::Settings{}, cuenv::ask_nvml);
    auto const all = session->gpu_conditions();
    for (std::size_t i = 0; i < all.size(); ++i) gpus.push_back({all[i], session->devices()[i].logical});
    if (!all.empty()) conditions = all.front();
  } else {
    conditions.driver = options.driver ? options.driver : driver_here();
    for (cuenv::ComputeCapability const gpu : options.gpus.empty() ? gpus_here() : options.gpus) {
      conditions.gpu = gpu;
      gpus.push_back({conditions, std::nullopt});
    }
  }
  if (options.json) {
    Json head = Json::object();
    head["schema"] = cuenv::json_schema;
    head["driver"] = conditions.driver ? Json(to_string(*conditions.driver)) : Json(nullptr);
    head["force_jit"] = conditions.switches.force_jit;
    head["disable_jit"] = conditions.switches.disable_jit;
    std::cout << opened(head) << ", \"files\": [";
  } else {
    std::cout << conditions_text(conditions.driver, conditions.switches);
  }
  int code = fine;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    if (options.json) std::cout << (i == 0 ? "\n    " : ",\n    ");
    code = std::max(code, check_file(options.files[i], gpus, session ? &*session : nullptr, options));
  }
  if (options.json) std::cout << "]}\n";
  return code;
}

}  // namespace tool
