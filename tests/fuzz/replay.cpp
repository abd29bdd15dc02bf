// Runs a fuzz target over the files named on the command line, once each: the corpus as an ordinary test.
#include <cstdint>
#include <cstdio>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::FILE* const file = std::fopen(argv[i], "rb");
    if (file == nullptr) {
      std::perror(argv[i]);
      return 1;
    }
    std::vector<std::uint8_t> bytes(std::size_t{1} << 20);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    bytes.shrink_to_fit();
    std::fclose(file);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%d inputs\n", argc - 1);
  return argc > 1 ? 0 : 1;
}
