#!/usr/bin/env node
// The pictures of VS Code in README and docs/editor.md: hero (an illegal step with its reason and repairs), editor (a schedule and the program
// beside it), loops (the loop tree and a choice), assembly, tuning. Each waits until its content is shown, so a picture of a broken feature is
// not made. Side bars, panels and notifications are hidden.   pictures.mjs [FOLDER]   (docs/)
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packExtension } from './extension.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../../..');
const pictures = resolve(process.argv[2] ?? join(root, 'docs'));
const tools = process.env.LOOPSMITH_EDITOR_TOOLS ?? resolve(root, '../shared/tools');
const loopsmith = process.env.LOOPSMITH ?? join(root, 'build/release/bin/loopsmith');
for (const needed of [join(tools, 'vscode-e2e/install.sh'), loopsmith]) {
  if (!existsSync(needed)) {
    console.error(`e2e: ${needed} is missing; set LOOPSMITH_EDITOR_TOOLS (the editors' test tools) or LOOPSMITH (the program)`);
    process.exit(1);
  }
}
execFileSync(join(tools, 'vscode-e2e/install.sh'), { stdio: ['ignore', 'ignore', 'inherit'] });
const { launch } = await import(join(tools, 'vscode-e2e/lib.mjs'));

const program = `@T.prim_func
def matmul(
    A: T.Buffer((512, 512), "float32"),
    B: T.Buffer((512, 512), "float32"),
    C: T.Buffer((512, 512), "float32"),
):
    for i, j, k in T.grid(512, 512, 512):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@ls.schedule(matmul)
def by_hand(sch: tir.Schedule) -> None:
    c = sch.get_block("C")
    i, j, k = sch.get_loops(c)
    i0, i1 = sch.split(i, factors=[None, 8])
    j0, j1 = sch.split(j, factors=[None, 32])
    sch.reorder(i0, j0, k, i1, j1)
`;

const start = Date.now();
const done = (what) => console.log(`ok ${((Date.now() - start) / 1000).toFixed(1).padStart(5)} s  ${what}`);
const work = mkdtempSync(join(tmpdir(), 'loopsmith-pictures-'));
let vscode;
try {
  const vsix = packExtension(work);

  const folder = join(work, 'kernels');
  mkdirSync(join(folder, '.vscode'), { recursive: true });
  writeFileSync(join(folder, 'matmul.tir'), program);
  writeFileSync(join(folder, 'illegal.tir'), `${program}    sch.parallel(k)\n`);
  // The server does not see measurements of other sessions, and leaves no files.
  const server = join(work, 'loopsmith');
  writeFileSync(server, `#!/bin/sh\nexec env XDG_CACHE_HOME='${join(work, 'cache')}' XDG_STATE_HOME='${join(work, 'state')}' XDG_DATA_HOME='${join(work, 'data')}' '${loopsmith}' "$@"\n`, { mode: 0o755 });
  writeFileSync(join(folder, '.vscode/settings.json'), JSON.stringify({ 'loopsmith.server.path': server }));
  vscode = await launch({
    folder, vsix: [vsix], viewport: { width: 1280, height: 660 },
    settings: {
      'editor.fontSize': 15, 'editor.lineHeight': 21, 'editor.codeLensFontSize': 13, 'editor.inlayHints.fontSize': 13, 'editor.scrollBeyondLastLine': false,
      'editor.occurrencesHighlight': 'off', 'editor.renderLineHighlight': 'none', 'editor.hideCursorInOverviewRuler': true, 'editor.overviewRulerBorder': false,
      'editor.guides.indentation': false, 'editor.scrollbar.vertical': 'hidden', 'editor.scrollbar.horizontal': 'hidden', 'editor.stickyScroll.enabled': false, 'editor.hover.above': false, 'editor.matchBrackets': 'never',
      'breadcrumbs.enabled': false, 'workbench.activityBar.location': 'hidden', 'workbench.layoutControl.enabled': false, 'window.commandCenter': false,
      'workbench.editor.editorActionsLocation': 'hidden', 'window.menuBarVisibility': 'hidden', 'loopsmith.tune.seconds': 8, 'editor.wordBasedSuggestions': 'off',
      'workbench.colorCustomizations': { 'sash.hoverBorder': '#2b2b2b' },
    },
    env: { LOOPSMITH_TEST_CORE: '1' },
  });
  const text = (selector) => vscode.page.evaluate((what) => [...document.querySelectorAll(what)].map((e) => e.textContent ?? '').join('\n').replace(/\u00a0/g, ' '), selector);
  const lineOf = (what) => program.split('\n').findIndex((line) => line.includes(what)) + 1;
  const settled = () => new Promise((r) => setTimeout(r, 1500));
  // The editors without the status bar, which the script needs to find the cursor.
  const picture = async (name, bottom = Infinity) => {
    await settled();
    const frame = await vscode.page.evaluate(() => {
      const part = document.querySelector('.part.editor').getBoundingClientRect();
      return { x: 0, y: part.top, width: window.innerWidth, height: part.height };
    });
    await vscode.page.screenshot({ path: join(pictures, `${name}.png`), clip: { ...frame, height: Math.min(frame.height, bottom - frame.y) } });
    done(join(pictures, `${name}.png`));
  };
  const quiet = async () => {
    await vscode.command('Notifications: Clear All Notifications');
    await vscode.focusEditor();
  };
  await vscode.open('illegal.tir');
  await vscode.command('Notifications: Toggle Do Not Disturb Mode');
  await vscode.command('View: Toggle Primary Side Bar Visibility');
  await quiet();

  // An illegal step: underlined, with the reason in a hover, and repairs below.
  await vscode.until('the illegal step', async () => (await vscode.squiggles('error')) > 0);
  await vscode.until('what the steps made', async () => (await text('.view-line')).includes('=> i0:64 i1:8'));
  const last = program.split('\n').length;
  await vscode.page.keyboard.press('Control+Home');
  // Room for the hover below the step.
  await vscode.page.setViewportSize({ width: 1280, height: 900 });
  await vscode.goto(last, 9);
  await vscode.page.keyboard.press('Control+K');
  await vscode.page.keyboard.press('Control+I');
  await vscode.until('the reason', async () => /spatial/.test(await text('.monaco-hover:not(.hidden)')));
  const reason = await vscode.page.locator('.monaco-editor .monaco-hover:not(.hidden)').last().boundingBox();
  await picture('hero', reason.y + reason.height + 12);
  await vscode.page.setViewportSize({ width: 1280, height: 660 });
  await vscode.page.keyboard.press('Escape');
  await vscode.command('View: Close All Editors');

  // A schedule, and the program after the step at the cursor.
  await vscode.open('matmul.tir');
  await vscode.until('what the steps made', async () => (await text('.view-line')).includes('=> i0:64 i1:8'));
  await vscode.goto(lineOf('sch.split(i'), 8);
  await vscode.command('Loopsmith: Show IR Beside');
  await vscode.until('the program after the split', async () => (await text('.editor-group-container .view-line')).includes('for i_0, i_1'));
  await picture('editor');

  // The assembly of a statement.
  await vscode.command('View: Close Other Editors in Group').catch(() => undefined);
  await vscode.page.locator('.editor-group-container').nth(1).locator('.monaco-editor').click();
  await vscode.command('View: Close All Editors in Group');
  await vscode.focusEditor();
  await vscode.goto(lineOf('+ A[vi, vk] * B'), 20);
  await vscode.command('Loopsmith: Show Assembly Beside');
  await vscode.until('the assembly', async () => /as assembly/.test(await text('.editor-group-container .view-line')));
  await vscode.until('the mark', () => vscode.page.evaluate(() => [...document.querySelectorAll('.editor-group-container')].slice(1)
    .some((view) => view.querySelector('.view-overlays .cdr[class*="ced-"]') !== null)));
  await picture('assembly');
  await vscode.page.locator('.editor-group-container').nth(1).locator('.monaco-editor').click();
  await vscode.command('View: Close All Editors in Group');
  await vscode.focusEditor();

  // The loop tree, and the primitives that apply to a loop.
  await vscode.goto(lineOf('sch.split(i'), 8);
  await vscode.command('Loopsmith: Focus on Loops View');
  await vscode.page.locator('.editor-group-container').first().locator('.monaco-editor').click();
  await vscode.goto(lineOf('sch.split(i'), 8);
  const row = vscode.page.locator('.pane-body .monaco-list-row', { hasText: 'i_1 8' });
  await row.waitFor();
  // Wide enough for the cost of each loop, beside the list of choices.
  await vscode.page.setViewportSize({ width: 1480, height: 660 });
  const { x, width } = await vscode.page.locator('.part.sidebar').boundingBox();
  await vscode.page.mouse.move(x + width, 400);
  await vscode.page.mouse.down();
  await vscode.page.mouse.move(x + width + 130, 400, { steps: 5 });
  await vscode.page.mouse.up();
  await vscode.until('the choices', async () => {
    await row.click();
    for (let i = 0; i < 15; ++i) {
      if (/sch\.unroll\(i1\)/.test(await text('.quick-input-list .monaco-list-row'))) { return true; }
      await new Promise((r) => setTimeout(r, 200));
    }
    return false;
  });
  await picture('loops', 590);
  await vscode.page.keyboard.press('Escape');
  await vscode.command('View: Toggle Primary Side Bar Visibility');
  await vscode.page.setViewportSize({ width: 1280, height: 660 });
  await vscode.focusEditor();

  // A finished search: the panel and the lens agree.
  await vscode.goto(lineOf('def matmul'), 6);
  await vscode.quickFixes(lineOf('def matmul'), 6);
  await vscode.applyQuickFix('Tune matmul in the background');
  await vscode.command('Loopsmith: Show Tuning');
  const panel = async () => {
    for (const frame of vscode.page.frames()) {
      const found = await frame.evaluate(() => ({ line: document.getElementById('line')?.textContent ?? '', best: document.getElementById('best')?.textContent ?? '' })).catch(() => undefined);
      if (found && found.line !== '') { return found; }
    }
    return { line: '', best: '' };
  };
  await vscode.until('the end of the search', async () => /^(failed|done): /.test((await panel()).line), 240_000);
  const { line, best } = await panel();
  if (!line.startsWith('done: ') || !best.includes('@ls.schedule')) { throw new Error(`the search ended with: ${line}`); }
  await vscode.until('the lens of the finished search', async () => { const lenses = await text('.codelens-decoration'); return /insert best/.test(lenses) && !/so far|tuning:/.test(lenses); }, 120_000);
  await quiet();
  await picture('tuning');
} catch (failure) {
  console.error(failure);
  if (vscode) {
    const shown = join(tmpdir(), 'loopsmith-pictures-failed.png');
    await vscode.screenshot(shown).catch(() => undefined);
    console.error(`screenshot: ${shown}`);
  }
  process.exitCode = 1;
} finally {
  await vscode?.close();
  rmSync(work, { recursive: true, force: true });
}
