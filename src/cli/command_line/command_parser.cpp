#include "cli/command_line/command_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "cli/command_line/help.h"
#include "cli/terminal/terminal.h"
#include "server/config/nearest.h"
#include "server/config/values.h"
#include "server/platform/version.h"

namespace restante::cli {
namespace {

// CLI11 prints a description as one line, however long it is.
class Wrapped final : public CLI::Formatter {
 public:
  Wrapped() { column_width(28); }

  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t kWidth = 84;
    std::string out, line;
    for (const auto& word : CLI::detail::split(option->get_description(), ' ')) {
      if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
        out += line + '\n';
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    return out + line;
  }
};

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string called(const CLI::App& app) {
  return app.get_parent() ? called(*app.get_parent()) + ' ' + app.get_name() : app.get_name();
}

// The innermost command that was named.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

// CLI11 would only report that an argument was not expected.
void check_command_name(const CLI::App& app, std::span<const char* const> words) {
  std::vector<std::string> names;
  for (const auto* command : commands_of(app)) names.push_back(command->get_name());
  if (names.empty()) return;
  if (words.empty()) {
    throw UsageError(fmt::format("name a command: {} ({} --help explains them)", fmt::join(names, ", "), called(app)));
  }
  const std::string word = words.front();
  if (word.starts_with('-')) return;
  if (std::ranges::find(names, word) != names.end())
    return check_command_name(*app.get_subcommand(word), words.subspan(1));
  const auto meant = nearest(word, names);
  throw UsageError(fmt::format("unknown command {}: {}", in_quotes(word),
                               meant.empty() ? fmt::format("write one of {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean {} {}?", called(app), meant)));
}

[[noreturn]] void refuse_extra(const CLI::App& app) {
  const CLI::App& where = innermost(app);
  const auto extra = app.remaining(true);
  const auto word = extra.empty() ? std::string() : extra.front().substr(0, extra.front().find('='));
  const auto meant = word.starts_with('-') ? nearest(word, long_names(where)) : std::string();
  throw UsageError(fmt::format(
      "{} does not take {}: {}", called(where), in_quotes(word),
      meant.empty() ? fmt::format("see {} --help", called(where)) : fmt::format("did you mean {}?", meant)));
}

// "--to: mars not in {dir,s3}" as a sentence; no value for any other error.
std::optional<std::string> one_of_few(const std::string& what) {
  const auto colon = what.find(": ");
  const auto not_in = what.find(" not in {");
  if (colon == std::string::npos || not_in == std::string::npos || not_in < colon || what.back() != '}') return {};
  std::string choices = what.substr(not_in + 9, what.size() - not_in - 10);
  for (auto comma = choices.find(','); comma != std::string::npos; comma = choices.find(',', comma + 2)) {
    choices.replace(comma, 1, choices.find(',', comma + 1) == std::string::npos ? " or " : ", ");
  }
  return fmt::format("{} is {}, not {}", what.substr(0, colon), choices, what.substr(colon + 2, not_in - colon - 2));
}

// Throws CLI11's error, as our own sentence where CLI11's is terse.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  if (!app.remaining(true).empty()) refuse_extra(app);
  const CLI::App& where = innermost(app);
  const auto help = fmt::format("see {} --help", called(where));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const std::string what = error.what(), name = what.substr(0, what.find(':'));
    const auto* option = where.get_option_no_throw(name);
    if (option)
      throw UsageError(fmt::format("{} {}: {}", name, option->count() > 1 ? "is given twice" : "needs a value", help));
  }
  if (const auto given = one_of_few(error.what())) throw UsageError(fmt::format("{}: {}", *given, help));
  throw UsageError(fmt::format("{}: {}", error.what(), help));
}

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void prepare(CLI::App& app, const std::string& page) {
  app.formatter(std::make_shared<Wrapped>());
  app.require_subcommand(1)->footer(details(page));
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.set_version_flag("--version", version_line(), "Print version, commit and compiler, and exit.");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
}

CLI::App& add_command(CLI::App& app, const std::string& called_so) {
  auto* command = app.add_subcommand(called_so.substr(called_so.rfind(' ') + 1), std::string(summary(called_so)));
  command->group("Commands")->footer(details(called_so));
  return *command;
}

CLI::App& add_command(CLI::App& app, const std::string& called_so, CommandLine& to, Runs<CommandLine>* run,
                      RemoteOptions* options) {
  auto& command = add_command(app, called_so);
  command.callback([&to, called_so, run, options] {
    to.called = called_so;
    to.run = run;
    if (options) add_environment(*options);
  });
  return command;
}

int print_text(const CommandLine& asked) { return print(asked.text); }

std::optional<std::string> parse_words(CLI::App& app, int argc, const char* const* argv) {
  check_command_name(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return colourful(STDOUT_FILENO) ? with_bold_headings(app.help()) : app.help();
  } catch (const CLI::CallForVersion&) {
    return version_line() + '\n';
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  return {};
}

}  // namespace restante::cli
