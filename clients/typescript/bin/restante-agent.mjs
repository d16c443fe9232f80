#!/usr/bin/env node
// The agent as a program: `restante-agent --help`.
import { main } from "../dist/main.js";

process.exitCode = await main(process.argv.slice(2));
