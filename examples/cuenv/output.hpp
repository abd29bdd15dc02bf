#ifndef CUENV_EXAMPLES_CUENV_OUTPUT_HPP
#define CUENV_EXAMPLES_CUENV_OUTPUT_HPP

#include <cuenv/cuenv.hpp>
#include <cuenv/nlohmann_json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// Members keep their order.
using Json = nlohmann::ordered_json;

/// "  label       text", the text wrapped at blanks to 80 columns and indented under itself, from a column on.
std::string labelled(std::string_view label, std::string_view text, std::size_t column = 13);
/// A finding in that form; its subject is named where the lines above do not name it.
enum class Subject { omitted, named };
std::string labelled(cuenv::Diagnostic const& finding, Subject subject);
/// Rows with their columns aligned, as text with a newline after each row.
std::string aligned(std::vector<std::vector<std::string>> const& rows);
/// The document as text, with a newline at its end.
std::string text_of(Json const& json);
/// The version of cuenv: "0.1.0".
std::string version();
/// True where a warning or an error is among them.
bool has_problem(cuenv::Diagnostics const& findings);
/// NAME=VALUE; throws std::runtime_error where there is no '=' or no name.
cuenv::Assignment parse_assignment(std::string const& text);

}  // namespace tool

#endif  // CUENV_EXAMPLES_CUENV_OUTPUT_HPP
