#ifndef CUENV_TESTS_SIMULATED_IMAGE_HPP
#define CUENV_TESTS_SIMULATED_IMAGE_HPP

#include <string>
#include <vector>

/// What the driver answers to a GPU image: a fatbin container, a cubin or PTX text, given by an address without a
/// length. Written from the measured answers of driver 580 on a device of compute capability 9.0; nothing is
/// decompressed, so of a packed payload only the entry header and the frame around it are believed.
namespace simulated {

struct ImageTarget {
  int cc_major = 0;
  int cc_minor = 0;
  int cuda_version = 0;  // of the driver: 13000
  bool disable_jit = false;
  bool force_jit = false;
  bool jit_compiler_missing = false;
};

struct LoadedImage {
  int result = 0;                    // CUresult of the load
  std::string log;                   // why, in words
  std::vector<std::string> kernels;  // as far as they can be read
};

/// Never reads memory that is not mapped, whatever the image says about its own size.
[[nodiscard]] LoadedImage load_image(void const* image, ImageTarget const& target);

/// The newest PTX that the compiler of a driver of this CUDA version reads, as major * 10 + minor.
[[nodiscard]] int newest_ptx(int cuda_version);

}  // namespace simulated

#endif  // CUENV_TESTS_SIMULATED_IMAGE_HPP
