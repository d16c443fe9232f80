// A SQLite VFS that buffers writes to the write-ahead log. SQLite writes each page of a transaction with two small
// calls. This VFS collects them and writes them with one large call before the file is read or synced. Nothing else
// changes: a commit is still answered after its sync, a failed write is reported by that sync, and other files use
// SQLite's own functions.
#pragma once

namespace restante::sqlite {

// The name of the VFS, for opening databases. Registers it with SQLite on the first call. Thread-safe.
const char* gathering_vfs();

}  // namespace restante::sqlite
