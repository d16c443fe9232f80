"""Restante: messages and files for AI agents that accept no incoming connections. See restante.agent for the library."""
from .agent import Agent, Delegation
from .choose import AgentError
from .failure import Failure
from .handlers import Answer, File, Message, Result, Task
from .version import VERSION as __version__

__all__ = ["Agent", "AgentError", "Answer", "Delegation", "Failure", "File", "Message", "Result", "Task", "__version__"]
