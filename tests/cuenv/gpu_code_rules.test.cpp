#include <cuenv/gpu_code_rules.hpp>

#include "support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace cuenv;

namespace {

constexpr int known_gpus[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121};

/// Every known GPU for which `fits` says yes, in order.
template <class Fits>
std::vector<int> gpus_where(Fits fits) {
  std::vector<int> gpus;
  for (int const sm : known_gpus) {
    if (fits(ComputeCapability::from_sm(sm)) == Fit::yes) gpus.push_back(sm);
  }
  return gpus;
}
std::vector<int> running_cubin(int sm, char suffix = 0) {
  return gpus_where([&](ComputeCapability gpu) { return fit_of_cubin({sm, suffix}, gpu); });
}
std::vector<int> compiling_ptx(int sm, char suffix = 0) {
  return gpus_where([&](ComputeCapability gpu) { return fit_of_ptx({sm, suffix}, gpu); });
}

using List = std::vector<int>;

}  // namespace

TEST_CASE("SASS runs within its major revision, upwards", "[rules]") {
  CHECK(running_cubin(70) == List{70, 75});
  CHECK(running_cubin(75) == List{75});
  CHECK(running_cubin(80) == List{80, 86, 88, 89});
  CHECK(running_cubin(86) == List{86, 88, 89});
  CHECK(running_cubin(89) == List{89});
  CHECK(running_cubin(90) == List{90});
  CHECK(running_cubin(100) == List{100, 103, 107});
  CHECK(running_cubin(103) == List{103, 107});
  CHECK(running_cubin(110) == List{110});
  CHECK(running_cubin(120) == List{120, 121});
}

TEST_CASE("architecture-specific code runs on one GPU only", "[rules]") {
  CHECK(running_cubin(90, 'a') == List{90});
  CHECK(running_cubin(100, 'a') == List{100});
  CHECK(compiling_ptx(90, 'a') == List{90});
  CHECK(compiling_ptx(101, 'a') == List{110});
  CHECK(fit_of_cubin({100, 'a'}, {10, 3}) == Fit::other_specific);
}

TEST_CASE("family-specific code runs in its family, upwards", "[rules]") {
  for (auto const& code : {running_cubin, compiling_ptx}) {
    CHECK(code(100, 'f') == List{100, 103, 107});
    CHECK(code(103, 'f') == List{103, 107});
    CHECK(code(107, 'f') == List{107});
    CHECK(code(110, 'f') == List{110});
    CHECK(code(101, 'f') == List{110});
    CHECK(code(120, 'f') == List{120, 121});
    CHECK(code(121, 'f') == List{121});
    CHECK(code(90, 'f').empty());
  }
}

TEST_CASE("plain PTX compiles for every GPU that is not below it", "[rules]") {
  CHECK(compiling_ptx(50).size() == std::size(known_gpus));
  CHECK(compiling_ptx(90) == List{90, 100, 103, 107, 110, 120, 121});
  CHECK(compiling_ptx(101) == List{103, 107, 110, 120, 121});
  CHECK(compiling_ptx(121) == List{121});
  CHECK(fit_of_ptx({100, 0}, {9, 0}) == Fit::ptx_above_device);
}

TEST_CASE("where sources contradict each other the answer is doubtful", "[rules]") {
  CHECK(fit_of_cubin({80, 0}, {8, 7}) == Fit::doubtful);
  CHECK(fit_of_cubin({87, 0}, {8, 9}) == Fit::doubtful);
  CHECK(fit_of_cubin({87, 0}, {8, 7}) == Fit::yes);
  CHECK(fit_of_cubin({101, 0}, {11, 0}) == Fit::doubtful);
  CHECK(fit_of_cubin({110, 0}, {10, 1}) == Fit::doubtful);
}

TEST_CASE("families of GPUs to come are not known", "[rules]") {
  CHECK(fit_of_cubin({130, 'f'}, {13, 0}) == Fit::yes);
  CHECK(fit_of_cubin({130, 'f'}, {13, 1}) == Fit::unknown_family);
  CHECK(fit_of_cubin({130, 'f'}, {14, 0}) == Fit::other_family);
  CHECK(fit_of_cubin({130, 0}, {13, 1}) == Fit::yes);
}

TEST_CASE("the newest PTX of a driver", "[rules]") {
  CHECK(newest_ptx({13, 0}) == PtxVersion{9, 0});
  CHECK(newest_ptx({12, 9}) == PtxVersion{8, 8});
  CHECK(newest_ptx({12, 6}) == PtxVersion{8, 5});
  CHECK(newest_ptx({11, 8}) == PtxVersion{7, 8});
  CHECK(newest_ptx({10, 2}) == PtxVersion{6, 5});
  CHECK(newest_ptx({1, 0}) == PtxVersion{0, 0});
  CHECK(newest_ptx({14, 2}) == PtxVersion{10, 2});
}

TEST_CASE("the tables are in order", "[rules]") {
  for (std::size_t i = 1; i < cuda_releases.size(); ++i) {
    CHECK(cuda_releases[i - 1].cuda < cuda_releases[i].cuda);
    CHECK_FALSE(cuda_releases[i].ptx < cuda_releases[i - 1].ptx);
  }
  for (std::size_t i = 1; i < target_introductions.size(); ++i) {
    CHECK(target_introductions[i - 1].sm < target_introductions[i].sm);
  }
  CHECK(first_release_with({9, 2})->driver_branch == 595);
  CHECK(first_release_with({8, 5})->cuda == CudaVersion{12, 5});
  CHECK_FALSE(first_release_with({99, 0}));
  CHECK(oldest_ptx({90, 'a'}) == PtxVersion{8, 0});
  CHECK(oldest_ptx({100, 'f'}) == PtxVersion{8, 8});
  CHECK(oldest_ptx({999, 0}) == PtxVersion{});
}

TEST_CASE("CUDA versions", "[rules]") {
  CHECK(CudaVersion::from_number(13000) == CudaVersion{13, 0});
  CHECK(CudaVersion::from_number(12080) == CudaVersion{12, 8});
  CHECK(parse_cuda_version("12.8") == CudaVersion{12, 8});
  for (std::string_view const text : {"", "12", "12.", ".8", "12.8.1", "12.8 ", "-12.8", "a.b"}) {
    CAPTURE(std::string{text});
    CHECK_FALSE(parse_cuda_version(text));
  }
  CHECK(to_string(CudaVersion{13, 1}) == "13.1");
}
