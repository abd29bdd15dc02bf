#ifndef CUENV_EXAMPLES_CUENV_COMMANDS_HPP
#define CUENV_EXAMPLES_CUENV_COMMANDS_HPP

#include <cuenv/cuda_version.hpp>
#include <cuenv/diagnose.hpp>
#include <cuenv/gpu.hpp>
#include <cuenv/rank_devices.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The commands of the tool: each takes what was typed, prints, and returns the exit code of the program.

namespace tool {

/// 0 fine, 1 problems found, 2 wrong use. `run` and `env`: 125 refused, 126 cannot be executed, 127 not found.
enum Exit { fine = 0, problems = 1, wrong_use = 2, refused = 125, not_executable = 126, not_found = 127 };

struct ExplainOptions {
  std::vector<std::string> assignments;  // "NAME=VALUE"; empty: the environment
  bool json = false;
};
int explain(ExplainOptions const& options);

struct DevicesOptions {
  std::optional<std::string> visible;  // in place of the environment's CUDA_VISIBLE_DEVICES
  std::string topology;                // a file that describes a machine
  bool init = false;
  bool json = false;
};
int devices(DevicesOptions const& options);

struct ChildOptions {
  std::vector<std::string> assignments;
  std::optional<std::string> visible;
  std::string settings_file;
  std::string toolkit;
  std::optional<cuenv::RankPolicy> per_rank;
};
/// Returns only when the program could not be executed.
int run(ChildOptions const& options, std::vector<std::string> const& command);
int env(ChildOptions const& options, std::string const& format);

struct ImagesOptions {
  std::vector<std::string> files;
  bool deep = false;
  bool all = false;  // list every module of a large file too
  bool json = false;
};
int images(ImagesOptions const& options);

struct CheckOptions {
  std::vector<std::string> files;
  std::vector<cuenv::ComputeCapability> gpus;  // empty: this machine's
  std::optional<cuenv::CudaVersion> driver;    // none: this machine's
  bool load = false;                           // ask the driver
  bool partly = false;                         // a library need not serve with every module
  bool strict = false;                         // what is not known is a problem
  bool all = false;
  bool json = false;
};
int check(CheckOptions const& options);

struct DoctorOptions {
  cuenv::DiagnoseOptions diagnose;
  std::string root;  // a folder that stands for "/"; empty: this machine
  bool redact = false;
  bool all = false;  // every fact, not only those that fit on a line
  bool json = false;
};
int doctor(DoctorOptions const& options);

struct CacheOptions {
  bool clear = false;
  bool yes = false;  // clear without a question
  bool json = false;
};
int cache(CacheOptions const& options);

struct VerifyOptions {
  std::string data;           // a table in place of the built-in one
  std::size_t generated = 0;  // so many generated lists in place of a table
  std::uint64_t seed = 1;     // of them
  std::string save;           // write what the driver made of them here, as a table
  unsigned jobs = 0;
  bool json = false;
};
int verify(VerifyOptions const& options);
/// What `verify` starts for each value: starts CUDA and prints what it sees. With `jit` it compiles PTX besides.
int probe(bool jit);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_COMMANDS_HPP
