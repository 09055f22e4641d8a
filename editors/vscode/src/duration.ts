/** A duration in the form of Loopsmith's own texts (`duration_text` in compiler/support/text.h): "412.0 us", "1.098 ms", "12.35 s". Zero is "0 s". The
 *  page of the tuning view contains the text of this function, so it uses no other. */
export function duration(seconds: number): string {
  const digits = (number: number) => number.toFixed(number < 9.9995 ? 3 : number < 99.995 ? 2 : number < 999.95 ? 1 : 0);
  if (seconds === 0) { return '0 s'; }
  if (seconds < 1e-9 * 999.95) { return digits(seconds * 1e9) + ' ns'; }
  if (seconds < 1e-6 * 999.95) { return digits(seconds * 1e6) + ' us'; }
  if (seconds < 1e-3 * 999.95) { return digits(seconds * 1e3) + ' ms'; }
  return digits(seconds) + ' s';
}

/** A waiting time, rounded up to whole seconds (`waiting_text`): "8 s", "1:05 min", "2:00:09 h". */
export function waiting(seconds: number): string {
  const whole = Math.ceil(seconds), two = (number: number) => String(number).padStart(2, '0');
  if (whole < 60) { return whole + ' s'; }
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? minutes + ':' + two(whole % 60) + ' min' : Math.floor(minutes / 60) + ':' + two(minutes % 60) + ':' + two(whole % 60) + ' h';
}
