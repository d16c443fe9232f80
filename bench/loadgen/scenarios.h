// Scenarios of the load generator. Each prints one or more JSON lines on stdout and throws std::exception when the
// server misbehaves. hold and polls stop between their phases until a line arrives on stdin, so that the process that
// started them can measure the server meanwhile; upload can go on until a line arrives.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace loadgen {

struct Options {
  std::uint16_t port = 0;
  std::string path = "/health";
  std::string expect;  // the body every answer must have; empty = any
  std::size_t connections = 64;
  std::size_t pipeline = 1;  // requests in progress on each connection
  unsigned threads = 1;
  double warmup = 0.5;  // seconds
  double seconds = 2;
  std::vector<pid_t> servers;  // whose CPU time is accounted
  std::string workspaces;      // a file of lines "id token"
  std::size_t messages = 200;  // how many are sent to held polls
  double interval = 0.01;      // seconds between two messages
  std::size_t size = 1024;     // of one file
  std::size_t files = 0;       // how many; 0 = for `seconds`
  std::string targets;         // a file of lines "path token": fill writes it, fetch reads it
  bool until_line = false;     // upload goes on until a line arrives
};

// Closed loop on keep-alive connections: each sends its next request after its answer.
void rate(const Options& options);
// Connections that send one request and then stay open.
void hold(const Options& options);
// Long polls that are parked, then woken by messages, one workspace after the other.
void polls(const Options& options);
// Polls with a cursor after which there is nothing; each connection has its own workspace.
void idle_polls(const Options& options);
// Files, one in each request: into workspaces, or without workspaces as PUT under `path`.
void upload(const Options& options);
// The same, a given number of files, to have something to fetch.
void fill(const Options& options);
// Files that fill put there; every byte is compared.
void fetch(const Options& options);
// Upload, poll, fetch, ack; each connection has its own workspace.
void cycle(const Options& options);

// "GET /path HTTP/1.1" with the headers a plain client sends.
std::string get(const std::string& path, const std::string& token = {});

// Blocks until a line, or the end, arrives on stdin.
void wait_for_line();
// Does not block.
bool line_arrived();

}  // namespace loadgen
