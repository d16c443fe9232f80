#include "mcp/tools.h"

namespace restante::mcp {
namespace {

using Type = Param::Type;
using Need = Param::Need;
using Effect = Tool::Effect;

constexpr Param text(std::string_view name, Need need, std::string_view description) {
  return {Type::text, need, name, description, 0, 0, 0};
}
constexpr Param whole(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t usual,
                      std::string_view description) {
  return {Type::whole, Need::optional, name, description, least, most, usual};
}
constexpr Param kAttachments{
    Type::paths,
    Need::optional,
    "attachments",
    "Paths of files on this machine to send along, in the folders that get_workspace_info shows as send_folders; "
    "relative ones are relative to the directory this server was started in. Give paths, never the content of a file.",
    0,
    0,
    0};
constexpr Param kTarget = text("target", Need::required, "Which agent: its id or name, as list_peers shows them.");
constexpr Param kTask = text("task", Need::required,
                             "What is to be done, in words that another agent understands without knowing this "
                             "conversation.");
constexpr Param kDelegation = text("delegation_id", Need::required, "The task's id.");

constexpr Param kWaitParams[] = {
    whole("timeout_seconds", 0, 3600, 45, "How long to wait for the next message before returning without one."),
};
constexpr Param kPeekParams[] = {whole("limit", 1, 100, 20, "How many to show at most, oldest first.")};
constexpr Param kPopParams[] = {
    text("id", Need::optional, "Take it only if the oldest message has this id; without it the oldest is taken."),
};
constexpr Param kFilesParams[] = {whole("limit", 1, 1000, 50, "How many to show at most, newest first.")};
constexpr Param kSendParams[] = {
    text("message", Need::required, "The text for the person. Markdown is fine."),
    kAttachments,
};
constexpr Param kSendToAgentParams[] = {
    kTarget,
    text("message", Need::required, "The text for the other agent."),
    kAttachments,
};
constexpr Param kDelegateParams[] = {
    kTarget,
    kTask,
    kAttachments,
    whole("timeout_seconds", 1, 21'600, 45,
          "How long to wait for the result before returning without it. Many clients end a call after 60 s."),
};
constexpr Param kDelegateAsyncParams[] = {kTarget, kTask, kAttachments};
constexpr Param kStatusParams[] = {kDelegation};
constexpr Param kCompleteParams[] = {
    kDelegation,
    text("result", Need::optional, "The result, when the task is done."),
    text("error", Need::optional, "Why it cannot be done; instead of result."),
    kAttachments,
};
constexpr Param kHistoryParams[] = {
    whole("limit", 1, 500, 50, "How many messages at most, the latest ones."),
    text("before", Need::optional, "Only messages before this time (RFC 3339), to read further back."),
};

}  // namespace

// Built at the first call, because the schemas are.
std::span<const Tool> tools() {
  static const Tool kTools[] = {
      {"wait_for_message", "Wait for a message",
       "Wait for the next message, file or task result for this agent and take it from the inbox. Returns as soon "
       "as there is one, or with message null when the time is up; then call it again. Its files are "
       "on this machine already: each is one line with its path. Answer the person with "
       "send_message_to_user.",
       kWaitParams, message_schema(), Effect::consumes, wait_for_message, Tool::Begins::at_once},
      {"inbox_peek", "Look into the inbox",
       "Show the messages that wait, oldest first, without taking any. Does not wait.", kPeekParams, messages_schema(),
       Effect::reads, inbox_peek},
      {"inbox_pop", "Take the oldest message",
       "Take the oldest message from the inbox, as wait_for_message does, without waiting for a new one.", kPopParams,
       message_schema(), Effect::consumes, inbox_pop},
      {"list_files", "List received files",
       "List the files that were sent to this agent, newest first: name, size, sha256 and path on this "
       "machine.",
       kFilesParams, files_schema(), Effect::reads, list_files},
      {"send_message_to_user", "Answer the person",
       "Send a message, with files of this machine if you like, to the person behind this workspace. This is how "
       "you answer: they do not see what you only print.",
       kSendParams, sent_schema(), Effect::writes, send_message_to_user},
      {"send_message_to_agent", "Write to another agent",
       "Send a message, with files of this machine if you like, to another agent. This is how you answer a message "
       "that "
       "an agent wrote; a task is answered with complete_task. The person does not see it.",
       kSendToAgentParams, sent_schema(), Effect::writes, send_message_to_agent},
      {"delegate_task", "Give a task to another agent and wait",
       "Give a task to another agent and wait for its result, for 45 s unless you ask for another time. When the time "
       "is "
       "up first, the task continues and its result comes later as a message of type result: call wait_for_message.",
       kDelegateParams, task_schema(), Effect::writes, delegate_task},
      {"delegate_task_async", "Give a task to another agent",
       "Give a task to another agent and go on. Returns the delegation_id at once; the result comes later as a message "
       "of type result.",
       kDelegateAsyncParams, task_schema(), Effect::writes, delegate_task_async},
      {"check_task_status", "Look at a task",
       "Show a task that was given to another agent or came from one: its status and, when it has ended, its "
       "result or error.",
       kStatusParams, task_schema(), Effect::reads, check_task_status},
      {"complete_task", "Report a task's result",
       "Report the result of a task that another agent gave to this one (a message with a delegation_id), or that it "
       "cannot be done. Once for each task.",
       kCompleteParams, task_schema(), Effect::writes, complete_task},
      {"list_peers",
       "List other agents",
       "List the agents that tasks can be given to: id, name, role, whether online.",
       {},
       peers_schema(),
       Effect::reads,
       list_peers},
      {"get_workspace_info",
       "About this workspace",
       "Show who this agent is: its workspace's id, name and role, the server, where files land, how many messages "
       "wait.",
       {},
       info_schema(),
       Effect::reads,
       get_workspace_info},
      {"chat_history", "Read the conversation", "Read the messages between the person and this agent, oldest first.",
       kHistoryParams, history_schema(), Effect::reads, chat_history},
  };
  return kTools;
}

}  // namespace restante::mcp
