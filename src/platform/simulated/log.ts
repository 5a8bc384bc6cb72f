/** The log of one life: its lines go into the trace. */
import type { Log, LogFields } from '../platform.ts'
import type { Life } from './life.ts'
import type { World } from './world.ts'

export class SimulatedLog implements Log {
  readonly #world: World
  readonly #life: Life
  readonly #fields: LogFields

  constructor(world: World, life: Life, fields: LogFields = {}) {
    this.#world = world
    this.#life = life
    this.#fields = fields
  }

  debug(message: string, fields?: LogFields): void {
    this.#write('debug', message, fields)
  }

  info(message: string, fields?: LogFields): void {
    this.#write('info', message, fields)
  }

  warn(message: string, fields?: LogFields): void {
    this.#write('warn', message, fields)
  }

  error(message: string, fields?: LogFields): void {
    this.#write('error', message, fields)
  }

  with(fields: LogFields): Log {
    return new SimulatedLog(this.#world, this.#life, { ...this.#fields, ...fields })
  }

  #write(level: string, message: string, fields: LogFields = {}): void {
    if (this.#life.ended) return
    const all = Object.entries({ ...this.#fields, ...fields })
    const parts = all.map(([key, value]) => ` ${key}=${show(value)}`)
    this.#world.trace.record(this.#life.name, `${level} ${message}${parts.join('')}`)
  }
}

/** An error is shown without its stack, which contains paths of the machine. */
function show(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(`${value.name}: ${value.message}`)
  try {
    return JSON.stringify(value, withoutBigints) ?? 'undefined'
  } catch {
    return '(not shown)'
  }
}

function withoutBigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
