// Decides when two answers to a step of the session are equal: used by steps.mjs, and by a driver that asks again until the answer is right.

// Records from before the session differ between runs.
export const masked = (line) => line.replace(/[\d.]+ (ns|us|ms|s), recorded/, 'TIME, recorded')
  .replace(/(best \w+): [\d.]+ (ns|us|ms|s) \(.* recorded\)/, '$1: TIME (recorded)');

// Editors differ in which of several empty lines they report as new, so such lines do not count.
const compared = (answer) => JSON.stringify(answer.map(masked).filter((line) => line !== '+'));

export const agree = (answer, expected) => compared(answer) === compared(expected);
