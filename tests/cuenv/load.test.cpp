#include <cuenv/load.hpp>
#include <cuenv/session.hpp>

#include "support/catch.hpp"
#include "support/described_system.hpp"
#include "support/image_builder.hpp"
#include "support/temporary_folder.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

using cuenv::Contexts;
using cuenv::logical;
using cuenv::Session;
using cuenv_tests::DescribedSystem;

std::string image(std::string const& name) { return std::string{CUENV_TEST_IMAGES} + "/" + name; }

std::string content(std::string const& path) {
  std::ifstream in{path, std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
  REQUIRE_FALSE(bytes.empty());
  return bytes;
}

/// Two H200, or an H200 and another GPU, with a session on them.
simulated::Machine two_h200() { return simulated::shipped_machine("two_h200"); }

simulated::Machine hopper_and(int major, int minor) {
  simulated::Machine machine = two_h200();
  machine.gpus[1].cc_major = major;
  machine.gpus[1].cc_minor = minor;
  machine.gpus[1].name = "Other";
  machine.gpus[1].speed = 2;
  return machine;
}

struct OnMachine {
  explicit OnMachine(simulated::Machine const& machine = two_h200(), std::map<std::string, std::string> variables = {})
      : here{machine},
        session{(here.environment.variables = std::move(variables), cuenv::Settings{}), cuenv::SessionOptions::none,
                here.system} {}
  DescribedSystem here;
  Session session;
};

std::string refusal(Session const& session, std::string const& path) {
  try {
    session.require_image(path);
  } catch (cuenv::ImageError const& error) {
    return error.what();
  }
  return "it loads";
}

std::string file_refusal(Session const& session, std::string const& path) {
  try {
    session.require_image(path);
  } catch (cuenv::FileError const& error) {
    return error.what();
  }
  return "no error";
}

/// The findings of what must throw an `E`.
template <class E, class Function>
cuenv::Diagnostics findings_of(Function const& function) {
  try {
    function();
  } catch (E const& error) {
    return error.diagnostics();
  }
  FAIL("no error");
  return {};
}

std::vector<int> codes(std::vector<cuenv::LoadResult> const& results) {
  std::vector<int> list;
  for (auto const& result : results) list.push_back(result.code);
  return list;
}

CUcontext current(Session const& session) {
  CUcontext context = nullptr;
  REQUIRE(session.driver().api.ctx_get_current(&context) == CUDA_SUCCESS);
  return context;
}

constexpr char const* good_ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n";
constexpr char const* unclosed_ptx = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n";
constexpr char const* future_ptx = ".version 19.0\n.target sm_75\n.address_size 64\n";

}  // namespace

// Files ---------------------------------------------------------------------------------------------------------------

TEST_CASE("what is no readable file is refused before the driver sees it", "[load]") {
  OnMachine const on;
  std::string const folder = on.here.root();
  std::ofstream{folder + "/empty"};
  CHECK_THAT(file_refusal(on.session, folder + "/missing"),
             ContainsSubstring("/missing: cannot be opened: ") && ContainsSubstring(cuenv_tests::no_such_file));
  CHECK_THAT(file_refusal(on.session, folder), ContainsSubstring("is a directory"));
  auto const empty = findings_of<cuenv::FileError>([&] { on.session.require_image(folder + "/empty"); });
  REQUIRE(empty.size() == 1);
  CHECK(empty[0].code == "file.empty");
  CHECK(to_string(empty[0]) == "error: " + folder + "/empty: the file is empty\n  fix: build the image again");
#ifdef _WIN32
  CHECK_THAT(file_refusal(on.session, "NUL"), ContainsSubstring("is no regular file"));
#else
  cuenv_tests::make_pipe(folder + "/fifo");
  CHECK_THAT(file_refusal(on.session, folder + "/fifo"), ContainsSubstring("is no regular file"));
  CHECK_THAT(file_refusal(on.session, "/dev/null"), ContainsSubstring("is no regular file"));
#endif
  CHECK_THAT(file_refusal(on.session, ""), ContainsSubstring("the path is empty"));
  CHECK_THROWS_AS(on.session.load_check(folder + "/missing"), cuenv::FileError);
  CHECK(simulated::state().contexts_made == 0);
}

TEST_CASE("a file that is too large to be an image is refused, and one that shrinks while it is read", "[load]") {
  cuenv_tests::TemporaryFolder const folder;
  folder.write("image", std::string(9000, 'x'));
  std::string const path = (folder.path / "image").string();
  cuenv::detail::File const file{path};
  auto const refused = [&](std::uint64_t offset, std::uint64_t size) {
    auto const findings =
        findings_of<cuenv::FileError>([&] { (void)cuenv::detail::PaddedImage::from_part(file, path, offset, size); });
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].subject == path);
    return findings[0];
  };
  constexpr std::uint64_t two_gibibytes = std::uint64_t{1} << 31;
  CHECK(refused(0, two_gibibytes + 1).code == "file.too_large");
  CHECK(to_string(refused(0, UINT64_MAX)) ==
        "error: " + path + ": the file is larger than 2 GiB\n  fix: check the path");

  CHECK(cuenv::detail::PaddedImage::from_part(file, path, 0, file.size()).bytes() == std::string(9000, 'x'));
  std::filesystem::resize_file(folder.path / "image", 8999);
  CHECK(refused(0, file.size()).code == "file.changed");
  CHECK(to_string(refused(8000, 1000)) ==
        "error: " + path + ": the file became shorter while it was read\n  fix: try again");
  CHECK(cuenv::detail::PaddedImage::from_part(file, path, 8000, 999).bytes().size() == 999);
}

TEST_CASE("what is no image is told apart from code for other GPUs", "[load]") {
  OnMachine const on;
  CHECK(codes(on.session.load_check_bytes("this is no GPU code")) == std::vector<int>{200, 200});
  CHECK(codes(on.session.load_check_bytes("")) == std::vector<int>{200, 200});
  CHECK(codes(on.session.load_check_bytes(std::string(3, '\x7f'))) == std::vector<int>{200, 200});
  std::ofstream{on.here.root() + "/garbage"} << std::string(5000, '\xee');
  CHECK_THAT(refusal(on.session, on.here.root() + "/garbage"),
             ContainsSubstring("200 (INVALID_IMAGE)") && ContainsSubstring("build or copy the file again"));
}

TEST_CASE("a refusal tells damage, what is no GPU code, and code for other GPUs apart", "[load]") {
  OnMachine const on;
  struct Row {
    std::string bytes;
    char const* code;
    char const* driver;
    char const* fix;
  };
  std::string const damaged = content(image("sm_90.fatbin")).substr(0, 90);
  std::string const library = image_builder::elf({{".nv_fatbin", content(image("sm_90.fatbin"))}});
  for (Row const& row : {
           Row{damaged, "image.damaged",
               "it was not asked: damaged code makes some drivers hang or crash (measured, driver 580)",
               "build or copy the file again"},
           Row{"hello", "image.not_loadable", "it was not asked; it would answer 200 (INVALID_IMAGE)",
               "build or copy the file again"},
           Row{library, "image.not_loadable", "it was not asked; it would answer 200 (INVALID_IMAGE)",
               "name GPU code, or use require_images for programs and libraries"},
           Row{content(image("sm_75.cubin")), "image.not_loadable",
               "209 (NO_BINARY_FOR_GPU): nothing in the image runs on this GPU",
               "build with -gencode arch=compute_90,code=sm_90"},
       }) {
    INFO(row.fix);
    auto const findings = findings_of<cuenv::ImageError>([&] { on.session.require_image_bytes(row.bytes, "kernels"); });
    REQUIRE(findings.size() == 2);  // one for each GPU
    CHECK(findings[1].severity == cuenv::Severity::error);
    CHECK(findings[1].code == row.code);
    CHECK(findings[1].subject == "kernels");
    CHECK_THAT(findings[1].what,
               Catch::Matchers::StartsWith("it does not load on logical GPU 1 (Simulated NVIDIA H200, 9.0): "));
    CHECK(findings[1].driver == row.driver);
    CHECK(findings[1].fix == row.fix);
  }
}

// Which GPUs ----------------------------------------------------------------------------------------------------------

TEST_CASE("images for the GPU load, as a file and as bytes", "[load]") {
  OnMachine const on;
  for (char const* name : {"sm_90.fatbin", "sm_90.cubin", "compute_75.ptx", "compute_75.fatbin"}) {
    INFO(name);
    CHECK(codes(on.session.load_check(image(name))) == std::vector<int>{0, 0});
    CHECK(codes(on.session.load_check_bytes(content(image(name)))) == std::vector<int>{0, 0});
    CHECK(on.session.load_check(image(name), logical(1)).loads());
    CHECK(on.session.load_check_bytes(content(image(name)), logical(0)).loads());
    CHECK_NOTHROW(on.session.require_image(image(name)));
    CHECK_NOTHROW(on.session.require_image_bytes(content(image(name)), name));
  }
  CHECK(on.session.load_check_bytes(good_ptx, logical(0)).loads());
  CHECK(simulated::state().loaded_modules == 0);
}

TEST_CASE("images for other GPUs are refused for each GPU, with what to build", "[load]") {
  OnMachine const on;
  struct Case {
    char const* name;
    int code;
    char const* words;
  };
  for (Case const& one :
       {Case{"sm_75.fatbin", 209, "nothing in the image runs on this GPU"}, Case{"sm_120.fatbin", 209, "nothing in"},
        Case{"sm_75.cubin", 209, "nothing in"}, Case{"compute_120.ptx", 218, "does not compile for this GPU"}}) {
    INFO(one.name);
    auto const results = on.session.load_check(image(one.name));
    CHECK(codes(results) == std::vector<int>{one.code, one.code});
    CHECK(results[1].device == logical(1));
    CHECK_FALSE(results[1].no_context);
    std::string const text = refusal(on.session, image(one.name));
    CHECK_THAT(
        text, ContainsSubstring(image(one.name) + ": it does not load on logical GPU 0 (Simulated NVIDIA H200, 9.0)") &&
                  ContainsSubstring("it does not load on logical GPU 1") && ContainsSubstring(one.words) &&
                  ContainsSubstring("build with -gencode arch=compute_90,code=sm_90"));
  }
}

TEST_CASE("of unlike GPUs only those are named on which the image does not load", "[load]") {
  OnMachine const on{hopper_and(12, 0)};
  CHECK(codes(on.session.load_check(image("sm_90.fatbin"))) == std::vector<int>{0, 209});
  CHECK(codes(on.session.load_check(image("sm_120.fatbin"))) == std::vector<int>{209, 0});
  CHECK(codes(on.session.load_check(image("compute_75.fatbin"))) == std::vector<int>{0, 0});
  CHECK(codes(on.session.load_check(image("compute_120.ptx"))) == std::vector<int>{218, 0});
  CHECK(on.session.load_check(image("sm_120.fatbin"), logical(1)).loads());
  CHECK(on.session.load_check(image("sm_120.fatbin"), logical(0)).code == 209);
  CHECK_THAT(refusal(on.session, image("sm_90.fatbin")),
             !ContainsSubstring("logical GPU 0") && ContainsSubstring("logical GPU 1 (Simulated Other, 12.0)") &&
                 ContainsSubstring("-gencode arch=compute_120,code=sm_120"));
}

TEST_CASE("a device that is not visible is refused", "[load]") {
  {
    OnMachine const both;
    auto const two = findings_of<cuenv::ImageError>([&] { (void)both.session.load_check_bytes(good_ptx, logical(2)); });
    CHECK(two.at(0).fix == "use 0 to 1");
  }
  OnMachine const on{two_h200(), {{"CUDA_VISIBLE_DEVICES", "1"}}};
  auto const one = findings_of<cuenv::ImageError>([&] { (void)on.session.load_check_bytes(good_ptx, logical(1)); });
  REQUIRE(one.size() == 1);
  CHECK(one[0].code == "devices.no_such_logical");
  CHECK(to_string(one[0]) == "error: logical GPU 1: this many devices are visible: 1\n  fix: use 0");
  CHECK_THROWS_AS(on.session.load_check(image("sm_90.fatbin"), logical(-1)), cuenv::ImageError);
}

// The driver's compiler -----------------------------------------------------------------------------------------------

TEST_CASE("the words of the driver's compiler are in the result and in the error", "[load]") {
  OnMachine const on;
  auto const result = on.session.load_check_bytes(unclosed_ptx, logical(0));
  CHECK(result.code == 218);
  CHECK(result.log == "simulated compiler: the text ends inside a block");
  CHECK_THROWS_WITH(on.session.require_image_bytes(unclosed_ptx, "kernels in memory"),
                    ContainsSubstring("kernels in memory: it does not load") &&
                        ContainsSubstring("simulated compiler: the text ends inside a block") &&
                        ContainsSubstring("mend the PTX"));
  CHECK(on.session.load_check_bytes(good_ptx, logical(0)).log.empty());
}

TEST_CASE("PTX of a newer toolkit is refused with 222", "[load]") {
  OnMachine const on;
  CHECK(on.session.load_check_bytes(future_ptx, logical(0)).code == 222);
  CHECK_THROWS_WITH(on.session.require_image_bytes(future_ptx, "future"),
                    ContainsSubstring("222 (UNSUPPORTED_PTX_VERSION): the PTX comes from a toolkit that is newer"));
}

TEST_CASE("an older driver refuses PTX that a newer one takes", "[load]") {
  OnMachine const on{simulated::shipped_machine("rtx_3090_4070")};
  CHECK(codes(on.session.load_check(image("compute_75.ptx"))) == std::vector<int>{222, 222});
}

TEST_CASE("a missing compiler library is explained", "[load]") {
  simulated::Machine machine = two_h200();
  machine.jit_compiler_missing = true;
  OnMachine const on{machine};
  CHECK(on.session.load_check(image("sm_90.fatbin"), logical(0)).loads());
  CHECK(on.session.load_check(image("compute_75.ptx"), logical(0)).code == 221);
  CHECK_THAT(refusal(on.session, image("compute_75.ptx")),
             ContainsSubstring("libnvidia-ptxjitcompiler.so.1 cannot be opened") &&
                 ContainsSubstring("install the complete driver"));
}

TEST_CASE("a forbidden compilation is explained, with the variables that forbid it", "[load]") {
  OnMachine const on{two_h200(), {{"CUDA_DISABLE_PTX_JIT", "1"}}};
  CHECK(on.session.load_check(image("sm_90.fatbin"), logical(0)).loads());
  CHECK(on.session.load_check(image("compute_75.fatbin"), logical(0)).code == 223);
  CHECK_THAT(refusal(on.session, image("compute_75.ptx")),
             ContainsSubstring("CUDA_DISABLE_PTX_JIT or CUDA_DISABLE_JIT forbids it") &&
                 ContainsSubstring("-gencode arch=compute_90,code=sm_90"));
}

TEST_CASE("every code that a load can give has a sentence and an advice", "[load]") {
  cuenv::Device device;
  device.name = "NVIDIA H200";
  device.compute_capability = {9, 0};
  cuenv::LoadResult result;
  for (int code :
       {1, 2, 46, 200, 209, 218, 221, 222, 223, 300, 301, 802, 803, 804, 805, 806, 807, 808, 809, 810, 999}) {
    INFO(code);
    result.code = code;
    auto const finding = cuenv::explain(result, device, {}, "kernels.fatbin");
    CHECK(finding.severity == cuenv::Severity::error);
    CHECK_THAT(finding.driver, ContainsSubstring(std::to_string(code) + " (") && ContainsSubstring("): "));
    CHECK_FALSE(finding.fix.empty());
  }
  result.code = 12345;
  CHECK(cuenv::explain(result, device, {}, "kernels.fatbin").driver == "12345");
}

// Contexts ------------------------------------------------------------------------------------------------------------

TEST_CASE("the contexts of a check are released, and none is current", "[load]") {
  OnMachine const on;
  (void)on.session.load_check(image("sm_90.fatbin"));
  (void)on.session.load_check(image("sm_75.fatbin"));
  CHECK(simulated::state().contexts_made == 4);
  CHECK(simulated::state().active_primary_contexts == 0);
  CHECK(current(on.session) == nullptr);
}

TEST_CASE("a check on one device makes one context", "[load]") {
  OnMachine const on;
  (void)on.session.load_check(image("sm_90.fatbin"), logical(1));
  CHECK(simulated::state().contexts_made == 1);
}

TEST_CASE("the contexts of a check stay when that is asked for", "[load]") {
  OnMachine const on;
  on.session.require_image(image("sm_90.fatbin"), Contexts::keep);
  CHECK(simulated::state().active_primary_contexts == 2);
  CHECK(simulated::state().loaded_modules == 0);
  CHECK(current(on.session) == nullptr);
  on.session.require_image(image("sm_90.fatbin"));
  CHECK(simulated::state().contexts_made == 2);
  CHECK(simulated::state().active_primary_contexts == 2);
}

TEST_CASE("the current context is as before, whether the image loads or not", "[load]") {
  OnMachine const on;
  auto const& api = on.session.driver().api;
  CUcontext mine = nullptr;
  REQUIRE(api.primary_ctx_retain(&mine, 0) == CUDA_SUCCESS);
  REQUIRE(api.ctx_push_current(mine) == CUDA_SUCCESS);
  (void)on.session.load_check(image("sm_90.fatbin"));
  CHECK(current(on.session) == mine);
  (void)on.session.load_check(image("sm_75.fatbin"));
  CHECK(current(on.session) == mine);
  CHECK(simulated::state().active_primary_contexts == 1);
  CUcontext popped = nullptr;
  REQUIRE(api.ctx_pop_current(&popped) == CUDA_SUCCESS);
  CHECK(popped == mine);
  CHECK(current(on.session) == nullptr);
}

TEST_CASE("where no context can be made the error says so and not that the image is wrong", "[load]") {
  struct Case {
    int code;
    char const* words;
  };
  for (Case const& one : {Case{2, "not enough free memory"}, Case{46, "exclusive mode"}, Case{802, "fabric manager"}}) {
    INFO(one.code);
    simulated::Machine machine = two_h200();
    machine.context_error = one.code;
    OnMachine const on{machine};
    auto const result = on.session.load_check(image("sm_90.fatbin"), logical(0));
    CHECK(result.code == one.code);
    CHECK(result.no_context);
    auto const findings = findings_of<cuenv::ImageError>([&] { on.session.require_image(image("sm_90.fatbin")); });
    REQUIRE(findings.size() == 2);
    CHECK(findings[1].code == "image.no_context");
    CHECK(findings[1].subject == image("sm_90.fatbin"));
    CHECK(findings[1].what == "no context could be made on logical GPU 1 (Simulated NVIDIA H200, 9.0)");
    CHECK_THAT(to_string(findings[1]), ContainsSubstring(one.words) && !ContainsSubstring("-gencode"));
    CHECK_FALSE(findings[1].fix.empty());
    CHECK(simulated::state().active_primary_contexts == 0);
    CHECK(current(on.session) == nullptr);
  }
}

TEST_CASE("several threads check at once", "[load]") {
  OnMachine const on;
  std::vector<int> failures(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        for (int code : codes(on.session.load_check(image("sm_90.fatbin")))) failures[t] += code != 0 ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failures == std::vector<int>(4));
  CHECK(simulated::state().active_primary_contexts == 0);
  CHECK(simulated::state().loaded_modules == 0);
}

TEST_CASE("named kernels are resolved, and one that is missing is named", "[load]") {
  OnMachine const on;
  cuenv::LoadOptions options;
  options.kernels = {"scale"};
  CHECK(on.session.load_check(image("sm_90.cubin"), logical(0), options).loads());
  options.kernels = {"scale", "no_such_kernel"};
  auto const result = on.session.load_check(image("sm_90.cubin"), logical(0), options);
  CHECK(result.code == 500);
  CHECK(result.function == "no_such_kernel");
  auto const findings =
      findings_of<cuenv::ImageError>([&] { on.session.require_image(image("sm_90.cubin"), options); });
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].code == "image.function_not_loadable");
  CHECK(findings[0].subject == image("sm_90.cubin"));
  CHECK(findings[0].what ==
        "its function 'no_such_kernel' does not load on logical GPU 0 (Simulated NVIDIA H200, 9.0)");
  CHECK(findings[0].driver == "500 (NOT_FOUND): there is no function of that name in the image");
  CHECK(findings[0].fix == "check the name, and whether it is extern \"C\"");
}

TEST_CASE("progress is told after each device", "[load]") {
  OnMachine const on;
  std::vector<int> told;
  cuenv::LoadOptions options;
  options.data = &told;
  options.progress = [](cuenv::LoadResult const& result, void* data) {
    static_cast<std::vector<int>*>(data)->push_back(result.device.value);
  };
  (void)on.session.load_check(image("sm_90.fatbin"), options);
  CHECK(told == std::vector<int>{0, 1});
}
