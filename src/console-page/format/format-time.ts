/** `2026-01-31 08:00:00` in the time zone of the browser, whatever its language. */
export function formatTime(time: number | string): string {
  return new Date(time).toLocaleString('sv')
}
