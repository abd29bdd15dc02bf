#include "help.hpp"

#include "output.hpp"

#include <cuenv/detail/text.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using cuenv::detail::printable;
using cuenv::detail::starts_with;

std::vector<CLI::App const*> commands_of(CLI::App const& app) {
  return app.get_subcommands([](CLI::App const* command) { return !command->get_group().empty(); });  // "": hidden
}

/// "--gpu X.Y", "-h, --help", "FILE...".
std::string label_of(CLI::Option const& option) {
  if (option.get_positional()) return option.get_option_text();
  std::string label = option.get_name(false, true);
  if (std::size_t const comma = label.find(','); comma != std::string::npos) label.insert(comma + 1, " ");
  return label + (option.get_option_text().empty() ? "" : " ") + option.get_option_text();
}

std::string usage_of(CLI::App const& command, std::string const& name) {
  std::string text = name;
  bool const takes_command = !commands_of(command).empty();
  if (takes_command && command.get_require_subcommand_min() > 0) return text + " COMMAND [OPTIONS]";
  std::string positionals;
  for (CLI::Option const* option : command.get_options()) {
    std::string const label = label_of(*option);
    if (option->get_positional()) {
      positionals += " " + (option->get_required() ? label : "[" + label + "]");
    } else if (option->get_required()) {
      text += " " + label;
    }
  }
  text += " [OPTIONS]" + positionals;
  if (takes_command) text += " [COMMAND]";
  return command.get_name() == "run" ? text + " -- PROGRAM [ARGUMENT...]" : text;  // which the parser never sees
}

/// The name that was probably meant: one with a slip or two, or the only one that begins so. May be empty.
std::string meant(std::string_view text, std::vector<std::string> const& names) {
  std::size_t const letters = text.size() - std::min(text.find_first_not_of('-'), text.size());
  cuenv::detail::NearestName nearest{text, letters < 6 ? std::size_t{1} : std::size_t{2}};
  std::string longer;
  std::size_t so_many = 0;
  for (std::string const& name : names) {
    nearest.consider(name);
    if (letters == 0 || !starts_with(name, text)) continue;
    longer = name;
    ++so_many;
  }
  if (!nearest.found().empty()) return std::string{nearest.found()};
  return so_many == 1 ? longer : std::string{};
}

std::vector<std::string> option_names(CLI::App const& command) {
  std::vector<std::string> names;
  for (CLI::Option const* option : command.get_options()) {
    for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// An argument that the command did not take, as a sentence.
std::string unexpected(CLI::App const& command, std::string const& name, std::string const& argument) {
  bool const is_option = argument.size() > 1 && argument.front() == '-';
  std::string const typed = is_option ? argument.substr(0, argument.find('=')) : argument;
  std::vector<std::string> names;
  if (is_option) {
    names = option_names(command);
  } else {
    for (CLI::App const* other : commands_of(command)) names.push_back(other->get_name());
  }
  std::string const text = name + " has no " +
                           (is_option       ? "option"
                            : names.empty() ? "place for"
                                            : "command") +
                           " '" + printable(typed) + "'";
  for (CLI::App const* given : command.get_subcommands()) {
    auto const behind = option_names(*given);
    if (std::find(behind.begin(), behind.end(), typed) == behind.end()) continue;
    return text + ": write it behind the command, " + name + " " + given->get_name() + " " + typed;
  }
  std::string const near = meant(typed, names);
  return text + (near.empty() ? "" : ": did you mean " + near + "?");
}

}  // namespace

std::string help_text(CLI::App const& command, std::string const& name) {
  using Row = std::pair<std::string, std::string>;
  std::vector<Row> arguments;
  std::vector<Row> options;
  std::vector<Row> commands;
  for (CLI::Option const* option : command.get_options()) {
    (option->get_positional() ? arguments : options).emplace_back(label_of(*option), option->get_description());
  }
  if (!options.empty()) std::rotate(options.begin(), options.begin() + 1, options.end());  // help, to the end
  for (CLI::App const* other : commands_of(command)) commands.emplace_back(other->get_name(), other->get_description());

  std::size_t column = 0;
  for (auto const* rows : {&arguments, &options, &commands}) {
    for (Row const& row : *rows) column = std::max(column, row.first.size() + 4);
  }
  std::string text = (command.get_parent() != nullptr ? name + ": " : std::string{}) + command.get_description() +
                     "\n\nUsage: " + usage_of(command, name) + "\n";
  auto const add = [&](std::string const& heading, std::vector<Row> const& rows) {
    if (!rows.empty()) text += "\n" + heading + ":\n";
    for (Row const& row : rows) text += labelled(row.first, row.second, column);
  };
  add("Commands", commands);
  add("Arguments", arguments);
  add("Options", options);
  if (!command.get_footer().empty()) text += "\n" + command.get_footer() + "\n";
  return text;
}

std::string misuse_text(CLI::App const& app, CLI::ParseError const& error) {
  CLI::App const* command = &app;
  std::string name = app.get_name();
  while (command->remaining().empty() && !command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  auto const not_taken = command->remaining();
  std::string const more = "\n" + name + " --help tells more\n";
  if (!not_taken.empty()) return unexpected(*command, name, not_taken.front()) + more;
  bool const no_command = command == &app && dynamic_cast<CLI::RequiredError const*>(&error) != nullptr;
  return no_command ? help_text(app, name) : name + ": " + printable(error.what()) + more;
}

}  // namespace tool
