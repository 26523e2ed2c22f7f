// Runs every file named on the command line through LLVMFuzzerTestOneInput once: what a
// fuzzer found stays a test, also where there is no libFuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "no inputs: the corpus is empty\n");
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
      return 1;
    }
    // Printed first: a crash is the last name in the log.
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // A copy of exactly the input's size, so that a sanitizer sees a read behind its end.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%d inputs replayed\n", argc - 1);
  return 0;
}
