#!/usr/bin/env node
// Packs what the tests of VS Code install: the extension, type-checked, and the probe that takes VS Code through the shared session.
// The test `e2e/vscode/extension` runs this program beside other tests, because it needs the network, but no editor.   extension.mjs FOLDER
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../../..');

/// Packs the extension in a part of `parent` and returns the path of the package. Its build modules stay there, and are
/// installed again when package-lock.json has changed.
export function packExtension(parent) {
  const folder = join(parent, 'extension');
  mkdirSync(folder, { recursive: true });
  const modules = join(folder, 'node_modules');
  const stamp = join(modules, 'installed-package-lock.json');
  for (const old of ['src', 'dist', 'loopsmith-0.1.0.vsix']) { rmSync(join(folder, old), { recursive: true, force: true }); }
  cpSync(join(root, 'editors/vscode'), folder, { recursive: true, filter: (path) => !/node_modules|dist|\.vsix$/.test(path) });
  const npm = (...args) => execFileSync('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
    npm('ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline');
    writeFileSync(stamp, lock);
  }
  npm('run', 'package', '--silent');
  const vsix = join(folder, 'loopsmith-0.1.0.vsix');
  assert.ok(existsSync(vsix));
  return vsix;
}

/// Packs the probe with the tools that `packExtension` has installed in `parent`, and returns the path of the package.
export function packProbe(parent) {
  const probe = join(parent, 'probe');
  rmSync(probe, { recursive: true, force: true });
  cpSync(join(here, 'probe'), probe, { recursive: true });
  const options = ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license'];
  execFileSync(join(parent, 'extension/node_modules/.bin/vsce'), options, { cwd: probe, stdio: ['ignore', 'ignore', 'inherit'] });
  const vsix = join(probe, 'loopsmith-probe-0.1.0.vsix');
  assert.ok(existsSync(vsix));
  return vsix;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  assert.ok(process.argv[2], 'usage: extension.mjs FOLDER');
  const folder = resolve(process.argv[2]);
  packExtension(folder);
  packProbe(folder);
  console.log(`ok   type-checked and packed the extension in ${folder}`);
}
