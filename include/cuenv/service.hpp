#ifndef CUENV_SERVICE_HPP
#define CUENV_SERVICE_HPP

#include <cuenv/image.hpp>
#include <cuenv/verdict.hpp>
#include <cuenv/version.hpp>

#include <cstddef>
#include <string_view>

// How the modules of one file serve a GPU: their verdicts, counted.

CUENV_NAMESPACE_BEGIN

/// How far the modules of one file serve one GPU.
enum class Service {
  all,     ///< each module has code for it, or may have
  partly,  ///< some have; large libraries carry modules per target by design
  none,    ///< no module has
  empty    ///< there is no module that needs to
};

/// In words: "serves", "serves partly", "serves not at all", "has no GPU code".
[[nodiscard]] constexpr std::string_view to_string(Service service) noexcept {
  constexpr std::string_view names[] = {"serves", "serves partly", "serves not at all", "has no GPU code"};
  return names[static_cast<std::size_t>(service)];
}

/// The modules of one file, counted by their verdicts for one GPU.
struct GpuService {
  std::size_t native = 0;  ///< with SASS for it
  /// Compiled by the driver at first use, if the compiler takes them.
  std::size_t jit = 0;
  std::size_t unknown = 0;       ///< of which only the driver can tell; counted as serving
  std::size_t incompatible = 0;  ///< without code for it
  std::size_t damaged = 0;       ///< not to be given to a driver

  /// The counts in one word.
  [[nodiscard]] Service service() const noexcept {
    std::size_t const good = native + jit + unknown;
    std::size_t const bad = incompatible + damaged;
    if (good + bad == 0) return Service::empty;
    return bad == 0 ? Service::all : good == 0 ? Service::none : Service::partly;
  }
};

/// Counts the modules of one file for one GPU, by what each is to the program:
/// - the module that nvcc's device link adds holds nothing that could run, unless the program has relocatable code
///   (-rdc=true): then it is that code, linked, and where it serves, the parts do not matter;
/// - where it does not serve and the parts would, they count as unknown: whether the runtime links them at load was not
///   measured.
class ServiceCount {
 public:
  /// Takes a module into account, with the verdict on it for this GPU.
  void add(ImageModule const& module, VerdictKind kind) noexcept {
    bool const good = kind == VerdictKind::native || kind == VerdictKind::jit || kind == VerdictKind::unknown;
    if (module.device_link && kind != VerdictKind::damaged) {
      is_linked_ = true;
      link_serves_ = link_serves_ && good;
      count(linked_, kind);
    } else {
      count(is_relocatable(module) ? relocatable_ : service_, kind);
    }
  }

  /// Relocatable code: it is linked before it runs.
  [[nodiscard]] static bool is_relocatable(ImageModule const& module) noexcept {
    return module.section == "__nv_relfatbin";
  }
  /// Whether the program's relocatable code is there in a linked form that serves.
  [[nodiscard]] constexpr bool linked_code_serves() const noexcept { return is_linked_ && link_serves_; }

  /// The modules so far.
  [[nodiscard]] constexpr GpuService service() const noexcept {
    GpuService sum = service_;
    GpuService parts = relocatable_;
    if (parts.native + parts.jit + parts.unknown + parts.incompatible + parts.damaged == 0) return sum;
    if (linked_code_serves()) {
      parts = linked_;
      parts.damaged = relocatable_.damaged;
    } else if (is_linked_) {
      parts.unknown += parts.native + parts.jit;
      parts.native = parts.jit = 0;
    }
    sum.native += parts.native;
    sum.jit += parts.jit;
    sum.unknown += parts.unknown;
    sum.incompatible += parts.incompatible;
    sum.damaged += parts.damaged;
    return sum;
  }

 private:
  static constexpr void count(GpuService& service, VerdictKind kind) noexcept {
    switch (kind) {
      case VerdictKind::native: ++service.native; break;
      case VerdictKind::jit: ++service.jit; break;
      case VerdictKind::unknown: ++service.unknown; break;
      case VerdictKind::incompatible: ++service.incompatible; break;
      case VerdictKind::damaged: ++service.damaged; break;
      case VerdictKind::nothing: break;
    }
  }

  GpuService service_;
  GpuService relocatable_;
  GpuService linked_;
  bool is_linked_ = false;
  bool link_serves_ = true;
};

CUENV_NAMESPACE_END

#endif  // CUENV_SERVICE_HPP
