#include "commands.hpp"
#include "output.hpp"

#include <cuenv/cuenv.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The arguments before "--" for the parser, and those behind it. The parser has rules of its own for values that are
/// empty or begin with a dash, so a value of --visible is given to it as "--visible=:VALUE", and the colon is taken off
/// again afterwards.
struct Arguments {
  std::vector<std::string> own;
  std::vector<std::string> command;
  bool has_command = false;
};

Arguments split(int count, char** texts) {
  Arguments arguments;
  int i = 1;
  for (; i < count && std::string{texts[i]} != "--"; ++i) {
    std::string text{texts[i]};
    std::string const visible = "--visible";
    if (text == visible && i + 1 < count && std::string{texts[i + 1]} != "--") {
      text = visible + "=:" + texts[++i];
    } else if (text.compare(0, visible.size() + 1, visible + "=") == 0) {
      text.insert(visible.size() + 1, ":");
    }
    arguments.own.push_back(text);
  }
  arguments.has_command = i < count;
  for (++i; i < count; ++i) arguments.command.emplace_back(texts[i]);
  return arguments;
}

std::optional<std::string> typed(CLI::Option const* option, std::string const& text) {
  if (option->count() == 0) return std::nullopt;
  return text.substr(1);
}

/// An option that is given with an empty value, as by "$UNSET" in a script. The parser takes the next argument for its
/// value, or the option for not given, and what was meant is lost either way.
void refuse_empty_values(std::vector<std::string> const& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for (std::string const option :
         {"--toolkit", "--settings", "--topology", "--data", "--save", "--root", "--python"}) {
      bool const empty = arguments[i] == option + "=" ||
                         (arguments[i] == option && i + 1 < arguments.size() && arguments[i + 1].empty());
      if (empty) throw CLI::ArgumentMismatch{option + ": its value is empty"};
    }
  }
}

/// Options that `run` and `env` share; the texts are kept in `options` and `visible`.
CLI::Option* add_child_options(CLI::App& command, tool::ChildOptions& options, std::string& visible) {
  command.add_option("assignments", options.assignments, "settings")->option_text("NAME=VALUE...");
  command.add_option("--settings", options.settings_file, "a file with lines NAME = value")->option_text("FILE");
  command.add_option("--toolkit", options.toolkit, "put this CUDA toolkit first in PATH and LD_LIBRARY_PATH")
      ->option_text("DIR");
  command.add_flag_callback(
      "--per-rank", [&options] { options.per_rank = cuenv::RankPolicy{}; },
      "a GPU of its own for each rank of a launcher on this node");
  return command.add_option("--visible", visible, "the GPUs to see: 1,0 as nvidia-smi counts, UUIDs, all or none")
      ->option_text("LIST");
}

/// Accepts what `parse` can read.
template <class Value>
auto readable(std::optional<Value> (*parse)(std::string_view) noexcept, std::string const& example) {
  return [parse, example](std::string const& text) {
    return parse(text) ? std::string{} : "'" + cuenv::detail::printable(text) + "': write it like " + example;
  };
}

int dispatch(Arguments arguments) {
  CLI::App app{"The CUDA environment: what the driver makes of it, and programs started in it."};
  app.name("cuenv");
  app.set_version_flag("--version", tool::version());
  app.require_subcommand(1);

  tool::ExplainOptions explain_options;
  CLI::App* const explain = app.add_subcommand("explain", "what each CUDA variable of the environment does");
  explain->add_option("assignments", explain_options.assignments, "these instead of the environment")
      ->option_text("NAME=VALUE...");
  explain->add_flag("--json", explain_options.json, "print JSON");

  tool::DevicesOptions devices_options;
  std::string visible;
  CLI::App* const devices = app.add_subcommand("devices", "which logical device is which GPU");
  auto* const devices_visible =
      devices->add_option("--visible", visible, "this value of CUDA_VISIBLE_DEVICES, '' too")->option_text("TEXT");
  auto* const topology =
      devices->add_option("--topology", devices_options.topology, "a machine described in JSON")->option_text("FILE");
  devices->add_flag("--init", devices_options.init, "start CUDA and ask it")->excludes(topology);
  devices->add_flag("--json", devices_options.json, "print JSON");

  tool::ChildOptions child_options;
  CLI::App* const run = app.add_subcommand("run", "check settings and start a program with them");
  auto* const run_visible = add_child_options(*run, child_options, visible);
  run->footer("The program follows behind --. Exit codes: the program's; 125 refused, 126 and 127 as env has them.");

  std::string format;
  CLI::App* const env = app.add_subcommand("env", "print what run would set");
  auto* const env_visible = add_child_options(*env, child_options, visible);
  env->add_option("--format", format, "sh, powershell, or docker (lines for --env-file)")
      ->required()
      ->option_text("FORMAT")
      ->check(CLI::IsMember{{"sh", "powershell", "docker"}});

  tool::ImagesOptions images_options;
  CLI::App* const images = app.add_subcommand("images", "which GPU code is in a file");
  images->add_option("files", images_options.files, "GPU code, programs, libraries, objects or archives")
      ->required()
      ->option_text("FILE...");
  images->add_flag("--deep", images_options.deep, "search outside the usual sections too");
  images->add_flag("--all", images_options.all, "list every module of a large file too");
  images->add_flag("--json", images_options.json, "print JSON");

  tool::CheckOptions check_options;
  std::vector<std::string> gpus;
  std::string driver;
  CLI::App* const check = app.add_subcommand("check", "will the GPU code in a file run here");
  check->add_option("files", check_options.files, "GPU code, programs, libraries, objects or archives")
      ->required()
      ->option_text("FILE...");
  auto* const check_gpus = check->add_option("--gpu", gpus, "judge for this compute capability; may be repeated")
                               ->option_text("X.Y")
                               ->allow_extra_args(false)
                               ->check(readable(cuenv::parse_compute_capability, "9.0"));
  auto* const check_driver = check->add_option("--driver", driver, "judge for a driver of this CUDA version")
                                 ->option_text("X.Y")
                                 ->check(readable(cuenv::parse_cuda_version, "13.0"));
  check->add_flag("--load", check_options.load, "load it, on every visible GPU")
      ->excludes(check_gpus)
      ->excludes(check_driver);
  check->add_flag("--partly", check_options.partly, "enough when a library serves with some of its modules");
  check->add_flag("--all", check_options.all, "list every module");
  check->add_flag("--json", check_options.json, "print JSON");

  tool::DoctorOptions doctor_options;
  CLI::App* const doctor =
      app.add_subcommand("doctor", "what is wrong, from the GPU up to a program, and what to type");
  doctor->add_option("files", doctor_options.diagnose.programs, "programs, libraries or GPU code that are to run here")
      ->option_text("FILE...");
  auto* const init =
      doctor->add_flag("--init", doctor_options.diagnose.start_cuda, "start CUDA too, in a child process");
  auto* const pid = doctor->add_option("--pid", doctor_options.diagnose.pid, "look at this running process")
                        ->option_text("N")
                        ->check(CLI::Range(1L, 1L << 30))
                        ->excludes(init);
  doctor->add_option("--python", doctor_options.diagnose.python_prefix, "look at the framework of this environment")
      ->option_text("PREFIX");
  doctor->add_option("--root", doctor_options.root, "a folder that stands for / of another machine")
      ->option_text("DIR")
      ->excludes(init)
      ->excludes(pid);
  doctor->add_flag("--redact", doctor_options.redact, "leave out who and where: UUIDs, host, user, home");
  doctor->add_flag("--all", doctor_options.all, "list every fact");
  doctor->add_flag("--json", doctor_options.json, "print JSON");

  tool::CacheOptions cache_options;
  CLI::App* const cache = app.add_subcommand("cache", "the driver's cache of code that it compiled");
  cache->add_flag("--json", cache_options.json, "print JSON");
  CLI::App* const clear = cache->add_subcommand("clear", "remove what the driver has written there");
  clear->add_flag("--yes", cache_options.yes, "without a question");

  tool::VerifyOptions verify_options;
  CLI::App* const verify = app.add_subcommand("verify", "compare this driver with what cuenv says of it");
  auto* const data = verify->add_option("--data", verify_options.data, "another table of values")->option_text("FILE");
  auto* const generated = verify->add_option("--generated", verify_options.generated, "so many generated lists instead")
                              ->option_text("N")
                              ->check(CLI::Range(1, 100000))
                              ->excludes(data);
  verify->add_option("--seed", verify_options.seed, "of the generated lists")->option_text("NUMBER")->needs(generated);
  verify->add_option("--save", verify_options.save, "write what the driver made of them, under made-up UUIDs")
      ->option_text("FILE")
      ->needs(generated);
  verify->add_option("--jobs", verify_options.jobs, "processes at a time")->option_text("N")->check(CLI::Range(1, 64));
  verify->add_flag("--json", verify_options.json, "print JSON");

  bool jit = false;
  CLI::App* const probe = app.add_subcommand("probe", "")->group("");
  probe->add_flag("--jit", jit);

  bool const is_child = !arguments.own.empty() && (arguments.own[0] == "run" || arguments.own[0] == "env");
  try {
    refuse_empty_values(arguments.own);
    std::vector<std::string> reversed{arguments.own.rbegin(), arguments.own.rend()};  // as the parser wants them
    app.parse(reversed);
    if (arguments.has_command && !run->parsed()) throw CLI::ArgumentMismatch{"only run takes a program behind --"};
    if (run->parsed() && arguments.command.empty()) {
      throw CLI::ArgumentMismatch{"give the program behind --: cuenv run --visible 0 -- PROGRAM"};
    }
  } catch (CLI::ParseError const& error) {
    int const code = app.exit(error);
    return code == 0 ? tool::fine : is_child ? tool::refused : tool::wrong_use;
  }

  if (explain->parsed()) return tool::explain(explain_options);
  if (devices->parsed()) {
    devices_options.visible = typed(devices_visible, visible);
    return tool::devices(devices_options);
  }
  if (images->parsed()) return tool::images(images_options);
  if (check->parsed()) {
    for (std::string const& gpu : gpus) check_options.gpus.push_back(*cuenv::parse_compute_capability(gpu));
    check_options.driver = cuenv::parse_cuda_version(driver);
    return tool::check(check_options);
  }
  if (doctor->parsed()) return tool::doctor(doctor_options);
  if (cache->parsed()) {
    cache_options.clear = clear->parsed();
    return tool::cache(cache_options);
  }
  child_options.visible = typed(run->parsed() ? run_visible : env_visible, visible);
  if (run->parsed()) return tool::run(child_options, arguments.command);
  if (env->parsed()) return tool::env(child_options, format);
  if (verify->parsed()) return tool::verify(verify_options);
  return tool::probe(jit);
}

}  // namespace

int main(int count, char** texts) {
  try {
    int const code = dispatch(split(count, texts));
    // Else a full disk would look like a shorter answer: of `env` a script would evaluate what there is.
    if (!std::cout.flush()) throw std::runtime_error{"the output cannot be written"};
    return code;
  } catch (std::exception const& error) {
    std::cerr << "cuenv: " << error.what() << '\n';
    bool const is_child = count > 1 && (std::string{texts[1]} == "run" || std::string{texts[1]} == "env");
    return is_child ? tool::refused : tool::wrong_use;
  }
}
