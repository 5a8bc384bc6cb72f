/** The last lines of a log as container runtimes write it: `<time> stdout|stderr F|P text`. */

export interface TailLimits {
  readonly linesMax: number
  readonly bytesMax: number
}

/** `log` may begin in the middle of a line, which is left out. */
export function logTail(log: string, { linesMax, bytesMax }: TailLimits): string {
  const lines: string[] = []
  let pieces = ''
  for (const record of log.split('\n')) {
    const [, kind, content = ''] = /^\S+T\S+ (?:stdout|stderr) ([FP])[^ ]* ?(.*)$/s.exec(record) ?? []
    if (kind === undefined) continue
    pieces += content
    if (kind === 'P') continue
    lines.push(`${pieces}\n`)
    pieces = ''
  }
  if (pieces !== '') lines.push(pieces)
  return lastBytes(lines.slice(-linesMax).join(''), bytesMax)
}

/** Cut so that no character is split. */
function lastBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let start = bytes.length - bytesMax
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  return bytes.subarray(start).toString()
}
