// The write-ahead log's own way to the disk. SQLite writes each page of a transaction with two small calls; here they
// are gathered, and one large call writes them before anybody reads or syncs the file. Nothing else changes: a commit
// is still answered after its sync, a failed write is what that sync reports, and other files are SQLite's own affair.
#pragma once

namespace restante::sqlite {

// The name to open databases with. Thread-safe; registered with SQLite once.
const char* gathering_vfs();

}  // namespace restante::sqlite
