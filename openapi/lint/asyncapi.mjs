// Validates an AsyncAPI document with AsyncAPI's own parser. A warning counts as an error.
import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';

const WARNING = 1; // 0 is an error
const file = process.argv[2];
const { document, diagnostics } = await new Parser().parse(readFileSync(file, 'utf8'));
const faults = diagnostics.filter(({ severity }) => severity <= WARNING);
for (const { code, path, message } of faults) {
  console.error(`${file}: ${path.join('/')}: ${message} (${code})`);
}
process.exitCode = document && faults.length === 0 ? 0 : 1;
