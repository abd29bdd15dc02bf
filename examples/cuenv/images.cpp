#include "commands.hpp"
#include "gpu_code.hpp"
#include "output.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tool {

namespace {

using cuenv::detail::printable;

constexpr std::uint64_t modules_listed = 20;
constexpr std::uint64_t entries_listed = 200;

std::string ptx_text(cuenv::ImageEntry const& entry) {
  return entry.ptx == cuenv::PtxVersion{} ? std::string{} : to_string(entry.ptx);
}

std::string target_text(cuenv::ImageEntry const& entry) {
  return entry.target.sm == 0 ? std::string{} : to_string(entry.kind, entry.target);
}

Json damage_json(cuenv::Damage damage) {
  return damage == cuenv::Damage::none ? Json(nullptr) : Json(std::string{to_string(damage)});
}

Json entry_json(cuenv::ImageEntry const& entry) {
  Json json = Json::object();
  json["kind"] = std::string{to_string(entry.kind)};
  json["target"] = cuenv::detail::text_or_null<Json>(target_text(entry));
  json["ptx"] = cuenv::detail::text_or_null<Json>(ptx_text(entry));
  json["compression"] = std::string{to_string(entry.compression)};
  json["stored"] = entry.stored;
  json["size"] = entry.size;
  json["debug"] = entry.debug;
  json["offset"] = entry.offset;
  json["damage"] = damage_json(entry.damage);
  return json;
}

/// Prints the modules of one file as JSON while the file is read, so that memory does not grow with it.
class JsonModules {
 public:
  void begin_module(cuenv::ImageModule const& module) {
    std::cout << (first_module_ ? "\n" : ",\n") << "      " << opened(module_json(module)) << ", \"entries\": [";
    first_module_ = false;
    first_entry_ = true;
  }
  void entry(cuenv::ImageEntry const& entry) {
    std::cout << (first_entry_ ? "\n        " : ",\n        ") << one_line(entry_json(entry));
    first_entry_ = false;
  }
  void end_module(cuenv::Damage damage) {
    if (damage != cuenv::Damage::none) damaged_ = true;
    std::cout << "], \"damage\": " << one_line(damage_json(damage)) << "}";
  }
  [[nodiscard]] bool damaged() const noexcept { return damaged_; }

 private:
  bool first_module_ = true;
  bool first_entry_ = true;
  bool damaged_ = false;
};

/// Counts what is in one file, and keeps lines for a file of few modules.
class TextModules {
 public:
  explicit TextModules(bool all) : all_{all} {}

  void begin_module(cuenv::ImageModule const& module) {
    ++modules_;
    where_ = place_of(module);
    if (module.device_link) where_ += " (added by nvcc's device link)";
    index_ = 0;
    print("  " + printable(where_));
  }
  void entry(cuenv::ImageEntry const& entry) {
    ++entries_;
    std::string const kind{to_string(entry.kind)};
    Key key{kind,
            entry.target.sm,
            entry.target.suffix,
            target_text(entry),
            ptx_text(entry),
            std::string{to_string(entry.compression)}};
    if (sums_.size() >= most_sums && sums_.count(key) == 0) key = {"(others)", 0, 0, "", "", ""};
    Sum& sum = sums_[key];
    ++sum.count;
    sum.stored += entry.stored;
    sum.size += entry.size;
    std::string line = "    " + padded(std::to_string(index_++), 4) + padded(kind, 9) + padded(target_text(entry), 14) +
                       padded(ptx_text(entry).empty() ? "" : "PTX " + ptx_text(entry), 9) +
                       padded(std::string{to_string(entry.compression)}, 6) + std::to_string(entry.stored) + " bytes";
    if (entry.compression != cuenv::Compression::none) line += ", unpacked " + std::to_string(entry.size);
    if (entry.debug) line += ", debug";
    print(line);
  }
  void end_module(cuenv::Damage damage) {
    if (damage == cuenv::Damage::none) return;
    std::string const what = "damaged: " + std::string{to_string(damage)};
    print(labelled("  error", what));
    if (++damaged_ <= modules_listed) findings_ += labelled("error", printable(where_) + " is " + what);
  }

  [[nodiscard]] bool damaged() const noexcept { return damaged_ > 0; }
  [[nodiscard]] std::uint64_t modules() const noexcept { return modules_; }
  [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }

  /// What has not been printed yet: the list of a short file, the sums of another.
  [[nodiscard]] std::string text() const {
    if (all_ || !is_long()) return kept_;
    std::vector<std::vector<std::string>> rows{{"  kind", "target", "PTX", "packed", "entries", "bytes", "unpacked"}};
    for (auto const& [key, sum] : sums_) {
      rows.push_back({"  " + key.kind, key.target, key.ptx, key.compression, std::to_string(sum.count),
                      std::to_string(sum.stored), std::to_string(sum.size)});
    }
    std::string text = aligned(rows) + findings_;
    if (damaged_ > modules_listed) text += "  and " + std::to_string(damaged_ - modules_listed) + " more damaged\n";
    return text;
  }

 private:
  struct Key {
    std::string kind;
    int sm;
    char suffix;
    std::string target;
    std::string ptx;
    std::string compression;

    friend bool operator<(Key const& a, Key const& b) {
      return std::tie(a.kind, a.sm, a.suffix, a.target, a.ptx, a.compression) <
             std::tie(b.kind, b.sm, b.suffix, b.target, b.ptx, b.compression);
    }
  };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t stored = 0;
    std::uint64_t size = 0;
  };
  static constexpr std::size_t most_sums = 500;  // real files have a few dozen kinds

  [[nodiscard]] bool is_long() const noexcept { return modules_ > modules_listed || entries_ > entries_listed; }
  static std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
  }
  void print(std::string line) {
    if (line.back() != '\n') line += '\n';
    if (all_) {
      std::cout << line;
    } else if (!is_long()) {
      kept_ += line;
    }
  }

  bool all_;
  std::uint64_t modules_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t index_ = 0;
  std::uint64_t damaged_ = 0;
  std::string where_;
  std::string kept_;
  std::string findings_;
  std::map<Key, Sum> sums_;
};

int print_json(std::string const& path, cuenv::InspectOptions how) {
  try {
    // Opened once before anything is printed, so that what cannot be read is said in place of its modules.
    (void)cuenv::detail::File{path};
  } catch (cuenv::FileError const& error) {
    std::cout << unreadable_json(path, error, "modules");
    return wrong_use;
  }
  Json head = Json::object();
  cuenv::put_text(head, "path", std::string_view{path});
  std::cout << opened(head) << ", \"modules\": [";
  JsonModules modules;
  cuenv::FileSummary const summary = cuenv::visit_images(path, modules, how);
  std::cout << "], \"kind\": \"" << to_string(summary.kind) << "\", \"bytes\": " << summary.size
            << ", \"damage\": " << one_line(damage_json(summary.damage)) << ", \"error\": null}";
  return modules.damaged() || summary.damage != cuenv::Damage::none ? problems : fine;
}

int print_text(std::string const& path, cuenv::InspectOptions how, bool all) {
  try {
    if (all) std::cout << printable(path) << '\n';
    TextModules modules{all};
    cuenv::FileSummary const summary = cuenv::visit_images(path, modules, how);
    std::string line = file_line(summary.kind) + ", " + counted(modules.modules(), "module") + ", " +
                       counted(modules.entries(), "entry", "entries");
    if (modules.modules() == 0) line = nothing_in(summary.kind);
    std::cout << (all ? "  " : printable(path) + ": ") << line << '\n' << modules.text();
    if (summary.damage != cuenv::Damage::none)
      std::cout << labelled("error", "the file is damaged: " + std::string{to_string(summary.damage)});
    return modules.damaged() || summary.damage != cuenv::Damage::none ? problems : fine;
  } catch (cuenv::FileError const& error) {
    std::cout << unreadable_text(error);
    return wrong_use;
  }
}

}  // namespace

int images(ImagesOptions const& options) {
  cuenv::InspectOptions how;
  how.deep = options.deep;
  int code = fine;
  if (options.json) std::cout << "{\"schema\": " << cuenv::json_schema << ", \"files\": [";
  bool first = true;
  for (std::string const& path : options.files) {
    if (options.json) std::cout << (first ? "\n    " : ",\n    ");
    code = std::max(code, options.json ? print_json(path, how) : print_text(path, how, options.all));
    first = false;
  }
  if (options.json) std::cout << "]}\n";
  return code;
}

}  // namespace tool
