/** Measures k8ts, and another Kubernetes in turn with it if there is one, and prints a row for each operation. */
import { runLoad, fetchOnce, type Load, type Target } from './load.ts'
import { usageOf } from './processes.ts'

export interface Subject {
  readonly target: Target
  /** Processes whose CPU time and memory are measured; may be empty. */
  readonly pids: readonly number[]
}

export interface Operation {
  readonly name: string
  /** The ratio to reach; empty if none is set. */
  readonly goal?: string
  /** 3 if absent. */
  readonly rounds?: number
  /** Returns the number of operations, and how many there were in a second. */
  readonly run: (target: Target, round: number) => Promise<Rate>
}

export interface Rate {
  readonly count: number
  readonly perSecond: number
}

export class Comparison {
  readonly #k8ts: Subject
  readonly #rival: Subject | undefined

  constructor(k8ts: Subject, rival: Subject | undefined) {
    this.#k8ts = k8ts
    this.#rival = rival
    console.log(
      '| operation | rival | k8ts | ratio | CPU ms each: rival, k8ts | goal |\n|---|---|---|---|---|---|',
    )
  }

  /** Rounds alternate, so that both see the same machine load. */
  async measure({ name, goal = '', rounds = 3, run }: Operation): Promise<void> {
    const k8ts = new Sum(this.#k8ts)
    const rival = this.#rival && new Sum(this.#rival)
    for (let round = 0; round < rounds; round++) {
      await rival?.add(target => run(target, round))
      await k8ts.add(target => run(target, round))
    }
    const rates = [rival?.perSecond, k8ts.perSecond]
    const cpu = [rival?.cpuMsEach, k8ts.cpuMsEach].map(ms => (ms === undefined ? '-' : format(ms)))
    printRow(name, [...rates.map(rate => withUnit(rate, '/s')), ratioOf(rates), cpu.join(', '), goal])
  }

  measureMemory(name: string, goal = ''): void {
    const sizes = [this.#rival && memoryOf(this.#rival), memoryOf(this.#k8ts)]
    printRow(name, [...sizes.map(size => withUnit(size, ' MB')), ratioOf(sizes), '', goal])
  }
}

/** Repeats a request. It is checked once before, because failures are fast. */
export function repeat(load: Omit<Load, 'connections'>): Operation['run'] {
  return async (target, round) => {
    if (round === 0) await fetchOnce(target, load, load.body?.(0))
    const { perSecond } = await runLoad(target, { ...load, connections: Math.min(4, load.concurrency) })
    return { count: load.requests, perSecond }
  }
}

class Sum {
  readonly #subject: Subject
  #count = 0
  #seconds = 0
  #cpuSeconds = 0

  constructor(subject: Subject) {
    this.#subject = subject
  }

  async add(run: (target: Target) => Promise<Rate>): Promise<void> {
    const cpuBefore = cpuSecondsOf(this.#subject)
    const { count, perSecond } = await run(this.#subject.target)
    this.#cpuSeconds += cpuSecondsOf(this.#subject) - cpuBefore
    this.#count += count
    this.#seconds += count / perSecond
  }

  get perSecond(): number {
    return this.#count / this.#seconds
  }

  /** Undefined if the processes are unknown. */
  get cpuMsEach(): number | undefined {
    return this.#subject.pids.length === 0 ? undefined : (this.#cpuSeconds * 1_000) / this.#count
  }
}

function cpuSecondsOf({ pids }: Subject): number {
  return pids.reduce((sum, pid) => sum + usageOf(pid).cpuSeconds, 0)
}

function memoryOf({ pids }: Subject): number | undefined {
  return pids.length === 0 ? undefined : pids.reduce((sum, pid) => sum + usageOf(pid).memoryMb, 0)
}

function ratioOf([rival, k8ts]: readonly (number | undefined)[]): string {
  return rival === undefined || k8ts === undefined ? '-' : (k8ts / rival).toFixed(2)
}

function withUnit(value: number | undefined, unit: string): string {
  return value === undefined ? '-' : `${format(value)}${unit}`
}

function printRow(name: string, cells: readonly string[]): void {
  console.log(`| ${[name, ...cells].join(' | ')} |`)
}

export function format(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 1 ? value.toFixed(1) : value.toFixed(3)
}
