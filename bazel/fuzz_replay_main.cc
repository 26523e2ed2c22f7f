// Passes every file named on the command line to LLVMFuzzerTestOneInput once, so that inputs found
// by a fuzzer serve as tests even without libFuzzer.
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
    // Print the name first, so that after a crash it is the last name in the log.
    std::printf("%s\n", argv[i]);
    std::fflush(stdout);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    // Copy the input into memory of exactly its size, so that a sanitizer detects reads past its
    // end.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%d inputs replayed\n", argc - 1);
  return 0;
}
