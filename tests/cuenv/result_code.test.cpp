#include <cuenv/result_code.hpp>

#include "support/catch.hpp"

#include <cuda.h>

#include <string>

TEST_CASE("result codes have the numbers and names of cuda.h", "[result_code]") {
  struct Row {
    int code;
    char const* enumerator;
  };
#define CUENV_TEST_ROW(name) Row{name, #name}
  Row const rows[] = {CUENV_TEST_ROW(CUDA_ERROR_INVALID_VALUE),
                      CUENV_TEST_ROW(CUDA_ERROR_OUT_OF_MEMORY),
                      CUENV_TEST_ROW(CUDA_ERROR_NOT_INITIALIZED),
                      CUENV_TEST_ROW(CUDA_ERROR_STUB_LIBRARY),
                      CUENV_TEST_ROW(CUDA_ERROR_DEVICE_UNAVAILABLE),
                      CUENV_TEST_ROW(CUDA_ERROR_NO_DEVICE),
                      CUENV_TEST_ROW(CUDA_ERROR_INVALID_DEVICE),
                      CUENV_TEST_ROW(CUDA_ERROR_INVALID_IMAGE),
                      CUENV_TEST_ROW(CUDA_ERROR_INVALID_CONTEXT),
                      CUENV_TEST_ROW(CUDA_ERROR_NO_BINARY_FOR_GPU),
                      CUENV_TEST_ROW(CUDA_ERROR_INVALID_PTX),
                      CUENV_TEST_ROW(CUDA_ERROR_JIT_COMPILER_NOT_FOUND),
                      CUENV_TEST_ROW(CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
                      CUENV_TEST_ROW(CUDA_ERROR_JIT_COMPILATION_DISABLED),
                      CUENV_TEST_ROW(CUDA_ERROR_INVALID_SOURCE),
                      CUENV_TEST_ROW(CUDA_ERROR_FILE_NOT_FOUND),
                      CUENV_TEST_ROW(CUDA_ERROR_NOT_FOUND),
                      CUENV_TEST_ROW(CUDA_ERROR_SYSTEM_NOT_READY),
                      CUENV_TEST_ROW(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
                      CUENV_TEST_ROW(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE),
                      CUENV_TEST_ROW(CUDA_ERROR_MPS_CONNECTION_FAILED),
                      CUENV_TEST_ROW(CUDA_ERROR_MPS_RPC_FAILURE),
                      CUENV_TEST_ROW(CUDA_ERROR_MPS_SERVER_NOT_READY),
                      CUENV_TEST_ROW(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED),
                      CUENV_TEST_ROW(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED),
                      CUENV_TEST_ROW(CUDA_ERROR_MPS_CLIENT_TERMINATED),
                      CUENV_TEST_ROW(CUDA_ERROR_UNKNOWN)};
#undef CUENV_TEST_ROW
  for (Row const& row : rows) {
    INFO(row.enumerator);
    auto const* const found = cuenv::find_result_code(row.code);
    REQUIRE(found != nullptr);
    CHECK("CUDA_ERROR_" + std::string{found->name} == row.enumerator);
  }
  // Besides these: 0, and 35, which only the runtime API has.
  CHECK(std::size(rows) + 2 == std::size(cuenv::result_codes));
}

TEST_CASE("every result code has one row, in order, with a sentence", "[result_code]") {
  int before = -1;
  for (cuenv::ResultCode const& row : cuenv::result_codes) {
    INFO(row.code);
    CHECK(row.code > before);
    CHECK_FALSE(row.meaning.empty());
    CHECK(row.meaning.back() != '.');
    before = row.code;
  }
}

TEST_CASE("a result is described by number and name", "[result_code]") {
  CHECK(cuenv::describe_result(100) == "100 (NO_DEVICE)");
  CHECK(cuenv::describe_result(12345) == "12345");
  CHECK(cuenv::find_result_code(-1) == nullptr);
}
