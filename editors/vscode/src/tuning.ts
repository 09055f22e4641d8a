// The tuning panel: every trial of a search as a point, the best time so far as a line, the program as written and the roofline as bars for
// comparison, and the best schedule as text. Its data comes from `loopsmith/tuning`. The page computes nothing and has access only to the data
// sent to it.
import * as vscode from 'vscode';
import { randomBytes } from 'node:crypto';
import { LanguageClient } from 'vscode-languageclient/node';
import { duration, waiting } from './duration';

interface News {
  job: number;
  uri: string;
  function: string;
  state: 'running' | 'paused' | 'stopping' | 'comparing' | 'done' | 'failed';
  phase?: string;
  trial?: number;
  trials?: number;
  elapsed?: number;
  limit?: number;
  best_seconds?: number;
  plain_seconds?: number;
  floor_seconds?: number;
  flops?: number;
  measured?: number[];
  best_schedule?: string;
  schedule_text?: string;
  verified?: string;
  message?: string;
  schedule?: string;   // whose `sch.tune()` it fills
  arms?: Arm[];
  failures?: Record<string, number>;   // while the search runs
  causes?: { outcome: string; message: string; count: number; reproduce: string }[];
}

/// A sketch of the space with its trials.
interface Arm {
  name: string;
  proposed: number;
  measured: number;
  failed: number;
  best_seconds?: number;
  closed?: string;
  knobs: { name: string; choices: number }[];
}

interface Search extends News { measured: number[] }

export class TuningPanel implements vscode.Disposable {
  private readonly searches = new Map<number, Search>();
  private readonly subscriptions: vscode.Disposable[];
  private panel: vscode.WebviewPanel | undefined;
  private shown: number | undefined;

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.subscriptions = [vscode.commands.registerCommand('loopsmith.showTuning', () => this.show())];
  }

  /// For every client that is started.
  listen(client: LanguageClient): void {
    this.searches.clear();
    client.onNotification('loopsmith/tuning', (news: News) => this.note(news));
  }

  dispose(): void {
    this.panel?.dispose();
    for (const subscription of this.subscriptions) { subscription.dispose(); }
  }

  private note(news: News): void {
    const before = this.searches.get(news.job);
    this.searches.set(news.job, { ...before, ...news, measured: [...before?.measured ?? [], ...news.measured ?? []] });
    if (!before) { this.shown = news.job; }
    this.send();
    if (news.state === 'done' && before?.state !== 'done') { void this.offer(this.searches.get(news.job)!); }
  }

  /// The result of a search, with buttons that insert and show it.
  private async offer(search: Search): Promise<void> {
    if (!search.best_seconds || search.schedule) { return; }
    const faster = search.plain_seconds ? `, ${Number((search.plain_seconds / search.best_seconds).toPrecision(3))}x` : '';
    const [insert, show] = ['Insert', 'Show'];
    const choice = await vscode.window.showInformationMessage(`${search.function}: ${duration(search.best_seconds)}${faster}`, insert, show);
    if (choice === show) { this.shown = search.job; this.show(); }
    if (choice === insert) { await this.execute('loopsmith.insertSchedule', search.job); }
  }

  private async execute(command: string, job: number): Promise<void> {
    await this.client()?.sendRequest('workspace/executeCommand', { command, arguments: [{ job }] }).catch((failure: Error) => vscode.window.showErrorMessage(failure.message));
  }

  private send(): void {
    void this.panel?.webview.postMessage({ searches: [...this.searches.values()], shown: this.shown });
  }

  private show(): void {
    if (this.panel) { this.panel.reveal(); return; }
    this.panel = vscode.window.createWebviewPanel('loopsmith.tuning', 'Tuning', { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, { enableScripts: true, localResourceRoots: [] });
    this.panel.webview.html = page();
    this.panel.webview.onDidReceiveMessage(async (message: { ready?: boolean; shown?: number; stop?: number; pause?: number; resume?: number; insert?: number }) => {
      if (message.ready) { this.send(); }
      if (message.shown !== undefined) { this.shown = message.shown; this.send(); }
      const command = message.stop !== undefined ? 'loopsmith.tune.stop' : message.pause !== undefined ? 'loopsmith.tune.pause' :
        message.resume !== undefined ? 'loopsmith.tune.resume' : message.insert !== undefined ? 'loopsmith.insertSchedule' : undefined;
      const job = message.stop ?? message.pause ?? message.resume ?? message.insert;
      if (command && job !== undefined) { await this.execute(command, job); }
    });
    this.panel.onDidDispose(() => { this.panel = undefined; });
  }
}

function page(): string {
  const nonce = randomBytes(16).toString('hex');
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<title>Tuning</title>
<style nonce="${nonce}">
  body { color: var(--vscode-foreground); font-family: var(--vscode-font-family); font-size: var(--vscode-font-size); padding: 0 16px 16px; }
  h1 { font-size: 1.2em; font-weight: 600; margin: 12px 0 4px; }
  #line { color: var(--vscode-descriptionForeground); margin-bottom: 8px; min-height: 1.4em; }
  svg { width: 100%; height: 280px; display: block; }
  svg text { fill: var(--vscode-descriptionForeground); font-size: 11px; }
  .axis { stroke: var(--vscode-panel-border, #8884); }
  .trial { fill: var(--vscode-charts-blue, #3794ff); opacity: .55; }
  .best { stroke: var(--vscode-charts-green, #89d185); stroke-width: 2; fill: none; }
  .plain { stroke: var(--vscode-charts-red, #f14c4c); stroke-dasharray: 4 4; }
  .roof { stroke: var(--vscode-charts-yellow, #cca700); stroke-dasharray: 4 4; }
  table { border-collapse: collapse; margin: 8px 0; } td, th { padding: 1px 16px 1px 0; text-align: left; font-weight: normal; } th { color: var(--vscode-descriptionForeground); } td + td { text-align: right; font-variant-numeric: tabular-nums; }
  pre { font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); background: var(--vscode-textCodeBlock-background); padding: 8px 12px; overflow: auto; }
  button { color: var(--vscode-button-foreground); background: var(--vscode-button-background); border: 0; padding: 4px 12px; margin: 4px 8px 4px 0; cursor: pointer; }
  button:hover { background: var(--vscode-button-hoverBackground); }
  [hidden] { display: none; }
</style></head>
<body>
<div id="tabs"></div>
<h1 id="name">No search has run yet</h1>
<div id="line" role="status" aria-live="polite">"Tune NAME in the background" on a program starts one.</div>
<button id="stop" hidden>Stop and keep the best</button><button id="pause" hidden>Pause</button><button id="insert" hidden>Insert best schedule</button>
<svg id="curve" role="img" aria-label="Seconds of every trial, and the best so far" hidden></svg>
<table id="table"></table>
<details id="arms" hidden><summary>Sketches and knobs</summary><table id="armsTable"></table></details>
<details id="causes" hidden><summary>Failed candidates</summary><div id="causesList"></div></details>
<pre id="best" hidden></pre>
<script nonce="${nonce}">
const vscode = acquireVsCodeApi();
const $ = (id) => document.getElementById(id);
const duration = ${duration.toString()};
const waiting = ${waiting.toString()};
let current;
let paused = false;
addEventListener('message', ({ data }) => {
  const search = data.searches.find((one) => one.job === data.shown) ?? data.searches.at(-1);
  $('tabs').replaceChildren(...(data.searches.length < 2 ? [] : data.searches.map((one) => {
    const tab = document.createElement('button');
    tab.textContent = one.function + (one.state === 'running' ? ' …' : one.state === 'paused' ? ' ‖' : '');
    tab.onclick = () => vscode.postMessage({ shown: one.job });
    return tab;
  })));
  if (search) { current = search.job; draw(search); }
});
$('stop').onclick = () => vscode.postMessage({ stop: current });
$('pause').onclick = () => vscode.postMessage(paused ? { resume: current } : { pause: current });
$('insert').onclick = () => vscode.postMessage({ insert: current });
function draw(s) {
  const rate = s.best_seconds && s.flops ? ', ' + (s.flops / s.best_seconds * 1e-9).toFixed(1) + ' GFLOP/s' : '';
  $('name').textContent = s.function;
  const budget = s.trials ? '/' + s.trials : '';
  $('line').textContent = s.state === 'failed' ? 'failed: ' + (s.message ?? '') :
    (s.state === 'done' ? 'done: ' : s.state === 'stopping' ? 'stopping: ' : s.state === 'paused' ? 'paused: ' : s.state === 'comparing' ? 'stopped; comparing the best with the program: ' : (s.phase === 'done' ? 'finishing' : s.phase ?? 'starting') + ': ') + 'trial ' + (s.trial ?? 0) + budget +
    (s.elapsed !== undefined ? ', ' + waiting(s.elapsed) + (s.limit ? ' of ' + waiting(s.limit) : '') : '') +
    (s.best_seconds ? ', best ' + duration(s.best_seconds) + rate : '');
  $('stop').hidden = s.state !== 'running' && s.state !== 'paused' && s.state !== 'comparing';
  $('stop').textContent = s.state === 'comparing' ? 'Give up the comparison' : 'Stop and keep the best';
  paused = s.state === 'paused';
  $('pause').hidden = s.state !== 'running' && !paused;
  $('pause').textContent = paused ? 'Resume' : 'Pause';
  $('insert').hidden = s.state !== 'done';
  const rows = [];
  if (s.best_seconds) { rows.push(['best', duration(s.best_seconds) + rate]); }
  if (s.plain_seconds) { rows.push(['as written', duration(s.plain_seconds) + (s.best_seconds ? ', ' + (s.plain_seconds / s.best_seconds).toFixed(1) + ' times as long' : '')]); }
  if (s.floor_seconds) { rows.push(['roofline', duration(s.floor_seconds) + (!s.best_seconds ? '' : s.floor_seconds > 1.005 * s.best_seconds ? ', exceeded: measure it again' : ', ' + (100 * s.floor_seconds / s.best_seconds).toFixed(0) + '% reached')]); }
  const lost = s.measured.filter((t) => t === 0).length;
  if (lost) { rows.push(['left off early (slower, or failed)', lost + ' of ' + s.measured.length]); }
  if (s.verified) { rows.push(['verified', s.verified]); }
  $('table').replaceChildren(...rows.map((row) => {
    const tr = document.createElement('tr');
    tr.append(...row.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
    return tr;
  }));
  arms(s.arms ?? []);
  causes(s.causes ?? Object.entries(s.failures ?? {}).map(([outcome, count]) => ({ outcome, count, message: '', reproduce: '' })));
  const schedule = s.schedule_text ?? s.best_schedule;
  $('best').hidden = !schedule;
  $('best').textContent = schedule ?? '';
  curve(s);
}
function arms(all) {
  $('arms').hidden = all.length === 0;
  const best = Math.min(...all.map((arm) => arm.best_seconds ?? Infinity));
  const row = (kind, cells, title) => {
    const tr = document.createElement('tr');
    if (title) { tr.title = title; }
    tr.append(...cells.map((text) => Object.assign(document.createElement(kind), { textContent: text })));
    return tr;
  };
  $('armsTable').replaceChildren(row('th', ['sketch', 'measured', 'failed', 'best', 'knobs']), ...all.map((arm) => {
    const time = arm.best_seconds ? duration(arm.best_seconds) + (arm.best_seconds === best ? ' *' : '') : '-';
    return row('td', [arm.name + (arm.closed ? ' (closed)' : ''), String(arm.measured), String(arm.failed), time, arm.knobs.map((knob) => knob.name + ' (' + knob.choices + ')').join(', ')], arm.closed);
  }));
}
function causes(all) {
  $('causes').hidden = all.length === 0;
  $('causesList').replaceChildren(...all.flatMap((cause) => {
    const line = Object.assign(document.createElement('div'), { textContent: cause.count + ' x ' + cause.outcome + (cause.message ? ': ' + cause.message : '') });
    return cause.reproduce ? [line, Object.assign(document.createElement('pre'), { textContent: cause.reproduce })] : [line];
  }));
}
function curve(s) {
  const svg = $('curve');
  const times = s.measured.filter((t) => t > 0);
  svg.toggleAttribute('hidden', times.length === 0);
  if (times.length === 0) { return; }
  const [width, height, left, bottom] = [svg.clientWidth || 640, 280, 64, 22];
  const shown = [...times, s.plain_seconds, s.floor_seconds].filter((t) => t > 0);
  const [low, high] = [Math.log10(Math.min(...shown)) - .08, Math.log10(Math.max(...shown)) + .08];
  const count = Math.max(s.measured.length, s.trials ?? 0, 2);
  const x = (i) => left + (width - left - 8) * i / (count - 1);
  const y = (t) => 8 + (height - bottom - 8) * (high - Math.log10(t)) / (high - low);
  svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
  const parts = [];
  const add = (name, attributes, text) => {
    const node = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) { node.setAttribute(key, value); }
    if (text !== undefined) { node.textContent = text; }
    parts.push(node);
  };
  for (let power = Math.ceil(low); power <= high; ++power) {
    add('line', { x1: left, x2: width, y1: y(10 ** power), y2: y(10 ** power), class: 'axis' });
    add('text', { x: left - 6, y: y(10 ** power) + 4, 'text-anchor': 'end' }, duration(10 ** power).replace(/\\.0+ /, ' '));
  }
  add('text', { x: width - 8, y: height - 4, 'text-anchor': 'end' }, 'trials: ' + s.measured.length);
  for (const [label, cls, value] of [['as written', 'plain', s.plain_seconds], ['roofline', 'roof', s.floor_seconds]]) {
    if (!value) { continue; }
    add('line', { x1: left, x2: width, y1: y(value), y2: y(value), class: cls });
    add('text', { x: width - 8, y: y(value) - 4, 'text-anchor': 'end' }, label + ' ' + duration(value));
  }
  let [best, path] = [Infinity, ''];
  s.measured.forEach((t, i) => {
    if (t > 0) { add('circle', { cx: x(i), cy: y(t), r: 2.5, class: 'trial' }); best = Math.min(best, t); }
    if (best < Infinity) { path += (path ? 'H' + x(i) + 'V' + y(best) : 'M' + x(i) + ' ' + y(best)); }
  });
  add('path', { d: path, class: 'best' });
  svg.replaceChildren(...parts);
}
vscode.postMessage({ ready: true });
</script></body></html>`;
}
