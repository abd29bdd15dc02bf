#include "commands.hpp"
#include "output.hpp"

#include <unistd.h>

#include <iostream>

namespace tool {

namespace {

/// For any GPU since compute capability 5.0, so that a driver has to compile it.
constexpr char const ptx[] = ".version 6.4\n.target sm_50\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";

}  // namespace

int probe(bool jit) {
  ::alarm(120);  // a driver that never answers must not stop the others
  cuenv::DriverLibrary const driver = cuenv::open_driver_library(cuenv::DriverOpen::load);
  cuenv::DriverApi const& api = driver.api;
  Json answer;
  answer["cuInit"] = nullptr;
  answer["cuda"] = 0;
  answer["devices"] = Json::array();
  answer["module_loading"] = nullptr;
  answer["jit"] = nullptr;
  if (!driver.loaded || cuenv::detail::lacks_a_function(api)) {
    cuenv::put_text(answer, "error",
                    std::string_view{driver.loaded ? std::string{"it lacks functions"} : driver.error});
    std::cout << text_of(answer);
    return problems;
  }
  answer["simulated"] = !driver.simulated_root.empty();
  int cuda = 0;
  if (api.driver_get_version != nullptr && api.driver_get_version(&cuda) == CUDA_SUCCESS) answer["cuda"] = cuda;
  int code = api.init(0);
  answer["cuInit"] = code;
  if (code == 0) {
    for (cuenv::Device const& device : cuenv::read_devices(api, {}, code)) answer["devices"].push_back(Json(device));
    if (code != 0) answer["cuInit"] = code;
    CUmoduleLoadingMode mode{};
    if (api.module_get_loading_mode != nullptr && api.module_get_loading_mode(&mode) == CUDA_SUCCESS) {
      answer["module_loading"] = mode == CU_MODULE_EAGER_LOADING ? "eager" : "lazy";
    }
    if (jit) {
      answer["jit"] =
          cuenv::load_on(api, cuenv::logical(0), cuenv::detail::PaddedImage{std::string_view{ptx}}, {{9, 0}, {}, {}})
              .code;
    }
  }
  std::cout << text_of(answer);
  return fine;
}

}  // namespace tool
