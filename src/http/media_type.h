// Media types and dispositions: the two header values with parameters.
//
// A media type is read by the grammar of RFC 9110: tokens or quoted strings with backslash escapes. A
// Content-Disposition is read as browsers and HTTP libraries write it in practice: raw UTF-8 between quotes. Go, Ruby
// and Python escape with a backslash, browsers and curl do not; a value is read in the first way, or else in the
// second. Pure functions, linear in the length of the value; they return no value when it is malformed. A parameter
// given twice is malformed: two readers that each use a different one make request smuggling possible.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace restante::http {

struct MediaType {
  struct Parameter {
    std::string name;  // lower case
    std::string value;
  };

  std::string type;     // lower case
  std::string subtype;  // lower case
  std::vector<Parameter> parameters;

  // Null when there is no parameter of that (lower case) name.
  const std::string* find(std::string_view name) const;
};

// At most 16 parameters. An unquoted value may also contain the separators that a boundary may contain: Java sends
// `boundary=----=_Part_0`.
std::optional<MediaType> parse_media_type(std::string_view value);

// 1 to 70 of RFC 2046's characters, not ending in a space. None of them is CR, LF or a quote.
bool is_boundary(std::string_view text);

// The boundary of a `multipart/form-data` request. No value for any other type, or when the boundary is missing or
// invalid.
std::optional<std::string> form_data_boundary(std::string_view content_type);

struct ContentDisposition {
  std::string type;                     // lower case
  std::optional<std::string> name;      // as bytes: `%22`, `%0D` and `%0A` decoded, and `\"` and `\\`; nothing else
  std::optional<std::string> filename;  // the same; from `filename*` when that is well-formed UTF-8 and not empty
};

// `\"` is an escaped quote if a closing quote follows it, and `\\` is then a backslash; any other backslash is itself.
// The value must not contain CR, LF or NUL; other control characters are allowed, since browsers send them unescaped. A
// file name that is given only in a form that cannot be read (a malformed `filename*`, `filename*0`) is malformed:
// without it the file would look like a text field.
std::optional<ContentDisposition> parse_content_disposition(std::string_view value);

}  // namespace restante::http
