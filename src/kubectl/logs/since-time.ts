import { formatTime } from '#/api/text/time.ts'
import { quote } from '#/api/text/quote.ts'

const layout = '2006-01-02T15:04:05Z07:00'

interface Element {
  readonly pattern: RegExp
  /** As the layout names it. */
  readonly name: string
  readonly range?: { readonly min: number; readonly max: number; readonly name: string }
}

function number(name: string, range?: Element['range']): Element {
  return { pattern: new RegExp(`^\\d{${name.length}}`), name, ...(range && { range }) }
}

function literal(name: string): Element {
  return { pattern: new RegExp(`^${name}`), name }
}

const elements: readonly Element[] = [
  number('2006'),
  literal('-'),
  number('01', { min: 1, max: 12, name: 'month' }),
  literal('-'),
  number('02', { min: 1, max: 31, name: 'day' }),
  literal('T'),
  number('15', { min: 0, max: 23, name: 'hour' }),
  literal(':'),
  number('04', { min: 0, max: 59, name: 'minute' }),
  literal(':'),
  number('05', { min: 0, max: 59, name: 'second' }),
  { pattern: /^(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})/, name: 'Z07:00' },
]

/** Reads a time of RFC 3339 as a parameter of a request. Throws Error with the reason that Go gives. */
export function parseSinceTime(text: string): string {
  let rest = text
  for (const { pattern, name, range } of elements) {
    const found = pattern.exec(rest)?.[0]
    if (found === undefined) {
      const unread = name === 'Z07:00' ? rest.replace(/^\.\d+/, '') : rest
      throw new Error(
        `parsing time ${quote(text)} as ${quote(layout)}: cannot parse ${quote(unread)} as ${quote(name)}`,
      )
    }
    if (range && (Number(found) < range.min || Number(found) > range.max)) throw outOfRange(text, range.name)
    rest = rest.slice(found.length)
  }
  if (rest !== '') throw new Error(`parsing time ${quote(text)}: extra text: ${quote(rest)}`)
  const milliseconds = Date.parse(text)
  const day = Number(text.slice(8, 10))
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate()
  if (Number.isNaN(milliseconds) || day > lastDay) throw outOfRange(text, 'day')
  return formatTime(milliseconds)
}

function outOfRange(text: string, name: string): Error {
  return new Error(`parsing time ${quote(text)}: ${name} out of range`)
}
