/**
 * How far a phase is, from what Ginkgo prints with -v and without colours. Its JSON report is written at the
 * end, and v1.36 posts nothing to `--progress-report-url` when a test ends.
 */
import { sigOf, type TestResult, type TestState } from './results.ts'

export class PhaseProgress {
  readonly #phase: string
  readonly #planned: ReadonlySet<string>
  readonly #startedMs: number
  readonly #finished = new Map<string, TestResult>()
  /** When each test began: of one process every test, of several those that a progress report has named. */
  readonly #running = new Map<string, number>()
  /** One process prints the name of a test when it begins. */
  #current: string | undefined
  /** Several processes print the verdict, and then the name, when it has ended. */
  #verdict: Verdict | undefined
  /** The test whose failure is being printed. */
  #failed: string | undefined

  constructor(phase: {
    readonly name: string
    readonly planned: readonly string[]
    readonly startedMs: number
  }) {
    this.#phase = phase.name
    this.#planned = new Set(phase.planned)
    this.#startedMs = phase.startedMs
  }

  /** Tests that have ended, with the first line of a failure, and tests that are known to be running. */
  get seen(): readonly TestResult[] {
    const running = [...this.#running.keys()].map((name): TestResult => {
      return { name, sig: sigOf(name), state: 'interrupted' }
    })
    return [...this.#finished.values(), ...running]
  }

  /** Returns the name of a test that this line shows to have failed. */
  read(line: string, nowMs: number): string | undefined {
    const verdict = verdictOf(line)
    if (verdict !== undefined) return this.#end(verdict)
    const name = this.#nameIn(line)
    if (name !== undefined) return this.#readName(name, nowMs)
    this.#readPolled(line, nowMs)
    this.#readMessage(line)
    return undefined
  }

  describe(nowMs: number): string {
    const finished = [...this.#finished.values()]
    const failed = finished.filter(({ state }) => state === 'failed').length
    const done = finished.filter(({ state }) => state !== 'interrupted').length
    const elapsed = writtenSeconds(nowMs - this.#startedMs)
    const head = `${this.#phase}: ${done} of ${this.#planned.size} done, ${failed} failed, ${elapsed}`
    const [longest] = [...this.#running].sort(([, left], [, right]) => left - right)
    if (longest === undefined) return head
    const [name, beganMs] = longest
    return `${head}; running for ${writtenSeconds(nowMs - beganMs)}: ${name}`
  }

  #end(verdict: Verdict): string | undefined {
    const name = this.#current
    this.#current = undefined
    this.#verdict = name === undefined ? verdict : undefined
    return name === undefined ? undefined : this.#finish(name, verdict)
  }

  #readName(name: string, nowMs: number): string | undefined {
    const verdict = this.#verdict
    this.#verdict = undefined
    if (verdict !== undefined) return this.#finish(name, verdict)
    if (this.#finished.has(name)) return undefined
    this.#current = name
    this.#running.set(name, nowMs)
    return undefined
  }

  #finish(name: string, { state, seconds }: Verdict): string | undefined {
    this.#running.delete(name)
    this.#finished.set(name, { name, sig: sigOf(name), state, seconds })
    this.#failed = state === 'failed' ? name : undefined
    return this.#failed
  }

  #readPolled(line: string, nowMs: number): void {
    const [, name = '', runtime = ''] = /^\s+(\S.*) \(Spec Runtime: ([\dhms.]+)\)$/.exec(line) ?? []
    if (!this.#planned.has(name) || this.#finished.has(name)) return
    this.#running.set(name, nowMs - durationMs(runtime))
  }

  #readMessage(line: string): void {
    const message = /^ {2}\[(?:FAILED|PANICKED|TIMEDOUT)\] (?!in \[)(.+)$/.exec(line)?.[1]
    const test = this.#failed === undefined ? undefined : this.#finished.get(this.#failed)
    if (message === undefined || test === undefined || test.message !== undefined) return
    this.#finished.set(test.name, { ...test, message })
  }

  /** Labels follow a name, and in a failure the kind of node that failed is within it. */
  #nameIn(line: string): string | undefined {
    if (!line.startsWith('[')) return undefined
    const plain = line.replace(failedNode, '')
    return [plain, plain.replace(/ \[[^\]]*\]$/, '')].find(name => this.#planned.has(name))
  }
}

const failedNode = /\[(?:It|(?:Just)?(?:Before|After)Each|(?:Before|After)All|DeferCleanup \([^)]*\))\] /

interface Verdict {
  readonly state: TestState
  readonly seconds: number
}

const states: Readonly<Record<string, TestState>> = { SKIPPED: 'skipped', INTERRUPTED: 'interrupted' }

/** `• [1.007 seconds]`, `• [FAILED] [0.507 seconds]`, `S [SKIPPED] [0.100 seconds]`. */
function verdictOf(line: string): Verdict | undefined {
  const [, word, seconds] = /^[•S] (?:\[([A-Z]+)\] )?\[([\d.]+) seconds\]/.exec(line) ?? []
  if (seconds === undefined) return undefined
  const state = word === undefined ? 'passed' : (states[word] ?? 'failed')
  return { state, seconds: Number(seconds) }
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** A duration as Go writes it: `1m20.5s`. */
function durationMs(text: string): number {
  const parts = [...text.matchAll(/([\d.]+)(ms|h|m|s)/g)]
  return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * (unitMs[unit] ?? 0), 0)
}

function writtenSeconds(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
