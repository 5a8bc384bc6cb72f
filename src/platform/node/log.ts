import { inspect, styleText } from 'node:util'
import { AssertionError } from '#/base/assert.ts'
import type { Clock, Log, LogFields } from '../platform.ts'
import { outputBound } from './bounded-output.ts'

export interface LogOptions {
  /** Minimum level of lines to write. */
  readonly level: LogLevel
  /** `text` is human-readable, `json` is one object per line. */
  readonly format: 'text' | 'json'
}

export type LogLevel = keyof typeof severities

const severities = { debug: 0, info: 1, warn: 2, error: 3 }

export function standardErrorLog(clock: Clock, options: LogOptions): Log {
  const { stderr } = process
  // The reader of stderr may be gone, which must not end the process.
  if (stderr.listenerCount('error') === 0) stderr.on('error', () => undefined)
  // With the stream given, `styleText` respects NO_COLOR and omits colors if it is not a terminal.
  const colour: Colour = (style, text) => styleText(style, text, { stream: stderr })
  const format = options.format === 'json' ? jsonLine : (line: LogLine) => textLine(line, colour)
  const keepBounded = outputBound()
  const write = (line: LogLine): void => {
    stderr.write(`${format(line)}\n`)
    keepBounded?.()
  }
  return lineLog({ level: options.level, clock, write })
}

export interface LogLine {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

interface LineLogOptions {
  readonly level: LogLevel
  readonly clock: Clock
  readonly write: (line: LogLine) => void
}

export function lineLog(options: LineLogOptions, always: LogFields = {}): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (severities[level] < severities[options.level]) return
      const time = new Date(options.clock.now()).toISOString()
      options.write({ time, level, message, fields: { ...always, ...fields } })
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: fields => lineLog(options, { ...always, ...fields }),
  }
}

export function jsonLine({ time, level, message, fields }: LogLine): string {
  const named = Object.entries(fields).map(([name, value]) => {
    return [reserved.has(name) ? `field.${name}` : name, plain(value)] as const
  })
  return JSON.stringify({ time, level, message, ...Object.fromEntries(named) })
}

/** Names of the standard parts of a line; a field of the same name is renamed. */
const reserved: ReadonlySet<string> = new Set(['time', 'level', 'message'])

type Colour = (style: 'red' | 'yellow' | 'dim', text: string) => string

export function textLine({ time, level, message, fields }: LogLine, colour: Colour): string {
  const word = level.toUpperCase().padEnd(5)
  const shownLevel =
    level === 'error' ? colour('red', word) : level === 'warn' ? colour('yellow', word) : word
  const shownFields = Object.entries(fields).map(([name, value]) => {
    return ` ${colour('dim', `${printable(name)}=`)}${token(plain(value))}`
  })
  return `${colour('dim', time)} ${shownLevel} ${printable(message)}${shownFields.join('')}`
}

function token(value: unknown): string {
  const plainWord = typeof value === 'string' && /^[^\s"=]+$/u.test(value)
  return printable(plainWord ? value : JSON.stringify(value))
}

/** Escapes line breaks, terminal control sequences and text direction marks. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escape)
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `\\u{${code.toString(16)}}`
}

/** Maximum characters of one field, so that whole objects are not copied to the log. */
const fieldCharactersMax = 4_096

/** A value that JSON can represent, for any input: logging never fails. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return cut(value)
  if (typeof value === 'boolean' || value === null || Number.isFinite(value)) return value
  if (value instanceof Error) return cut(explain(value))
  if (typeof value !== 'object') return cut(inspectPlainly(value))
  try {
    const text = JSON.stringify(value, (_key, each: unknown) =>
      each instanceof Error ? explain(each) : each,
    )
    return text.length > fieldCharactersMax ? cut(text) : JSON.parse(text)
  } catch {
    return cut(inspectPlainly(value))
  }
}

function inspectPlainly(value: unknown): string {
  return inspect(value, { breakLength: Infinity, customInspect: false })
}

function cut(text: string): string {
  return text.length > fieldCharactersMax ? `${text.slice(0, fieldCharactersMax)}...` : text
}

/** Maximum causes read; an error may be its own cause. */
const causesMax = 8

/**
 * The error and its causes, `cannot bind pod web-0: node n3 is gone`, with the stack if it is a bug. A cause that the
 * message before contains is not repeated.
 */
function explain(error: Error): string {
  const messages: string[] = []
  let each: unknown = error
  for (let read = 0; each !== undefined && read < causesMax; read++) {
    const message = each instanceof Error ? each.message : inspectPlainly(each)
    if (messages.at(-1)?.includes(message) !== true) messages.push(message)
    each = each instanceof Error ? each.cause : undefined
  }
  const text = messages.join(': ')
  return ourFaults.some(fault => error instanceof fault) ? `${text}\n${error.stack}` : text
}

/** Errors that indicate a bug. */
const ourFaults = [AssertionError, TypeError, ReferenceError, RangeError]
