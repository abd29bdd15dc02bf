#include "commands.hpp"
#include "help.hpp"
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

/// The option takes a value, which is called so in the help and in errors.
CLI::Option* takes(CLI::Option* option, std::string const& value) {
  return option->option_text(value)->type_name(value);
}

/// Options that `run` and `env` share; the texts are kept in `options` and `visible`.
CLI::Option* add_child_options(CLI::App& command, tool::ChildOptions& options, std::string& visible) {
  command.add_option("assignments", options.assignments, "variables to set; they count more than the file")
      ->option_text("NAME=VALUE...");
  CLI::Option* const list = takes(
      command.add_option("--visible", visible,
                         "the GPUs to see: indices as nvidia-smi counts, as 1,0; UUIDs; logical:0 for the first of "
                         "those that are visible now; all; none"),
      "LIST");
  takes(command.add_option("--settings", options.settings_file, "set what stands in this file, lines NAME = value"),
        "FILE");
  takes(command.add_option("--toolkit", options.toolkit,
                           "put this CUDA toolkit first in PATH and LD_LIBRARY_PATH, and name it in CUDA_HOME and "
                           "CUDA_PATH"),
        "DIR");
  command.add_flag_callback(
      "--per-rank", [&options] { options.per_rank = cuenv::RankPolicy{}; },
      "for a program under torchrun, mpirun, srun and the like: a GPU of its own for each rank of this node");
  return list;
}

/// Accepts what `parse` can read.
template <class Value>
auto readable(std::optional<Value> (*parse)(std::string_view) noexcept, std::string const& example) {
  return [parse, example](std::string const& text) {
    return parse(text) ? std::string{} : "'" + cuenv::detail::printable(text) + "': write it like " + example;
  };
}

std::string known_format(std::string const& text) {
  if (text == "sh" || text == "powershell" || text == "docker") return {};
  return "'" + cuenv::detail::printable(text) + "': write sh, powershell or docker";
}

int dispatch(Arguments arguments) {
  CLI::App app{"The CUDA environment: what the driver makes of it, and programs started in it."};
  app.name("cuenv");
  app.formatter_fn([](CLI::App const* command, std::string const& name, CLI::AppFormatMode) {
    return tool::help_text(*command, name);
  });
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", tool::version(), "print the version of cuenv");
  app.require_subcommand(1);

  tool::ExplainOptions explain_options;
  CLI::App* const explain = app.add_subcommand("explain", "what each CUDA variable of the environment does");
  explain->add_option("assignments", explain_options.assignments, "explain these, and nothing of the environment")
      ->option_text("NAME=VALUE...");
  explain->add_flag("--json", explain_options.json, "print JSON");
  explain->footer(
      "Examples:\n"
      "  cuenv explain\n"
      "  cuenv explain CUDA_CACHE_MAXSIZE=1G CUDA_LAUNCH_BLOCKING=true\n"
      "Exit code: 1 where a value or a name is not what it seems to be.");

  tool::DevicesOptions devices_options;
  std::string visible;
  CLI::App* const devices = app.add_subcommand("devices", "which logical device is which GPU");
  auto* const devices_visible = takes(
      devices->add_option("--visible", visible, "as if this were CUDA_VISIBLE_DEVICES; '' is the empty text"), "TEXT");
  auto* const topology = takes(devices->add_option("--topology", devices_options.topology,
                                                   "on the machine that this file describes in JSON, not on this one"),
                               "FILE");
  devices->add_flag("--init", devices_options.init, "start CUDA and ask it; without, it is predicted and not started")
      ->excludes(topology);
  devices->add_flag("--json", devices_options.json, "print JSON");
  devices->footer(
      "Examples:\n"
      "  cuenv devices\n"
      "  cuenv devices --visible 1,0\n"
      "  CUDA_VISIBLE_DEVICES=1 cuenv devices --init\n"
      "Exit code: 1 where an entry of the list is dropped, or CUDA would not start.");

  tool::ChildOptions child_options;
  CLI::App* const run = app.add_subcommand("run", "check settings and start a program with them");
  auto* const run_visible = add_child_options(*run, child_options, visible);
  run->footer(
      "Examples:\n"
      "  cuenv run --visible 1 CUDA_LAUNCH_BLOCKING=1 -- ./app\n"
      "  srun cuenv run --per-rank -- ./app\n"
      "Exit code: the program's; 125 where the settings are refused, 126 where it\n"
      "cannot be executed, 127 where it is not found.");

  std::string format;
  CLI::App* const env = app.add_subcommand("env", "print what run would set");
  auto* const env_visible = add_child_options(*env, child_options, visible);
  takes(env->add_option("--format", format, "sh, powershell, or docker (lines for --env-file)"), "FORMAT")
      ->required()
      ->check(known_format);
  env->footer(
      "Examples:\n"
      "  eval \"$(cuenv env --format sh --visible 1,0)\"\n"
      "  cuenv env --format docker --visible 0 >gpu.env\n"
      "Exit code: 125 where the settings are refused; then nothing is printed.");

  tool::ImagesOptions images_options;
  CLI::App* const images = app.add_subcommand("images", "which GPU code is in a file");
  images->add_option("FILE", images_options.files, "GPU code, programs, libraries, objects or archives")
      ->required()
      ->option_text("FILE...");
  images->add_flag("--deep", images_options.deep,
                   "read the whole file, for code outside the usual sections; some libraries have such for themselves");
  images->add_flag("--all", images_options.all, "list every module of a large file, not only the sums");
  images->add_flag("--json", images_options.json, "print JSON");
  images->footer(
      "Examples:\n"
      "  cuenv images kernels.fatbin\n"
      "  cuenv images --all ./app\n"
      "Exit code: 1 where code is damaged, 2 for an unreadable file.");

  tool::CheckOptions check_options;
  std::vector<std::string> gpus;
  std::string driver;
  CLI::App* const check = app.add_subcommand("check", "will the GPU code in a file run here");
  check->add_option("FILE", check_options.files, "GPU code, programs, libraries, objects or archives")
      ->required()
      ->option_text("FILE...");
  auto* const check_gpus =
      takes(check->add_option("--gpu", gpus,
                              "judge for this compute capability, as 9.0, and not for the GPUs of this machine; may be "
                              "repeated"),
            "X.Y")
          ->allow_extra_args(false)
          ->check(readable(cuenv::parse_compute_capability, "9.0"));
  auto* const check_driver = takes(check->add_option("--driver", driver,
                                                     "judge for a driver of this CUDA version, as 13.0, and not for "
                                                     "the one here"),
                                   "X.Y")
                                 ->check(readable(cuenv::parse_cuda_version, "13.0"));
  check
      ->add_flag("--load", check_options.load,
                 "start CUDA and load it on every visible GPU; not with --gpu or --driver")
      ->excludes(check_gpus)
      ->excludes(check_driver);
  check->add_flag("--partly", check_options.partly,
                  "enough where some modules of a library serve: large ones carry modules for one GPU each");
  check->add_flag("--strict", check_options.strict, "fail too where only the driver can tell (unknown)");
  check->add_flag("--all", check_options.all, "list every module");
  check->add_flag("--json", check_options.json, "print JSON");
  check->footer(
      "Examples:\n"
      "  cuenv check ./app\n"
      "  cuenv check --gpu 8.6 --gpu 9.0 --driver 13.0 kernels.fatbin\n"
      "Exit code: 0 where it will run on each GPU, as far as can be known; 1 where it\n"
      "will not, or with --strict where that is not known; 2 for an unreadable file.");

  tool::DoctorOptions doctor_options;
  CLI::App* const doctor =
      app.add_subcommand("doctor", "what is wrong, from the GPU up to a program, and what to type");
  doctor->add_option("files", doctor_options.diagnose.programs, "programs, libraries or GPU code that are to run here")
      ->option_text("FILE...");
  auto* const init = doctor->add_flag("--init", doctor_options.diagnose.start_cuda,
                                      "start CUDA too, in a child process; not with --pid or --root");
  auto* const pid = takes(doctor->add_option("--pid", doctor_options.diagnose.pid,
                                             "look at this running process, its environment and its libraries"),
                          "N")
                        ->check(CLI::Range(1L, 1L << 30))
                        ->excludes(init);
  takes(doctor->add_option("--python", doctor_options.diagnose.python_prefix,
                           "look at the framework (PyTorch) of this Python environment"),
        "PREFIX");
  takes(doctor->add_option("--root", doctor_options.root,
                           "a folder that stands for / of another machine, such as a container's"),
        "DIR")
      ->excludes(init)
      ->excludes(pid);
  doctor->add_flag("--redact", doctor_options.redact,
                   "for strangers: placeholders in place of UUIDs, host, user and home folder");
  doctor->add_flag("--all", doctor_options.all, "list every fact, not only those that fit on a line");
  doctor->add_flag("--json", doctor_options.json, "print JSON");
  doctor->footer(
      "Examples:\n"
      "  cuenv doctor\n"
      "  cuenv doctor --init ./app\n"
      "  cuenv doctor --redact --all >report.txt\n"
      "Exit code: 1 where something is broken or doubtful, 2 for an unreadable file.");

  tool::CacheOptions cache_options;
  CLI::App* const cache = app.add_subcommand("cache", "the driver's cache of code that it compiled");
  cache->add_flag("--json", cache_options.json, "print JSON");
  cache->footer(
      "Examples:\n"
      "  cuenv cache\n"
      "  cuenv cache clear --yes\n"
      "Exit code: 1 where something is wrong with it.");
  CLI::App* const clear = cache->add_subcommand("clear", "remove what the driver has written there");
  clear->add_flag("--yes", cache_options.yes, "do not ask");
  clear->footer(
      "The folder must hold what a cache holds and nothing else.\n"
      "Exit code: 1 where it refuses or you do, 2 where nobody can be asked.");

  tool::VerifyOptions verify_options;
  CLI::App* const verify = app.add_subcommand("verify", "compare this driver with what cuenv says of it");
  auto* const data = takes(
      verify->add_option("--data", verify_options.data, "compare with the values of this table, not the built-in one"),
      "FILE");
  auto* const generated =
      takes(verify->add_option("--generated", verify_options.generated,
                               "compare so many generated lists of all GPUs instead; not with --data"),
            "N")
          ->check(CLI::Range(1, 100000))
          ->excludes(data);
  takes(verify->add_option("--seed", verify_options.seed, "of the generated lists: the same gives the same lists"), "N")
      ->needs(generated);
  takes(verify->add_option("--save", verify_options.save,
                           "write what the driver made of the generated lists, under made-up UUIDs"),
        "FILE")
      ->needs(generated);
  takes(verify->add_option("--jobs", verify_options.jobs, "so many processes at a time, 8 at most unless it is given"),
        "N")
      ->check(CLI::Range(1, 64));
  verify->add_flag("--json", verify_options.json, "print JSON");
  verify->footer(
      "Examples:\n"
      "  cuenv verify\n"
      "  cuenv verify --generated 20 --seed 7\n"
      "Exit code: 1 where something differs.");

  bool jit = false;
  CLI::App* const probe = app.add_subcommand("probe", "")->group("");
  probe->add_flag("--jit", jit);

  app.footer(  // last, since commands take over what their parent has
      "Examples:\n"
      "  cuenv doctor ./app\n"
      "  cuenv explain CUDA_CACHE_MAXSIZE=1G\n"
      "  cuenv devices --visible 1,0\n"
      "  cuenv run --visible 1 -- ./app\n"
      "Exit codes: 0 fine, 1 problems found, 2 wrong use; run and env: 125 refused,\n"
      "126 cannot be executed, 127 not found.\n"
      "cuenv COMMAND --help tells more of each.");

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
    bool const is_unknown_command = app.get_subcommands().empty() && !app.remaining().empty();
    if (error.get_exit_code() == 0 && !is_unknown_command) return app.exit(error);  // help, or the version
    std::cerr << tool::misuse_text(app, error);
    return is_child ? tool::refused : tool::wrong_use;
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
