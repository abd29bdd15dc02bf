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
#include <stdexcept>
#include <utility>

// The driver's cache of compiled code: shown, and cleared. What is removed is decided before anything is removed, and
// every step is taken from an open folder, so that a link put there meanwhile leads nowhere else.

namespace tool {

namespace {

using cuenv::detail::printable;

class Folder {
 public:
  /// Throws std::runtime_error where it is no folder, or a link below another folder.
  Folder(int above, std::string const& name, std::string path) : path_{std::move(path)} {
    int const no_links = above == AT_FDCWD ? 0 : O_NOFOLLOW;  // the cache itself may well be reached through a link
    descriptor_ = ::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_links);
    if (descriptor_ < 0) refuse("is no folder that can be opened");
  }
  ~Folder() { ::close(descriptor_); }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;

  [[noreturn]] void refuse(std::string const& what) const {
    throw std::runtime_error{printable(path_) + " " + what + ", so nothing was removed"};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    auto names = cuenv::detail::list_directory("/proc/self/fd/" + std::to_string(descriptor_));
    if (!names) refuse("cannot be listed");
    return *names;
  }
  [[nodiscard]] Folder below(std::string const& name) const { return {descriptor_, name, path_ + "/" + name}; }
  /// The size of a regular file, which may not be a link.
  [[nodiscard]] std::uint64_t size_of(std::string const& name) const {
    struct ::stat status {};
    if (::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
      refuse("holds " + printable(name) + ", which the driver does not write");
    }
    return static_cast<std::uint64_t>(status.st_size);
  }
  void remove(std::string const& name, int flags) const {
    if (::unlinkat(descriptor_, name.c_str(), flags) == 0 || errno == ENOENT) return;
    throw std::runtime_error{printable(path_ + "/" + name) + " cannot be removed: " + std::strerror(errno)};
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

struct Removal {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Goes through the two levels of one-digit folders. Without `remove` it only looks, and throws where anything is not
/// the driver's.
Removal go_through(Folder const& cache, bool remove) {
  Removal sum;
  auto const file = [&](Folder const& in, std::string const& name) {
    sum.bytes += in.size_of(name);
    ++sum.files;
    if (remove) in.remove(name, 0);
  };
  auto const require_digit = [](Folder const& in, std::string const& name) {
    if (cuenv::jit_cache_entry(name) != cuenv::JitCacheEntry::folder) {
      in.refuse("holds " + printable(name) + ", which the driver does not write");
    }
  };
  for (std::string const& name : cache.names()) {
    if (name == "index") continue;  // last, so that what is left after a failure still is a cache
    require_digit(cache, name);
    Folder const upper = cache.below(name);
    for (std::string const& digit : upper.names()) {
      require_digit(upper, digit);
      {
        Folder const lower = upper.below(digit);
        for (std::string const& entry : lower.names()) file(lower, entry);
      }
      if (remove) upper.remove(digit, AT_REMOVEDIR);
    }
    if (remove) cache.remove(name, AT_REMOVEDIR);
  }
  file(cache, "index");
  return sum;
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
  if (!cuenv::detail::path_exists(settings.folder)) {
    std::cout << printable(settings.folder) << ": there is no cache\n";
    return fine;
  }
  try {
    Folder const cache{AT_FDCWD, settings.folder, settings.folder};
    auto const names = cache.names();
    if (names.empty()) {
      std::cout << printable(settings.folder) << ": the cache is empty\n";
      return fine;
    }
    for (std::string const& name : names) {
      if (cuenv::jit_cache_entry(name) == cuenv::JitCacheEntry::foreign) {
        cache.refuse("holds " + printable(name) + ", which the driver does not write");
      }
    }
    if (!cuenv::is_jit_cache(names)) cache.refuse("holds no file named index, as a cache of the driver does");
    Removal const planned = go_through(cache, false);
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
    Removal const removed = go_through(cache, true);
    std::cout << printable(settings.folder) << ": removed " << words_of(removed) << '\n';
    return fine;
  } catch (std::runtime_error const& error) {
    std::cerr << "cuenv: " << error.what() << '\n';
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
