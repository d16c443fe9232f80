#include "client/form.h"

#include <gmock/gmock.h>

#include "base/test_folder.h"

namespace restante::client {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class FormTest : public testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& content) const { return folder_.make(name, content); }
  template <class Action>
  static std::string refusal(const Action& action) {
    try {
      action();
    } catch (const UnreadableFile& file) {
      return file.what();
    }
    return {};
  }
  static std::string read_all(Form& form) {
    std::string all;
    std::vector<char> buffer(100);
    while (const std::size_t got = form.read(buffer)) all.append(buffer.data(), got);
    return all;
  }

  TestFolder folder_;
};

TEST_F(FormTest, ContainsEveryFileAndHasTheReportedLength) {
  Form form({describe_file(make("a.txt", "hello")), describe_file(make("b", std::string(1000, '\0')))});
  const auto whole = read_all(form);
  EXPECT_EQ(whole.size(), form.length());
  EXPECT_THAT(whole, AllOf(HasSubstr("filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--"),
                           HasSubstr("filename=\"b\"\r\nContent-Type: application/octet-stream")));
  form.rewind();
  EXPECT_EQ(read_all(form), whole);
}

TEST_F(FormTest, AFileThatNoServerWouldAcceptIsRefusedByName) {
  EXPECT_THAT(refusal([&] { describe_file(folder_.string()); }), HasSubstr("is not a file"));
  EXPECT_THAT(refusal([&] { describe_file(make("empty", "")); }), AllOf(HasSubstr("/empty: "), HasSubstr("is empty")));
  EXPECT_THAT(refusal([&] { describe_file(folder_ / "none"); }), HasSubstr("/none: No such file"));
}

TEST_F(FormTest, AFileThatShrinksWhileItIsSentIsNamed) {
  Form form({describe_file(make("a.txt", "hello"))});
  make("a.txt", "he");
  EXPECT_THAT(refusal([&] { read_all(form); }), AllOf(HasSubstr("a.txt: "), HasSubstr("shorter")));
}

}  // namespace
}  // namespace restante::client
