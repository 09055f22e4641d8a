// One session for every editor: session.json has the steps, each with the expected answer. An editor's driver
// (neovim/session.lua, vscode/probe/) executes the steps in the editor, and writes the answers in the same form: lines of text.
// This program compares the two.
//   steps.mjs ANSWERS.json EDITOR        LOOPSMITH_UPDATE=1 writes the answers into session.json instead; the diff is the review
//
// A step is {what, file?, ask: VERB, at?: [LINE, IN_IT, MORE?], ...}. `at` is the first line that contains LINE (with `last`: the last one)
// and in it the place where IN_IT begins, MORE characters further on. `only`: only the lines of the answer with that text; `brief`: without
// the new text of the document. `editors`: the editors that support the step; others skip it. Verbs are in the drivers, one function each.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agree, masked } from './answers.mjs';

const path = join(dirname(fileURLToPath(import.meta.url)), 'session.json');
const [answersPath, editor] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(path, 'utf8'));
const answers = JSON.parse(readFileSync(answersPath, 'utf8'));
for (const one of answers) { if (one?.answer) { one.answer = one.answer.map(masked); } }

if (process.env.LOOPSMITH_UPDATE) {
  steps.forEach((step, i) => { if (!step.editors || step.editors.includes(editor)) { step.answer = answers[i]?.answer ?? []; } });
  const line = (step) => {
    const { answer, ...asked } = step;
    const shown = answer.map((one) => `\n    ${JSON.stringify(one)}`).join(',');
    return `  ${JSON.stringify(asked).slice(0, -1)}, "answer": [${shown}${answer.length > 0 ? '\n  ' : ''}]}`;
  };
  writeFileSync(path, `[\n${steps.map(line).join(',\n')}\n]\n`);
  console.log(`session.json now says what ${editor} says`);
  process.exit(0);
}

let failed = 0;
steps.forEach((step, i) => {
  const given = answers[i]?.answer ?? ['no answer'];
  if (step.editors && !step.editors.includes(editor)) { return; }
  if (agree(given, step.answer)) { return; }
  ++failed;
  console.error(`FAIL ${editor}: ${step.what}`);
  for (const line of step.answer) { if (!given.includes(line)) { console.error(`  - ${line}`); } }
  for (const line of given) { if (!step.answer.includes(line)) { console.error(`  + ${line}`); } }
  if (given.length === step.answer.length && given.every((line) => step.answer.includes(line))) { console.error('  the same lines in another order'); }
});
if (answers.length !== steps.length) { ++failed; console.error(`FAIL ${editor}: ${answers.length} answers to ${steps.length} steps`); }
const slowest = answers.map((one, i) => ({ what: steps[i]?.what, seconds: (one?.milliseconds ?? 0) / 1000 })).sort((a, b) => b.seconds - a.seconds).slice(0, 12);
console.log(`ok   the steps that took longest:${slowest.map(({ what, seconds }) => `\n     ${seconds.toFixed(1).padStart(5)} s  ${what}`).join('')}`);
if (failed > 0) { process.exit(1); }
console.log(`ok   the session of ${steps.length} steps: ${editor} gives the answers of session.json`);
