// Bulk collects rows for one table and sends them in one statement, however many they are. Belongs to one thread at a
// time.
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "store/postgres/connections/connection.h"

namespace restante::postgres {

class Bulk {
 public:
  // `sql` takes one array per column.
  Bulk(std::string_view sql, std::initializer_list<Type> columns) : sql_(sql) {
    for (const Type type : columns) columns_.emplace_back(type);
  }

  template <class... Args>
  void add(const Args&... args) {
    std::size_t at = 0;
    (columns_.at(at++).add(args), ...);
  }
  bool empty() const { return columns_.front().empty(); }
  // Does nothing when there are no rows.
  void send(Connection& connection) {
    if (empty()) return;
    connection.send_arrays(sql_, columns_);
    for (Array& column : columns_) column.clear();
  }

 private:
  std::string_view sql_;
  std::vector<Array> columns_;
};

}  // namespace restante::postgres
