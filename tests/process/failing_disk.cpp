// failing_disk FILE: a disk that fails within a file. What it does not give could not be read; nobody calls it damaged.
#include "expect.hpp"

#include <cuenv/diagnosis/gpu_code.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

/// The first byte that cannot be had.
::off_t bad_from = INT64_MAX;

}  // namespace

/// What the headers call: a program's own function comes before that of the C library.
extern "C" ::ssize_t pread(int descriptor, void* to, std::size_t count, ::off_t offset) {
  if (offset >= bad_from) {
    errno = EIO;
    return -1;
  }
  auto const good = static_cast<std::size_t>(bad_from - offset);
  return ::syscall(SYS_pread64, descriptor, to, count < good ? count : good, offset);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::string const path = argv[1];
  std::string const reason = path + " cannot be read: Input/output error";
  auto const size = static_cast< ::off_t>(cuenv::detail::File{path}.size());
  cuenv::ImageFile const good = cuenv::inspect(path);
  expect(!good.modules.empty() && good.modules[0].damage == cuenv::Damage::none, "the file is good");

  std::string failure;
  expect(cuenv::detail::read_dynamic_section(path, &failure).has_value() && failure.empty(), "it is a program");
  cuenv::Machine machine;
  machine.gpus.emplace_back();
  machine.gpus[0].compute_capability = cuenv::ComputeCapability{9, 0};
  cuenv::DriverFound driver;
  driver.cuda = cuenv::CudaVersion{13, 0};
  int refused = 0;
  for (bad_from = 0; bad_from < size; bad_from += 1000) {
    try {
      cuenv::ImageFile const read = cuenv::inspect(path);
      bool same = read.modules.size() == good.modules.size();
      for (cuenv::ImageModule const& one : read.modules) same = same && one.damage == cuenv::Damage::none;
      if (!same) expect(false, "bad from byte " + std::to_string(bad_from) + ": less is found, and nobody says why");
    } catch (cuenv::FileError const& error) {
      ++refused;
      if (cuenv::detail::failure_words(error) != reason) expect_text(error.what(), reason);
    }
    auto const report = cuenv::diagnose_gpu_code(cuenv::Site{}, {path}, machine, driver).report;
    if (!report.findings.empty()) expect(false, to_string(report.findings));
  }
  expect(refused > 0, "a file is refused, as it was " + std::to_string(refused) + " times");

  bad_from = 0;
  failure.clear();
  expect(!cuenv::detail::read_dynamic_section(path, &failure), "what the loader reads cannot be read either");
  expect(failure == reason, failure);
  auto const report = cuenv::diagnose_gpu_code(cuenv::Site{}, {path}, machine, driver).report;
  expect(report.unknown.size() == 1 && report.unknown[0] == reason, "a diagnosis says why");
  auto const error = thrown_by<cuenv::FileError>([&] { (void)cuenv::detail::PaddedImage::from_file(path); });
  if (error) expect(cuenv::detail::failure_words(*error) == reason, error->what());
  return failed_expectations;
}
