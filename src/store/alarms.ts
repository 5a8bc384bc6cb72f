/** The alarms of a store. A change is logged; the same change repeated is logged with growing pauses. */
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { AlarmListener, StoreAlarm, StoreAlarms, StoreAlarmType } from './store.ts'

export class Alarms implements StoreAlarms {
  readonly #log: ThrottledLog
  readonly #raised = new Map<StoreAlarmType, StoreAlarm>()
  readonly #listeners = new Set<AlarmListener>()

  constructor(platform: Pick<Platform, 'clock' | 'log'>) {
    this.#log = new ThrottledLog(platform)
  }

  get current(): readonly StoreAlarm[] {
    return [...this.#raised.values()]
  }

  onChange(listener: AlarmListener, signal: AbortSignal): void {
    if (signal.aborted) return
    this.#listeners.add(listener)
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true })
  }

  /** An alarm that is raised already keeps its first message. */
  raise(type: StoreAlarmType, message: string): void {
    if (this.#raised.has(type)) return
    const alarm = { type, message }
    this.#raised.set(type, alarm)
    this.#log.error(type, 'Store alarm raised', { alarm: type, reason: message })
    for (const listener of this.#listeners) listener(alarm, 'raised')
  }

  clear(type: StoreAlarmType): void {
    const alarm = this.#raised.get(type)
    if (alarm === undefined) return
    this.#raised.delete(type)
    this.#log.warn(`${type} cleared`, 'Store alarm cleared', { alarm: type })
    for (const listener of this.#listeners) listener(alarm, 'cleared')
  }
}
