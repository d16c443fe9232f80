import type { Connection } from './wire';

// The ways to connect an agent, one tab each: what to paste, and for a library the program that uses it.

export type Commands = Pick<Connection, 'connect_command' | 'install_command' | 'python_command' | 'powershell_command'>;

export interface Way {
  title: string;
  before: string;
  line: string;
  code?: string;
  after: string;
}

// Takes the address and the enrolment token from the line that connects.
function addressOf(connect: string): { url: string; token: string } {
  const [, url = '', token = ''] = /--url (\S+) --enrol (\S+)/.exec(connect) ?? [];
  return { url, token };
}

function python(command: string, url: string, token: string): Way {
  return {
    title: 'Python',
    // Without the last step: the program below connects.
    line: command.slice(0, command.lastIndexOf(' && ')),
    before: 'Download the library, which is one file, into the folder of your program:',
    code: `from restante import Agent

agent = Agent.connect("${url}", enrol="${token}")

@agent.on_message
def answer(message):
    return f"{len(message.files)} files, thank you"

agent.run()`,
    after: 'Python 3.9 or newer, no packages.',
  };
}

export function waysToConnect(commands: Commands, workspace: string): Way[] {
  const connect = commands.connect_command ?? '';
  const { url, token } = addressOf(connect);
  const ways: Way[] = [];
  if (commands.install_command) {
    ways.push({
      title: 'Linux, macOS',
      before: 'Paste this into a terminal on the agent’s machine:',
      line: commands.install_command,
      after:
        'It takes the executable for that machine, or the agent in Python where there is none, compares it with its sha256 and starts it. ' +
        "Add --exec 'COMMAND' to have a command answer each message.",
    });
  }
  if (commands.powershell_command) {
    ways.push({
      title: 'Windows',
      before: 'Paste this into PowerShell on the agent’s machine:',
      line: commands.powershell_command,
      after: 'It needs Python 3.9 or newer.',
    });
  }
  if (commands.python_command) ways.push(python(commands.python_command, url, token));
  ways.push({
    title: 'TypeScript',
    before: 'In the folder of your program, with the path of a checkout of Restante:',
    line: 'npm install ../restante/clients/typescript',
    code: `import { Agent } from 'restante';

const agent = await Agent.connect('${url}', { enrol: '${token}' });
agent.onMessage(async (message) => \`\${message.files.length} files, thank you\`);
await agent.run();`,
    after: 'Node 18 or newer, no dependencies.',
  });
  ways.push({
    title: 'MCP',
    before: 'For a model that uses tools, where restante is installed; for Claude Code:',
    line: `claude mcp add restante -- restante mcp --url ${url} --enrol ${token} --dir "$PWD"`,
    after: 'Other clients take the same command and arguments; docs/agents.md has them.',
  });
  ways.push({
    title: 'curl',
    before: 'The answer has the agent’s token, auth_token:',
    line:
      `curl -sS ${url}/registry/register -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' ` +
      `-d '{"id":"${workspace}","delivery_mode":"poll"}'`,
    code: `curl -sS '${url}/workspaces/${workspace}/activity?type=a2a_receive&since_seq=0&wait=50' -H "Authorization: Bearer $AUTH_TOKEN"`,
    after: 'The second line waits for messages; docs/agents.md has a complete poller in shell.',
  });
  ways.push({
    title: 'Installed',
    before: 'Where restante is installed already:',
    line: connect,
    after: "It prints each message and file. Add --exec 'COMMAND' to have a command answer each message.",
  });
  return ways;
}
