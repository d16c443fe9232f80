// An agent that counts words. RESTANTE_URL is the server, RESTANTE_ENROL the enrolment token that `New agent` shows (only the first time).
import { readFile } from "node:fs/promises";
import { Agent } from "restante";

const agent = await Agent.connect(process.env.RESTANTE_URL ?? "", { enrol: process.env.RESTANTE_ENROL ?? "" });

agent.onMessage(async (message) => {
  const landed = message.files.filter((file) => file.path);
  return landed.length === 0 ? `You wrote: ${message.text}` : `${landed.length} files, thank you`;
});

agent.onTask(async (task) => {
  let words = 0;
  for (const [index, file] of task.files.entries()) {
    if (task.cancelled) return;
    await task.progress(`${index} of ${task.files.length} files`);
    if (file.path) words += (await readFile(file.path, "utf8")).split(/\s+/).filter(Boolean).length;
  }
  return { text: `${words} words` };
});

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => agent.stop());
await agent.run();
