// own_code LIBRARY: a program that carries code for sm_90 and loads a library with code for sm_120, on two GPUs of 9.0.
#include "embedded_code.hpp"
#include "expect.hpp"
#include "library.hpp"

#include <algorithm>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string const library = argv[1];
  std::string const name{cuenv::detail::file_name(library)};
  cuenv::ImageFile const own = cuenv::own_images();
#ifdef _WIN32
  expect(own.summary.kind == cuenv::FileKind::pe, "the program is a Windows executable");
#else
  expect(own.summary.kind == cuenv::FileKind::elf, "the program is an ELF file");
#endif
  expect(own.modules.size() == 1 && own.modules[0].entries.size() == 1 && own.modules[0].entries[0].target.sm == 90,
         "its one module is found, with code for sm_90");

  cuenv::Session const session;
  auto const loaded = [&] {
    std::size_t count = 0;
    for (std::string const& file : cuenv::loaded_files()) {
      count += cuenv::detail::file_name(file) == name ? 1U : 0U;
      expect(file.find("nvcuda") == std::string::npos && file.find("libcuda") == std::string::npos,
             "the driver is left out: " + file);
    }
    return count;
  };
  expect(loaded() == 0, "the library is not loaded yet");
  expect(open_library(library.c_str()) != nullptr, "the library can be loaded");
  expect(loaded() == 1, "then it is among the loaded files");

  cuenv::ProgramReport const report = session.require_images();
  expect(!report.files.empty() && report.files[0].gpus.size() == 2 &&
             report.files[0].gpus[0].service() == cuenv::Service::all,
         "the program serves both GPUs");
  auto const found = std::find_if(report.files.begin(), report.files.end(), [&](cuenv::FileReport const& file) {
    return cuenv::detail::file_name(file.path) == name;
  });
  expect(found != report.files.end() && found->gpus[0].service() == cuenv::Service::none, "the library serves none");

  std::vector<std::string> spellings{name};
#ifdef _WIN32
  std::string capitals = name;
  for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  spellings.push_back(capitals);
#endif
  for (std::string const& spelling : spellings) {
    auto const error = thrown_by<cuenv::ImageError>([&] { (void)session.require_images({spelling}); });
    if (error) expect_text(error->what(), "sm_120");
  }
  return failed_expectations;
}
