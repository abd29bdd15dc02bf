// json_at POINTER...: reads JSON from the standard input and prints the values at the pointers, one a line: texts as
// they are, everything else as JSON. Fails where the input is no JSON or has no such member.
#include <nlohmann/json.hpp>

#include <exception>
#include <iostream>

int main(int count, char** pointers) try {
  auto const document = nlohmann::json::parse(std::cin);
  for (int i = 1; i < count; ++i) {
    auto const& value = document.at(nlohmann::json::json_pointer{pointers[i]});
    std::cout << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
  }
  return 0;
} catch (std::exception const& error) {
  std::cerr << "json_at: " << error.what() << '\n';
  return 1;
}
