#include "commands.hpp"
#include "output.hpp"

#include <cuenv/diagnosis/jit_cache.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <utility>

// The driver's cache of compiled code: shown, and cleared. What is removed is decided before anything is removed, and
// every step is taken from an open folder, so that a link put there meanwhile leads nowhere else.

namespace tool {

namespace {

using cuenv::detail::printable;

class Folder {
 public:
  /// Throws std::runtime_error where it is no folder, a link below another folder, or on another file system than that.
  Folder(Folder const* above, std::string const& name, std::string path) : path_{std::move(path)} {
    int const no_links = above == nullptr ? 0 : O_NOFOLLOW;  // the cache itself may well be reached through a link
    int const from = above == nullptr ? AT_FDCWD : above->descriptor_;
    descriptor_ = ::openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_links);
    if (descriptor_ < 0 && errno == ENOENT) return;  // gone
    if (descriptor_ < 0) refuse("is no folder that can be opened (" + std::string{std::strerror(errno)} + ")");
    struct ::stat status {};
    if (::fstat(descriptor_, &status) != 0) refuse("cannot be examined");
    device_ = status.st_dev;
    if (above != nullptr && device_ != above->device_) refuse("is a mount point, which the driver does not make");
  }
  ~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  /// It is not there, or was removed by somebody else.
  [[nodiscard]] bool is_gone() const { return descriptor_ < 0; }
  [[noreturn]] void refuse(std::string const& what) const {
    // The destructor does not run for an object whose constructor throws.
    throw std::runtime_error{printable(path_) + " " + what};
  }
  [[noreturn]] void refuse_entry(std::string const& name) const {
    refuse("holds " + printable(name) + ", which the driver does not write");
  }
  [[nodiscard]] std::vector<std::string> names() const {
    if (is_gone()) return {};
    auto names = cuenv::detail::list_directory("/proc/self/fd/" + std::to_string(descriptor_));
    if (!names) refuse("cannot be listed");
    return *names;
  }
  [[nodiscard]] Folder below(std::string const& name) const { return {this, name, path_ + "/" + name}; }
  /// The size of a regular file, which may not be a link; nothing where it is gone.
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::string const& name) const {
    struct ::stat status {};
    bool const known = ::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!known && errno == ENOENT) return std::nullopt;
    if (!known || !S_ISREG(status.st_mode)) refuse_entry(name);
    return static_cast<std::uint64_t>(status.st_size);
  }
  void remove(std::string const& name, int flags) const {
    if (::unlinkat(descriptor_, name.c_str(), flags) == 0 || errno == ENOENT) return;
    throw std::runtime_error{printable(path_ + "/" + name) + " cannot be removed: " + std::strerror(errno)};
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  ::dev_t device_ = 0;
};

struct Removal {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

enum class Step { look, remove };

/// Goes through the two levels of one-digit folders and counts in `sum` what is there, or what was removed. Throws
/// where anything is not the driver's; what somebody else removes meanwhile is passed over.
void go_through(Folder const& cache, Step step, Removal& sum) {
  auto const file = [&](Folder const& in, std::string const& name) {
    auto const size = in.size_of(name);
    if (!size) return;
    if (name == "index" && *size < cuenv::smallest_jit_cache_index)
      in.refuse("has an index that the driver did not write");
    if (step == Step::remove) in.remove(name, 0);
    sum.bytes += *size;
    ++sum.files;
  };
  auto const require_digit = [](Folder const& in, std::string const& name) {
    if (cuenv::jit_cache_entry(name) != cuenv::JitCacheEntry::folder) in.refuse_entry(name);
  };
  for (std::string const& name : cache.names()) {
    if (name == "index") continue;  // last, so that what is left after a failure still is a cache
    require_digit(cache, name);
    Folder const upper = cache.below(name);
    for (std::string const& digit : upper.names()) {
      require_digit(upper, digit);
      {
        Folder const lower = upper.below(digit);
        for (std::string const& entry : lower.names()) {
          if (!cuenv::is_jit_cache_file(entry)) lower.refuse_entry(entry);
          file(lower, entry);
        }
      }
      if (step == Step::remove) upper.remove(digit, AT_REMOVEDIR);
    }
    if (step == Step::remove) cache.remove(name, AT_REMOVEDIR);
  }
  file(cache, "index");
}

std::string words_of(Removal const& removal) {
  return std::to_string(removal.files) + (removal.files == 1 ? " file (" : " files (") +
         cuenv::detail::byte_words(removal.bytes) + ")";
}

bool confirmed(std::string const& question) {
  std::cerr << question << " [y/N] ";
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

int clear(CacheOptions const& options) {
  cuenv::JitCacheSettings const settings = cuenv::jit_cache_settings(cuenv::process_environment);
  if (settings.folder.empty()) {
    std::cerr << "cuenv: where the cache is is not known: " << settings.named_by
              << (settings.off_reason.empty() ? " is not set" : " names no folder") << '\n';
    return problems;
  }
  Removal removed;
  try {
    Folder const cache{nullptr, settings.folder, settings.folder};
    if (cache.is_gone()) {
      std::cout << printable(settings.folder) << ": there is no cache\n";
      return fine;
    }
    auto const names = cache.names();
    if (names.empty()) {
      std::cout << printable(settings.folder) << ": the cache is empty\n";
      return fine;
    }
    for (std::string const& name : names) {
      if (cuenv::jit_cache_entry(name) == cuenv::JitCacheEntry::foreign) cache.refuse_entry(name);
    }
    if (!cuenv::is_jit_cache(names)) cache.refuse("holds no file named index, as a cache of the driver does");
    Removal planned;
    go_through(cache, Step::look, planned);
    if (!options.yes) {
      if (::isatty(STDIN_FILENO) != 1) {
        std::cerr << "cuenv: nobody can be asked whether to remove " << words_of(planned) << " in "
                  << printable(settings.folder) << ": say --yes\n";
        return wrong_use;
      }
      if (!confirmed("remove " + words_of(planned) + " in " + printable(settings.folder) + "?")) {
        std::cout << "nothing was removed\n";
        return problems;
      }
    }
    go_through(cache, Step::remove, removed);
    std::cout << printable(settings.folder) << ": removed " << words_of(removed) << '\n';
    return fine;
  } catch (std::runtime_error const& error) {
    std::cerr << "cuenv: " << error.what()
              << (removed.files == 0 ? ", so nothing was removed" : "; before that were removed " + words_of(removed))
              << '\n';
    return problems;
  }
}

}  // namespace

int cache(CacheOptions const& options) {
  if (options.clear) return clear(options);
  cuenv::Site site;
  site.variables = cuenv::process_environment.all();
  cuenv::RungReport const report = cuenv::diagnose_jit_cache(site, false);
  if (options.json) {
    Json document{{"schema", cuenv::json_schema}, {"command", "cache"}};
    document.update(Json(report));
    std::cout << text_of(document);
  } else {
    std::string text;
    for (cuenv::Fact const& fact : report.facts) text += labelled(fact.name, printable(fact.value));
    for (cuenv::Diagnostic const& finding : report.findings) text += labelled(finding, Subject::named);
    for (std::string const& reason : report.unknown) text += labelled("unknown", printable(reason));
    std::cout << text;
  }
  return has_problem(report.findings) ? problems : fine;
}

}  // namespace tool
