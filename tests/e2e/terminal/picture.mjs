#!/usr/bin/env node
// A terminal's screen as a picture: turns the output of `tmux capture-pane -p -e` (standard input) into SVG (standard output) with selectable text.
//   picture.mjs [TITLE [PAPER]] < SCREEN > PICTURE.svg      PAPER: the colour of the background
import { readFileSync } from 'node:fs';

const cell = { width: 8.4, height: 18 };
const paper = process.argv[3] ?? '#1e1e1e';
const ink = '#d4d4d4';
const base = ['#1e1e1e', '#f14c4c', '#23d18b', '#e5c07b', '#569cd6', '#c586c0', '#29b8db', '#d4d4d4', '#808080', '#f47171', '#4fe0a5', '#f5f543', '#7fb3e6', '#d9a0d6', '#63cfe8', '#ffffff'];

const colour = (n) => {
  if (n < 16) { return base[n]; }
  const hex = (v) => v.toString(16).padStart(2, '0');
  if (n >= 232) { return `#${hex(8 + (n - 232) * 10).repeat(3)}`; }
  const level = (v) => hex(v === 0 ? 0 : 55 + v * 40);
  return `#${level(Math.floor((n - 16) / 36))}${level(Math.floor((n - 16) / 6) % 6)}${level((n - 16) % 6)}`;
};

/// The style after the parameters of one `ESC [ ... m`.
const styled = (style, parameters) => {
  const codes = (parameters || '0').split(';');
  let out = { ...style };
  for (let i = 0; i < codes.length; ++i) {
    const [code, detail] = codes[i].split(':').map(Number);
    const extended = () => {
      if (codes[i].includes(':')) {
        const parts = codes[i].split(':').map(Number);
        return parts[1] === 5 ? colour(parts[2]) : `rgb(${parts.slice(-3).join(',')})`;
      }
      const kind = Number(codes[++i]);
      if (kind === 5) { return colour(Number(codes[++i])); }
      const rgb = codes.slice(i + 1, i + 4).join(',');
      i += 3;
      return `rgb(${rgb})`;
    };
    if (code === 0) { out = {}; }
    else if (code === 1) { out.bold = true; }
    else if (code === 2) { out.dim = true; }
    else if (code === 3) { out.italic = true; }
    else if (code === 4) { out.underline = detail === 0 ? undefined : true; }
    else if (code === 7) { out.reverse = true; }
    else if (code === 22) { out.bold = out.dim = undefined; }
    else if (code === 23) { out.italic = undefined; }
    else if (code === 24) { out.underline = undefined; }
    else if (code === 27) { out.reverse = undefined; }
    else if (code >= 30 && code <= 37) { out.ink = colour(code - 30); }
    else if (code === 38) { out.ink = extended(); }
    else if (code === 39) { out.ink = undefined; }
    else if (code >= 40 && code <= 47) { out.paper = colour(code - 40); }
    else if (code === 48) { out.paper = extended(); }
    else if (code === 49) { out.paper = undefined; }
    else if (code === 58) { out.line = extended(); }
    else if (code === 59) { out.line = undefined; }
    else if (code >= 90 && code <= 97) { out.ink = colour(code - 90 + 8); }
    else if (code >= 100 && code <= 107) { out.paper = colour(code - 100 + 8); }
  }
  return out;
};

const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');

const lines = readFileSync(0, 'utf8').replace(/\n+$/, '').split('\n');
const backgrounds = [];
const texts = [];
let style = {};
let columns = 80;
lines.forEach((line, row) => {
  let column = 0;
  for (const part of line.split(/(\x1b\[[0-9;:]*m)/)) {
    const code = /^\x1b\[([0-9;:]*)m$/.exec(part);
    if (code) { style = styled(style, code[1]); continue; }
    if (part === '') { continue; }
    const width = [...part].length;
    const [front, back] = style.reverse ? [style.paper ?? paper, style.ink ?? ink] : [style.ink ?? ink, style.paper];
    const x = (column * cell.width).toFixed(1);
    if (back) { backgrounds.push(`<rect x="${x}" y="${row * cell.height}" width="${(width * cell.width).toFixed(1)}" height="${cell.height}" fill="${back}"/>`); }
    if (part.trim() !== '') {
      const looks = [`fill="${front}"`, style.bold && 'font-weight="bold"', style.italic && 'font-style="italic"', style.dim && 'opacity="0.6"',
        style.underline && `text-decoration="underline${style.line ? ` wavy ${style.line}` : ''}"`].filter(Boolean).join(' ');
      // Blanks at the ends are dropped, those in between keep their width.
      const shown = part.trim();
      const left = column + [...part].length - [...part.trimStart()].length;
      texts.push(`<text x="${(left * cell.width).toFixed(1)}" y="${row * cell.height + 13.5}" textLength="${([...shown].length * cell.width).toFixed(1)}" lengthAdjust="spacingAndGlyphs" ${looks}>${escaped(shown).replace(/ /g, '\u00a0')}</text>`);
    }
    column += width;
    columns = Math.max(columns, column);
  }
});
const title = process.argv[2];
const top = title ? 26 : 8;
const width = Math.ceil(columns * cell.width) + 20;
const height = lines.length * cell.height + top + 10;
console.log(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13.5">
<rect width="${width}" height="${height}" rx="6" fill="${paper}"/>${title ? `\n<text x="${width / 2}" y="18" text-anchor="middle" fill="#9a9a9a" font-size="12">${escaped(title)}</text>` : ''}
<g transform="translate(10 ${top})">
${backgrounds.join('\n')}
${texts.join('\n')}
</g>
</svg>`);
