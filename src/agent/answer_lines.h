// Answer lines: how a program that gets deliveries as JSON lines answers them: one JSON object a line,
// {"reply_to":"<id of the delivery>","text":"…","files":["path",…]}. Without reply_to it is a message to the person;
// with "failed":true the task that it answers has failed.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "agent/stop.h"

namespace restante::agent {

struct AnswerLine {
  std::string reply_to;
  std::string text;
  std::vector<std::string> files;  // paths
  bool failed = false;
};

struct BadAnswerLine {
  std::string sentence;
};
[[noreturn]] void throw_exception_from_error(const BadAnswerLine& error, const boost::source_location&);

// Pure. A member that is not known is an error: it may be a typo.
boost::system::result<AnswerLine, BadAnswerLine> parse_answer_line(std::string_view line);

// Calls `take` for each line until the input ends or stop is requested. A line above 4 MiB is given as it is cut, so
// that it is refused.
void read_lines(int descriptor, const Stop& stop, const std::function<void(std::string_view line)>& take);

}  // namespace restante::agent
