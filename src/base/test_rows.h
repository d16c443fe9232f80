// expect_rows: calls a function with the text of every row and compares what it returns with the value of the row. A
// row that differs fails the test, and the message contains its text and the line of the call; the other rows are
// compared too. For tests only.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace restante {

template <class Expected = std::string_view, class Function>
void expect_rows(const Function& function, std::initializer_list<std::pair<std::string, Expected>> rows,
                 std::source_location called = std::source_location::current()) {
  const ::testing::ScopedTrace call(called.file_name(), static_cast<int>(called.line()), "expect_rows");
  for (const auto& [text, expected] : rows) {
    EXPECT_EQ(function(text), expected) << "for " << ::testing::PrintToString(text);
  }
}

}  // namespace restante
